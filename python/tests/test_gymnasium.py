# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

import yolk

gymnasium = pytest.importorskip("gymnasium")


@pytest.fixture(scope="module")
def policy():
    return yolk.train("cartpole", population=1024, generations=40).policy


def test_a_policy_solves_gymnasium_s_environment(policy):
    found = yolk.evaluate(policy, "CartPole-v1", episodes=20, seed=3)
    assert found["mean_return"] >= 475 and found["episodes"] == 20 and found["not_finite"] == 0


def test_each_autoreset_mode_counts_the_same_episodes(policy):
    weak = yolk.train("cartpole", population=64, generations=1).policy
    means = set()
    for mode in gymnasium.vector.AutoresetMode:
        if mode is gymnasium.vector.AutoresetMode.DISABLED:
            continue
        envs = gymnasium.make_vec("CartPole-v1", num_envs=4, vectorization_mode="sync",
                                  vector_kwargs={"autoreset_mode": mode})
        means.add(yolk.evaluate(weak, envs, episodes=4, seed=3)["mean_return"])
    assert len(means) == 1


def test_what_does_not_fit_is_refused(policy):
    for name, words in (("Pendulum-v1", "observations"), ("Acrobot-v1", "observations"), ("NoSuch-v1", "NoSuch")):
        with pytest.raises(yolk.BadInput, match=words):
            yolk.evaluate(policy, name)
    with pytest.raises(yolk.BadInput, match="vector environment"):
        yolk.evaluate(policy, gymnasium.make("CartPole-v1"))
    with pytest.raises(yolk.BadInput, match="at least 1"):
        yolk.evaluate(policy, "CartPole-v1", episodes=0)
    assert np.isfinite(yolk.evaluate(policy, episodes=3)["mean_return"])
