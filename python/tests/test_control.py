# SPDX-License-Identifier: Apache-2.0
"""The built-in environments beside Gymnasium's own, step by step."""
import numpy as np
import pytest

import yolk
from yolk import _core

gymnasium = pytest.importorskip("gymnasium")

# By name: Gymnasium's, limits of drawn states, and the words that are angles (a turn more or less is the same).
PAIRS = {
    "cartpole": ("CartPole-v1", (2.3, 3.0, 0.2, 3.0), ()),
    "acrobot": ("Acrobot-v1", (3.1, 3.1, 4.0, 6.0), (0, 1)),
    "mountain_car": ("MountainCar-v0", ((-1.2, 0.5), 0.07), ()),
    "mountain_car_continuous": ("MountainCarContinuous-v0", ((-1.2, 0.45), 0.07), ()),
    "pendulum": ("Pendulum-v1", (9.0, 8.0), ()),
}
# Of one step from the same fp32 state, Gymnasium's in double. Values are at most 30, and a step of Acrobot multiplies
# errors of its four stages by less than 100: 100 roundings of 2^-24 times 30 are 2e-4. The others stay far below.
TOLERANCE = {"acrobot": 2e-4}
USUAL = 1e-5


def drawn(limits, random):
    ranges = [limit if isinstance(limit, tuple) else (-limit, limit) for limit in limits]
    return np.array([random.uniform(low, high) for low, high in ranges], dtype=np.float32)


def near(name, got, expected, angles=()):
    apart = np.asarray(got, dtype=np.float64) - np.asarray(expected, dtype=np.float64)
    for word in angles:
        apart[word] = np.remainder(apart[word] + np.pi, 2 * np.pi) - np.pi
    assert np.abs(apart).max() < TOLERANCE.get(name, USUAL), (name, got, expected)


def test_every_built_in_environment_is_compared():
    assert set(PAIRS) == set(yolk.environments())


@pytest.mark.parametrize("name", PAIRS)
def test_steps_are_those_of_gymnasium(name):
    theirs, limits, angles = PAIRS[name]
    env = gymnasium.make(theirs).unwrapped
    random = np.random.default_rng(7)
    ends = 0
    for _ in range(2000):
        env.reset(seed=1)
        if hasattr(env, "steps_beyond_terminated"):
            env.steps_beyond_terminated = None
        state = drawn(limits, random)
        env.state = state.astype(np.float64)
        if yolk.environments()[name]["continuous"]:
            action = random.uniform(env.action_space.low, env.action_space.high).astype(np.float32)
            given = action.tolist()
        else:
            action = int(random.integers(env.action_space.n))
            given = [action]
        observation, reward, terminated, _, _ = env.step(action)
        ours = _core.environment_step(name, state.tolist(), given)
        near(name, ours["state"], env.state, angles)
        near(name, ours["observation"], observation)
        near(name, [ours["reward"]], [reward])
        assert ours["terminated"] == terminated
        ends += int(terminated)
    assert ends > 5 or name == "pendulum"


@pytest.mark.parametrize("name", PAIRS)
def test_episodes_are_cut_and_begin_as_in_gymnasium(name):
    theirs, _, _ = PAIRS[name]
    env = gymnasium.make(theirs)
    info = yolk.environments()[name]
    assert info["max_steps"] == env.spec.max_episode_steps
    if env.spec.reward_threshold is not None:
        assert info["solved_return"] == env.spec.reward_threshold
    space = env.action_space
    if info["continuous"]:
        assert info["action_low"] == space.low.tolist() and info["action_high"] == space.high.tolist()
    else:
        assert info["actions"] == space.n
    starts = []
    for seed in range(400):
        env.reset(seed=seed)
        starts.append(np.array(env.unwrapped.state, dtype=np.float64))
    low, high = np.min(starts, axis=0), np.max(starts, axis=0)
    ours = [_core.environment_start(name, [word] * 4)["state"] for word in (0, 0xFFFFFFFF)]
    # 400 draws leave out more than a twentieth of a range at either end once in 10^9 times.
    room = 0.05 * (high - low) + 1e-6
    assert np.all(low >= np.array(ours[0]) - 1e-6) and np.all(low <= np.array(ours[0]) + room)
    assert np.all(high <= np.array(ours[1]) + 1e-6) and np.all(high >= np.array(ours[1]) - room)


def test_wrong_states_and_actions_are_refused():
    with pytest.raises(yolk.BadInput, match="state has 1 numbers; 2 are needed"):
        _core.environment_step("pendulum", [0.0], [0.0])
    with pytest.raises(yolk.BadInput, match="action has 2 numbers; 1 are needed"):
        _core.environment_step("pendulum", [0.0, 0.0], [0.0, 1.0])
    with pytest.raises(yolk.BadInput, match="from 0, below 3"):
        _core.environment_step("mountain_car", [0.0, 0.0], [3.0])
    with pytest.raises(yolk.BadInput, match="There is no environment"):
        _core.environment_start("moon", [0, 0, 0, 0])


def test_a_linear_policy_with_continuous_actions_is_the_same_in_gymnasium(tmp_path):
    run = yolk.train("pendulum", hidden=(), population=64, generations=2, out=tmp_path, stop_when_solved=False)
    policy = run.policy
    assert policy.widths == [3, 1] and policy.continuous and policy.squashed
    actions = policy(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, -8.0]]))
    assert actions.shape == (2, 1) and actions.dtype == np.float32 and np.all(np.abs(actions) <= 2.0)
    on_device, there = policy.evaluate(100), yolk.evaluate(policy, "Pendulum-v1")
    # Both are means of 100 episodes: five standard errors of their difference.
    apart = 5.0 * np.hypot(on_device["deviation"], there["deviation"]) / 10.0
    assert abs(on_device["mean_return"] - there["mean_return"]) < apart
    with pytest.raises(yolk.BadInput):
        yolk.evaluate(policy, "CartPole-v1")
