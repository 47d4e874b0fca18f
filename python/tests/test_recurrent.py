# SPDX-License-Identifier: Apache-2.0
"""Policies with a memory: an array that goes in and comes out."""
import pathlib

import numpy as np
import pytest

import yolk

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "environments" / "cartpole_by_position.glsl"
SETTINGS = {"recurrent": 8, "hidden": (), "population": 512, "episodes": 4, "optimizer": "adam", "learning_rate": 0.05}


@pytest.fixture(scope="module")
def policy():
    return yolk.train("cartpole", **SETTINGS, generations=60).policy


def by_hand(policy, observation, memory):
    """Outputs and next memory, in double."""
    def layer(name, x):
        return policy.parameters[f"{name}.weight"].astype(float) @ x + policy.parameters[f"{name}.bias"].astype(float)

    gate = 1 / (1 + np.exp(-layer("recurrent.gate", np.concatenate([observation, memory]))))
    candidate = np.tanh(layer("recurrent.candidate", np.concatenate([observation, gate * memory])))
    memory = (1 - gate) * memory + gate * candidate
    return layer("layer0", memory), memory


def test_its_memory_goes_in_and_comes_out(policy):
    assert (policy.widths, policy.recurrent) == ([4, 2], 8) and "8 recurrent units" in repr(policy)
    assert policy.parameters["recurrent.gate.weight"].shape == (8, 12)
    drawn = np.random.default_rng(1).uniform(-0.3, 0.3, (5, 3, 4)).astype(np.float32)
    memory, wanted = policy.start((3, )), np.zeros((3, 8))
    for observations in drawn:
        actions, _ = policy(observations, memory)
        outputs, memory = policy.outputs(observations, memory)
        for lane in range(3):
            right, wanted[lane] = by_hand(policy, observations[lane].astype(float), wanted[lane])
            assert np.abs(outputs[lane] - right).max() < 1e-4 * max(1, np.abs(right).max())
        assert np.array_equal(actions, outputs.argmax(-1)) and memory.dtype == np.float32
        assert np.abs(memory - wanted).max() < 1e-4
    assert np.abs(memory).max() > 0.01
    action, one = policy(drawn[0, 0], policy.start())
    assert isinstance(action, int) and one.shape == (8, )


def test_balances_gymnasium_s_pole_with_and_without_the_library(policy):
    gymnasium = pytest.importorskip("gymnasium")
    assert yolk.evaluate(policy, episodes=20)["mean_return"] >= 400
    assert yolk.evaluate(policy, "CartPole-v1", episodes=20, seed=3)["mean_return"] >= 400
    environment = gymnasium.make("CartPole-v1")
    returns = []
    for seed in range(5):
        observation, _ = environment.reset(seed=seed)
        memory, steps, ended = policy.start(), 0, False
        while not ended:
            action, memory = policy(observation, memory)
            observation, _, terminated, truncated, _ = environment.step(action)
            steps, ended = steps + 1, terminated or truncated
        returns.append(steps)
    assert np.mean(returns) >= 400


def test_what_is_missing_or_does_not_fit_is_said(policy):
    with pytest.raises(yolk.BadInput, match=r"memory = policy.start\(\)"):
        policy([0.0, 0.1, 0.0, -0.1])
    with pytest.raises(yolk.BadInput, match=r"shape \(7,\); for these observations it is \(8,\)"):
        policy([0.0, 0.1, 0.0, -0.1], np.zeros(7))
    with pytest.raises(yolk.BadInput, match=r"it is \(2, 8\)"):
        policy(np.zeros((2, 4)), policy.start())
    plain = yolk.train("cartpole", population=64, generations=1).policy
    with pytest.raises(yolk.BadInput, match="not recurrent"):
        plain.start()
    with pytest.raises(yolk.BadInput, match="takes no memory"):
        plain([0.0, 0.1, 0.0, -0.1], np.zeros(8))
    with pytest.raises(yolk.BadInput, match="257 recurrent units"):
        yolk.train("cartpole", recurrent=257, population=64, generations=1)
    with pytest.raises(yolk.BadInput, match="recurrent"):
        yolk.train("digits", recurrent=8, generations=1)


def test_a_run_over_a_file_goes_on_with_its_memory():
    settings = {**SETTINGS, "population": 64, "max_steps": 30, "stop_when_solved": False}
    whole = yolk.train(EXAMPLE, **settings, generations=3)
    parts = yolk.train(EXAMPLE, **settings, generations=2).resume(3)
    assert parts.state_hash == whole.state_hash and parts.policy.recurrent == 8
