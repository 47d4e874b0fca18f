# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BadInput, Unsupported

_LANES = 16  # environments that are stepped together


def _module() -> Any:
    try:
        import gymnasium
    except ImportError as reason:
        raise Unsupported("Gymnasium is not installed: pip install gymnasium.") from reason
    return gymnasium


def is_vector(environment: Any) -> bool:
    return isinstance(environment, _module().vector.VectorEnv)


def _make(environment: Any, lanes: int) -> Any:
    """A vector environment: of a name, or one that the caller has made."""
    gymnasium = _module()
    if isinstance(environment, gymnasium.vector.VectorEnv):
        return environment
    if not isinstance(environment, str):
        raise BadInput(f"{environment!r} is neither the name of a Gymnasium environment nor a vector environment; "
                       "gymnasium.make_vec makes one.")
    try:
        return gymnasium.make_vec(environment, num_envs=lanes, vectorization_mode="sync")
    except gymnasium.error.Error as reason:
        raise BadInput(f"Gymnasium cannot make '{environment}': {reason}") from reason


def autoreset_mode(envs: Any) -> str:
    """NEXT_STEP, SAME_STEP or DISABLED."""
    mode = envs.metadata.get("autoreset_mode", "")
    return str(getattr(mode, "name", mode)).upper()


def reset(envs: Any, seed: Any) -> np.ndarray:
    """Resets all lanes. EnvPool takes a seed only when it makes the environments, and warns about any other."""
    made_by_envpool = any(kind.__module__.startswith("envpool") for kind in type(envs.unwrapped).__mro__)
    return envs.reset(**({} if made_by_envpool else {"seed": seed}))[0]


class Actions:
    """Turns a network's outputs into actions: the index of the largest output, or tanh scaled to the bounds of a Box.

    An action without two finite bounds is the output itself, clipped to the bound it has.
    """
    def __init__(self, told: dict[str, Any]) -> None:
        self.told = told
        self.is_discrete: bool = told["kind"] == "discrete"
        if self.is_discrete:
            self.count = int(told["n"])
            return
        self.low, self.high = (np.asarray(told[key], dtype=np.float64).ravel() for key in ("low", "high"))
        self.count = int(self.low.size)
        self.is_clipped = False  # to [-1, 1] where it would be squashed by tanh

    @staticmethod
    def of_space(space: Any) -> Actions:
        spaces = _module().spaces
        if isinstance(space, spaces.Discrete):
            return Actions({"kind": "discrete", "n": int(space.n), "start": int(space.start)})
        if isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating):
            return Actions({
                "kind": "box", "shape": list(space.shape), "dtype": str(space.dtype), "low": space.low.ravel().tolist(),
                "high": space.high.ravel().tolist()
            })
        raise Unsupported(
            f"The environment's actions are {space}; only Discrete, and Box of floating-point numbers, are supported.")

    def __call__(self, outputs: np.ndarray) -> np.ndarray:
        """Of outputs [..., count]: int64 [...], or [..., the box's shape]."""
        if self.is_discrete:
            return np.argmax(outputs, axis=-1) + int(self.told["start"])
        outputs = np.nan_to_num(np.asarray(outputs, dtype=np.float64))
        bounded = np.isfinite(self.low) & np.isfinite(self.high)
        low, high = np.where(bounded, self.low, 0.0), np.where(bounded, self.high, 0.0)
        share = np.clip(outputs, -1.0, 1.0) if self.is_clipped else np.tanh(outputs)
        scaled = low + (share + 1.0) * 0.5 * (high - low)
        actions = np.clip(np.where(bounded, scaled, outputs), self.low, self.high)
        return actions.reshape(outputs.shape[:-1] + tuple(self.told["shape"])).astype(self.told["dtype"])


def observation_count(envs: Any) -> int:
    space = envs.single_observation_space
    if not isinstance(space, _module().spaces.Box):
        raise Unsupported(f"The environment's observations are {space}; only Box is supported. Wrap it in "
                          "gymnasium.wrappers.FlattenObservation.")
    return int(np.prod(space.shape))


