# SPDX-License-Identifier: Apache-2.0
"""Policies of runs that normalize their observations."""
import numpy as np
import pytest

import yolk

gymnasium = pytest.importorskip("gymnasium")

# docs/environments.md, and fewer generations: enough to reach the goal of 90.
LEARNS = {"hidden": (), "normalize": True, "population": 256, "episodes": 4, "sigma": 1.0, "learning_rate": 0.5,
          "generations": 25, "stop_when_solved": False}


def test_a_policy_learns_what_it_does_not_without_and_keeps_it_in_gymnasium(tmp_path):
    run = yolk.train("mountain_car_continuous", out=tmp_path / "normalized", **LEARNS)
    policy = run.policy
    shift, scale = policy.parameters["observation.shift"], policy.parameters["observation.scale"]
    assert shift.shape == scale.shape == (2,)
    assert -1.2 < shift[0] < 0.6 and 14 < scale[1] < 1000  # a speed's deviation is below its limit, 0.07
    assert yolk.evaluate(policy, "MountainCarContinuous-v0", episodes=20)["mean_return"] > 85.0
    assert policy.evaluate(20)["mean_return"] > 85.0
    plain = yolk.train("mountain_car_continuous", out=tmp_path / "plain", **{**LEARNS, "normalize": False})
    assert "observation.shift" not in plain.policy.parameters
    assert plain.policy.evaluate(20)["mean_return"] < 50.0


def test_what_enters_is_what_enters_on_the_device(tmp_path):
    policy = yolk.train("mountain_car", hidden=(), normalize=True, population=32, generations=2, out=tmp_path).policy
    shift, scale = policy.parameters["observation.shift"], policy.parameters["observation.scale"]
    weight, bias = policy.parameters["layer0.weight"], policy.parameters["layer0.bias"]
    seen = np.array([[-0.5, 0.01], [1e9, -1e9], [np.nan, np.inf]], dtype=np.float32)
    entered = np.array([(seen[0] - shift) * scale, [10.0, -10.0], [0.0, 0.0]])
    np.testing.assert_allclose(policy.outputs(seen), entered @ weight.T + bias, rtol=1e-4, atol=1e-5)


def test_it_is_of_runs_over_an_environment():
    with pytest.raises(yolk.BadInput, match="normalize"):
        yolk.train("digits", normalize=True, generations=1)


def test_a_vector_environment_is_normalized_and_repeats():
    def run():
        return yolk.train(gymnasium.make_vec("MountainCar-v0", num_envs=8), hidden=(), normalize=True, generations=2,
                          max_steps=30, evaluation_episodes=2)
    first, second = run(), run()
    assert first.state_hash == second.state_hash
    sums = first.policy.parameters["observation.sums"]
    assert sums[0, 0] == sum(report["evaluations"] for report in first.history)  # steps of all members
