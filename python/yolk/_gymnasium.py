# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import numpy as np

from .errors import BadInput, Unsupported

_LANES = 16  # environments that are stepped together


def _module() -> Any:
    try:
        import gymnasium
    except ImportError as reason:
        raise Unsupported("Gymnasium is not installed: pip install gymnasium.") from reason
    return gymnasium


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


def _check(policy: Any, envs: Any) -> None:
    gymnasium = _module()
    space = envs.single_observation_space
    if not isinstance(space, gymnasium.spaces.Box) or int(np.prod(space.shape)) != policy.widths[0]:
        raise BadInput(f"The environment's observations are {space}; the policy takes {policy.widths[0]} numbers.")
    actions = envs.single_action_space
    if not isinstance(actions, gymnasium.spaces.Discrete) or int(actions.n) != policy.widths[-1]:
        raise BadInput(f"The environment's actions are {actions}; the policy chooses one of {policy.widths[-1]}.")


def returns_of(policy: Any, environment: Any, episodes: int, seed: int) -> np.ndarray:
    """The returns of whole episodes, float64 [episodes]. Each lane has its share of them, so short ones count no more."""
    if episodes < 1:
        raise BadInput(f"episodes is {episodes}; at least 1 is needed.")
    envs = _make(environment, min(episodes, _LANES))
    try:
        _check(policy, envs)
        return _run(policy, envs, episodes, seed)
    finally:
        if envs is not environment:
            envs.close()


def _run(policy: Any, envs: Any, episodes: int, seed: int) -> np.ndarray:
    next_step = str(envs.metadata.get("autoreset_mode", "")).upper().endswith("NEXT_STEP")
    lanes = envs.num_envs
    wanted = np.full(lanes, episodes // lanes) + (np.arange(lanes) < episodes % lanes)
    found: list[float] = []
    totals, done = np.zeros(lanes), np.zeros(lanes, dtype=int)
    resetting = np.zeros(lanes, dtype=bool)
    observations, _ = envs.reset(seed=seed)
    while (done < wanted).any():
        actions = policy(observations.reshape(lanes, -1))
        start = getattr(envs.single_action_space, "start", 0)
        observations, rewards, terminated, truncated, _ = envs.step(actions + start)
        totals += np.where(resetting, 0.0, rewards)
        ended = (terminated | truncated) & ~resetting
        for lane in np.flatnonzero(ended):
            if done[lane] < wanted[lane]:
                found.append(float(totals[lane]))
            done[lane] += 1
            totals[lane] = 0.0
        # The step after the last one of an episode resets, and brings no reward.
        resetting = ended if next_step else resetting
    return np.array(found)