def _check(policy: Any, envs: Any) -> Actions:
    gymnasium = _module()
    space = envs.single_observation_space
    if not isinstance(space, gymnasium.spaces.Box) or int(np.prod(space.shape)) != policy.widths[0]:
        raise BadInput(f"The environment's observations are {space}; the policy takes {policy.widths[0]} numbers.")
    actions = Actions.of_space(envs.single_action_space)
    if actions.count != policy.widths[-1]:
        raise BadInput(f"The environment's actions are {envs.single_action_space}; the policy has {policy.widths[-1]} "
                       "outputs.")
    if getattr(policy, "continuous", not actions.is_discrete) == actions.is_discrete:
        raise BadInput(f"The environment's actions are {envs.single_action_space}; the policy was trained for "
                       f"{'discrete' if actions.is_discrete is False else 'continuous'} ones.")
    if not actions.is_discrete:
        actions.is_clipped = not getattr(policy, "squashed", True)
    return actions


def returns_of(policy: Any, environment: Any, episodes: int, seed: int, max_steps: int = 0) -> np.ndarray:
    """The returns of whole episodes, float64 [episodes]. Each lane has its share of them, so short ones count no more.

    max_steps: of an episode; 0: the environment's
    """
    if episodes < 1:
        raise BadInput(f"episodes is {episodes}; at least 1 is needed.")
    envs = _make(environment, min(episodes, _LANES))
    try:
        act = _check(policy, envs)
        return _cut(policy, envs, act, episodes, seed, max_steps) if max_steps else _run(
            policy, envs, act, episodes, seed)
    finally:
        if envs is not environment:
            envs.close()


def _run(policy: Any, envs: Any, act: Actions, episodes: int, seed: int) -> np.ndarray:
    mode = autoreset_mode(envs)
    lanes = envs.num_envs
    wanted = np.full(lanes, episodes // lanes) + (np.arange(lanes) < episodes % lanes)
    found: list[float] = []
    totals, done = np.zeros(lanes), np.zeros(lanes, dtype=int)
    resetting = np.zeros(lanes, dtype=bool)
    observations = reset(envs, seed)
    while (done < wanted).any():
        observations, rewards, terminated, truncated, _ = envs.step(act(policy.outputs(observations.reshape(lanes,
                                                                                                            -1))))
        totals += np.where(resetting, 0.0, rewards)
        ended = (terminated | truncated) & ~resetting
        for lane in np.flatnonzero(ended):
            if done[lane] < wanted[lane]:
                found.append(float(totals[lane]))
            done[lane] += 1
            totals[lane] = 0.0
        # The step after the last one of an episode resets, and brings no reward.
        resetting = ended if mode == "NEXT_STEP" else resetting
        if mode == "DISABLED" and ended.any():
            observations, _ = envs.reset(options={"reset_mask": ended})
    return np.array(found)


def _cut(policy: Any, envs: Any, act: Actions, episodes: int, seed: int, max_steps: int) -> np.ndarray:
    """The same for episodes that end after max_steps: all lanes begin together, and each plays one episode."""
    mode, lanes = autoreset_mode(envs), envs.num_envs
    found: list[np.ndarray] = []
    while len(found) * lanes < episodes:
        observations = reset(envs, seed + len(found) * lanes)
        totals, running = np.zeros(lanes), np.ones(lanes, dtype=bool)
        for _ in range(max_steps):
            observations, rewards, terminated, truncated, _ = envs.step(
                act(policy.outputs(observations.reshape(lanes, -1))))
            totals += np.where(running, rewards, 0.0)
            ended = terminated | truncated
            running &= ~ended
            if not running.any():
                break
            if mode == "DISABLED" and ended.any():
                observations, _ = envs.reset(options={"reset_mask": ended})
        found.append(totals)
    return np.concatenate(found)[:episodes]
