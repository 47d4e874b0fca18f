# SPDX-License-Identifier: Apache-2.0
"""Gymnasium's vector environments, as the library steps environments on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BadInput, Unsupported


def _module() -> Any:
    try:
        import gymnasium
    except ImportError as reason:
        raise Unsupported("Gymnasium is not installed: pip install gymnasium.") from reason
    return gymnasium


def is_vector(environment: Any) -> bool:
    return isinstance(environment, _module().vector.VectorEnv)


def _autoreset_mode(envs: Any) -> str:
    """NEXT_STEP, SAME_STEP or DISABLED."""
    mode = envs.metadata.get("autoreset_mode", "")
    return str(getattr(mode, "name", mode)).upper()


def _actions_told(space: Any) -> dict[str, Any]:
    spaces = _module().spaces
    if isinstance(space, spaces.Discrete):
        return {"count": int(space.n)}
    if isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating):
        return {key: getattr(space, key).ravel().astype(np.float32).tolist() for key in ("low", "high")}
    raise Unsupported(
        f"The environment's actions are {space}; only Discrete, and Box of floating-point numbers, are supported.")


def _observation_count(space: Any) -> int:
    if not isinstance(space, _module().spaces.Box):
        raise Unsupported(f"The environment's observations are {space}; only Box is supported. Wrap it in "
                          "gymnasium.wrappers.FlattenObservation.")
    return int(np.prod(space.shape))


class VectorEnvironment:
    """A vector environment with the calls that the library makes, on any thread but one at a time."""
    def __init__(self, envs: Any) -> None:
        gymnasium = _module()
        self._envs, self._lanes = envs, int(envs.num_envs)
        space = envs.single_action_space
        self._start = int(space.start) if isinstance(space, gymnasium.spaces.Discrete) else None
        self._shape, self._dtype = (self._lanes, *space.shape), space.dtype
        self._mode = _autoreset_mode(envs)
        # EnvPool takes a seed only when it makes the environments, and warns about any other.
        self._takes_seeds = not any(kind.__module__.startswith("envpool") for kind in type(envs.unwrapped).__mro__)
        self._seeds_each = isinstance(envs.unwrapped, (gymnasium.vector.SyncVectorEnv, gymnasium.vector.AsyncVectorEnv))
        spec = getattr(envs, "spec", None)
        self.told = {
            "name": str(getattr(spec, "id", None) or type(envs.unwrapped).__name__), "lanes": self._lanes,
            "observations": _observation_count(envs.single_observation_space), "actions": _actions_told(space),
            "max_steps": int(getattr(spec, "max_episode_steps", None) or 0),
            "solved_return": getattr(spec, "reward_threshold", None)
        }

    def reset(self, seeds: np.ndarray) -> np.ndarray:
        """Observations [lanes * observations] of new episodes; each lane has its seed where it can be seeded."""
        seed = [int(one) for one in seeds] if self._seeds_each else int(seeds[0])
        return self._flat(self._envs.reset(**({"seed": seed} if self._takes_seeds else {}))[0])

    def step(self, actions: np.ndarray, live: np.ndarray) -> tuple[np.ndarray, ...]:
        """Observations, rewards, terminated and truncated. Lanes that are not live are stepped, too."""
        given: Any = actions.reshape(self._shape)
        if self._start is not None:
            given = given.astype(np.int64) + self._start
        observations, rewards, terminated, truncated, _ = self._envs.step(given.astype(self._dtype))
        if self._mode == "DISABLED":
            ended = np.asarray(terminated) | np.asarray(truncated)
            if ended.any() and (live.astype(bool) & ~ended).any():
                observations, _ = self._envs.reset(options={"reset_mask": ended})
        return (self._flat(observations), self._flat(rewards), *(np.ascontiguousarray(flags, dtype=np.uint8)
                                                                 for flags in (terminated, truncated)))

    @staticmethod
    def _flat(values: Any) -> np.ndarray:
        return np.ascontiguousarray(values, dtype=np.float32).reshape(-1)


class VectorTask:
    """One vector environment, or several copies of it, for yolk.train and yolk.evaluate."""
    def __init__(self, task: Any) -> None:
        given = list(task) if isinstance(task, (list, tuple)) else [task]
        if not given or not all(is_vector(one) for one in given):
            raise BadInput(
                f"{task!r} is no environment's name, GLSL file or vector environment (gymnasium.make_vec makes one), "
                "nor a list of vector environments.")
        self.file = None
        self._given, self._made = given, list[Any]()
        self.name = VectorEnvironment(given[0]).told["name"]

    @staticmethod
    def named(name: str, lanes: int) -> VectorTask:
        """Gymnasium's environment of this name; close() closes it."""
        gymnasium = _module()
        try:
            task = VectorTask(gymnasium.make_vec(name, num_envs=lanes, vectorization_mode="sync"))
        except gymnasium.error.Error as reason:
            raise BadInput(f"Gymnasium cannot make '{name}': {reason}") from reason
        task._made = task._given
        return task

    @property
    def lanes(self) -> int:
        return int(self._given[0].num_envs)

    def load(self) -> None:
        """It has no file."""

    def environments(self, wanted: int = 1) -> list[VectorEnvironment]:
        """All that there are, and copies where fewer than `wanted` were given. Wrappers cannot be copied."""
        first = self._given[0]
        spec = getattr(first, "spec", None)
        while len(self._given) == 1 and len(self._made) + 1 < wanted and spec and first.unwrapped is first:
            try:
                self._made.append(_module().make_vec(spec))
            except Exception:  # an environment that cannot be made twice may raise anything
                break
        return [VectorEnvironment(envs) for envs in [*self._given, *(one for one in self._made if one is not first)]]

    def close(self) -> None:
        """Closes the environments that were made here, never those that were given."""
        for envs in self._made:
            envs.close()
        self._made = []
