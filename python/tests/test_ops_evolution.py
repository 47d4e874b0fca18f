# SPDX-License-Identifier: Apache-2.0
import evolution_cases as cases
import numpy as np
import pytest

import yolk

ops = yolk.ops


def test_a_generation_by_hand_is_that_of_evolution():
    """Members, weights, gradient and step by kernels: the parameters that yolk.Evolution comes to, bit by bit."""
    first = {"w": np.ones((4, 3), np.float32), "b": np.zeros(5, np.float32)}
    told = {"population": 16, "sigma": 0.1, "learning_rate": 0.2, "rank": 2, "seed": 9}
    run = yolk.Evolution(first, **told)
    rewards = cases.scores(16)
    members = run.ask()
    noisy = ops.perturbed_vector(first["b"], members=16, seed=9, sigma=0.1, parameter=1)
    assert np.array_equal(members.arrays["b"], noisy.numpy())
    run.tell(rewards=rewards)
    made = ops.fitness(rewards)
    gradients = ops.es_update(made, [(4, 3), (5,)], seed=9, sigma=0.1, rank=2)
    for name, along in zip(first, gradients):
        stepped, state = ops.optimizer(first[name], along, learning_rate=0.2)
        assert state is None and np.array_equal(stepped.numpy(), run.parameters[name]), name
    assert made.summary["finite_count"] == 16 and made.summary["best"] == rewards.max()
    assert np.array_equal(made.scores.numpy(), rewards) and made.weights.dtype == np.int8


def test_several_parameters_have_noise_of_their_own():
    own = cases.shaped(cases.scores(8), "z-score").astype(np.float32)
    made = ops.es_update(own, [(4, 3), (7,), (2, 2)], seed=1, sigma=0.5, rank=2, time=4)
    for index, (got, shape) in enumerate(zip(made, [(4, 3), (7,), (2, 2)])):
        assert np.allclose(got.numpy(), cases.gradient(own, shape, index, 1, 0.5, 2, 4), atol=1e-5)


def test_without_pairs_and_with_episodes():
    returns = np.stack([cases.scores(9), cases.scores(9, seed=4)])
    made = ops.fitness(returns, "z-score", antithetic=False)
    means = returns.astype(np.float64).mean(0)
    assert np.allclose(made.scores.numpy(), means, atol=1e-6)
    right = (means - means.mean()) / np.sqrt(means.var() + 1e-5)
    assert np.allclose(made.weights.numpy(), right, atol=1e-4)
    got = ops.es_update(made, (6, 2), seed=3, sigma=0.2)
    assert np.allclose(got.numpy(), cases.gradient(right, (6, 2), 0, 3, 0.2, 1, 0, pairs=False), atol=1e-4)
    given = ops.es_update(right.astype(np.float32), (6, 2), seed=3, sigma=0.2, antithetic=False)
    assert np.allclose(given.numpy(), got.numpy(), atol=1e-4)


def test_scores_that_are_not_finite_count_as_the_worst():
    values = cases.scores(8)
    values[3] = np.nan
    summary = ops.fitness(values).summary
    assert summary["not_finite_count"] == 1 and summary["first_not_finite"] == 3 and summary["finite_count"] == 7
    assert ops.fitness(np.full(4, np.nan)).summary["finite_count"] == 0


def test_what_is_not_finite_stays():
    kept, state = ops.optimizer(np.ones(3), np.array([1.0, np.nan, np.inf]), rule="momentum", learning_rate=0.5)
    assert kept.tolist() == [1.5, 1.0, 1.0] and state.shape == (1, 3) and state.tolist() == [[1.0, 0.0, 0.0]]


@pytest.mark.parametrize("call, words", [
    (lambda: ops.fitness(np.ones(3)), "pairs"), (lambda: ops.fitness(np.ones((2, 2, 2))), "population"),
    (lambda: ops.fitness(np.ones(4), "best"), "centred-rank"),
    (lambda: ops.fitness(np.ones(4), "pair-sign", antithetic=False), "pair"),
    (lambda: ops.fitness(np.ones(4), "group-z-score", group_size=3), "group"),
    (lambda: ops.fitness(np.ones(0)), "population"), (lambda: ops.fitness("scores"), "returns"),
    (lambda: ops.es_update(np.ones(4), (2, 2, 2), seed=1, sigma=1.0), "shape"),
    (lambda: ops.es_update(np.ones(4), [], seed=1, sigma=1.0), "shape"),
    (lambda: ops.es_update(np.ones(4), (0, 2), seed=1, sigma=1.0), "shape"),
    (lambda: ops.es_update(np.ones(4), (2, 2), seed=1, sigma=1.0, rank=33), "rank"),
    (lambda: ops.es_update(np.ones(4), (2, 2), seed=-1, sigma=1.0), "seed"),
    (lambda: ops.es_update(np.ones(4), (2, 2), seed=1, sigma=np.nan), "sigma"),
    (lambda: ops.es_update(np.ones((4, 2)), (2, 2), seed=1, sigma=1.0), "weights"),
    (lambda: ops.optimizer(np.ones(3), np.ones(4), learning_rate=1.0), "one shape"),
    (lambda: ops.optimizer(np.ones(3), np.ones(3), learning_rate=1.0, rule="adamw"), "adam"),
    (lambda: ops.optimizer(np.ones(3), np.ones(3), np.ones(3), learning_rate=1.0), "no state"),
    (lambda: ops.optimizer(np.ones(3), np.ones(3), np.ones(3), learning_rate=1.0, rule="adam"), "state"),
    (lambda: ops.optimizer(np.ones(3), np.ones(3), learning_rate=1.0, rule="adam", beta1=1.0), "1"),
    (lambda: ops.optimizer(np.ones(3), np.ones(3), learning_rate="fast"), "learning_rate")])
def test_bad_input_is_refused(call, words):
    with pytest.raises(yolk.BadInput, match=words):
        call()
