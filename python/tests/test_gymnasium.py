# SPDX-License-Identifier: Apache-2.0
import os

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


def make(name="CartPole-v1", lanes=32, mode="NEXT_STEP", **how):
    how.setdefault("vectorization_mode", "sync")
    return gymnasium.make_vec(name, num_envs=lanes, **how,
                              vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode[mode]})


def test_cart_pole_is_learned_on_the_host():
    envs = gymnasium.make_vec("CartPole-v1", num_envs=64)
    run = yolk.train(envs, population=256, generations=6, stop_when_solved=False, seed=2, evaluation_episodes=20)
    assert run.history["mean_return"][0] < 40 < 120 < run.history["mean_return"][-1]
    assert run.generations == len(run.history) == 6 and run.mean_return > 150
    assert yolk.evaluate(run.policy, "CartPole-v1", episodes=20)["mean_return"] > 150
    assert "<svg" in run._repr_svg_() and run.devices[0] in repr(run)


def train(envs, **settings):
    return yolk.train(envs, generations=2, seed=5, hidden=8, max_steps=30, evaluation_episodes=8, **settings)


def train_twice(first, second):
    return [train(envs, **settings) for envs, settings in (first, second)]


def test_the_same_seed_gives_the_same_run():
    first, second = train_twice((make(), {}), (make(), {}))
    assert first.state_hash == second.state_hash
    assert first.history["mean_return"].tolist() == second.history["mean_return"].tolist()
    assert yolk.train(make(), generations=2, seed=6, hidden=8, max_steps=30).state_hash != first.state_hash


@pytest.fixture(scope="module")
def plainly_stepped():
    """The state after two generations of 64 members."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("YOLK_DEVICE", os.environ.get("YOLK_TEST_DEVICE", ""))
        return train(make(), population=64).state_hash


@pytest.mark.parametrize("other", [
    (make(mode="SAME_STEP"), {}), (make(mode="DISABLED"), {}), (make(), {"overlap": False}), (make(lanes=7), {}),
    ((make(), make()), {}), (make(lanes=100), {}),
], ids=["same step", "disabled", "no overlap", "7 lanes", "two", "more lanes than members"])
def test_how_members_are_stepped_changes_nothing(other, plainly_stepped):
    assert train(other[0], population=64, **other[1]).state_hash == plainly_stepped


def test_environments_in_other_processes():
    envs = make(lanes=2, vectorization_mode="async")
    try:
        first, second = train_twice((make(lanes=2), {"population": 8}), (envs, {"population": 8}))
        second.close()
        assert first.state_hash == second.state_hash
    finally:
        envs.close()


def test_envpool_where_it_is_installed():
    try:
        import envpool
    except (ImportError, OSError):
        pytest.skip("EnvPool is not installed")
    first, second = train_twice(*((envpool.make("CartPole-v1", env_type="gymnasium", num_envs=16, seed=3),
                                   {"population": 32}) for _ in range(2)))
    assert first.state_hash == second.state_hash


def test_going_on_gives_the_bits_of_one_run():
    settings = {"hidden": 8, "max_steps": 30, "optimizer": "adam", "learning_rate": 0.02}
    whole = yolk.train(make(), generations=4, **settings)
    half = yolk.train(make(), generations=2, **settings)
    assert half.resume(4).state_hash == whole.state_hash and len(half.history) == 4


@pytest.mark.parametrize("settings", [{"hidden": (8, 5)}, {"hidden": (), "rank": 3}, {"hidden": 6, "antithetic": False,
                                       "fitness": "centred-rank", "determinism": "fast"},
                                      {"hidden": 4, "freeze": "layer0.weight"}, {"hidden": 4, "freeze_vectors": True}])
def test_a_batch_s_outputs_are_those_of_each_member(settings):
    run = yolk.train(make(lanes=6), population=12, generations=1, seed=4, overlap=False, max_steps=5, **settings)
    raw, lanes = run._run, run._groups[0]
    observations = np.random.default_rng(1).normal(size=(6, 4)).astype(np.float32)
    for first in (0, 3, 6):
        lanes._policies.begin(first)
        lanes._policies.ask(observations)
        found = lanes._policies.outputs()
        for lane, values in enumerate(raw.members(first, 6).astype(np.float64)):
            x = observations[lane].astype(np.float64)
            for layer, (columns, rows) in enumerate(zip(run._widths, run._widths[1:])):
                weight, bias, values = np.split(values, [rows * columns, rows * columns + rows])
                x = weight.reshape(rows, columns) @ x + bias
                x = np.tanh(x) if layer + 2 < len(run._widths) else x
            np.testing.assert_allclose(found[lane], x, rtol=2e-4, atol=2e-4)


def test_actions_of_a_box():
    run = yolk.train(make("Pendulum-v1", lanes=8), population=16, generations=2, hidden=8, max_steps=20)
    assert np.isfinite(run.history["mean_return"]).all() and not run.solved
    assert run.policy([1.0, 0.0, 0.0]).shape == (1, ) and run.policy(np.ones((5, 3))).shape == (5, 1)
    assert (abs(run.policy(100 * np.random.default_rng(0).normal(size=(50, 3)))) <= 2.0).all()
    actions = yolk._gymnasium.spaces.Actions.of_space(
        gymnasium.spaces.Box(np.array([-1.0, 0.0, -np.inf]), np.array([3.0, np.inf, np.inf]), dtype=np.float64))
    np.testing.assert_allclose(actions(np.array([[0.0, -2.0, 9.0], [np.nan, 2.0, -9.0]])),
                               [[1.0, 0.0, 9.0], [1.0, 2.0, -9.0]])


def test_a_policy_is_kept_in_a_file(tmp_path):
    run = yolk.train(make("MountainCarContinuous-v0", lanes=4), population=8, generations=1, hidden=(8, 8), max_steps=5,
                     evaluation_episodes=1, out=tmp_path / "run")
    loaded = yolk.EnvironmentPolicy.load(tmp_path / "run" / "policy.safetensors")
    x = np.random.default_rng(0).normal(size=(6, 2))
    np.testing.assert_array_equal(loaded(x), run.policy(x))
    assert (loaded.task, loaded.widths, loaded.generations) == ("MountainCarContinuous-v0", [2, 8, 8, 1], 1)
    assert (tmp_path / "run" / "log.yolk").exists()
    data = (tmp_path / "run" / "policy.safetensors").read_bytes()
    for damaged in (data[:-4], data[8:], b"", data.replace(b"[2, 8, 8, 1]", b"[2, 8, 9, 1]")):
        (tmp_path / "damaged").write_bytes(damaged)
        with pytest.raises(yolk.BadInput, match="not a policy file"):
            yolk.EnvironmentPolicy.load(tmp_path / "damaged")
    with pytest.raises(yolk.FileError):
        yolk.EnvironmentPolicy.load(tmp_path / "none")


class Failing(gymnasium.Wrapper):

    def step(self, action):
        raise ArithmeticError("the simulator is broken")


def test_what_the_environment_raises_comes_out():
    with pytest.raises(ArithmeticError, match="broken"):
        yolk.train(make(lanes=2, wrappers=[Failing]), population=4)


def test_training_ends_where_the_callback_says():
    run = yolk.train(make(), generations=50, hidden=8, max_steps=20,
                     on_generation=lambda report: report["generation"] < 1)
    assert run.generations == 2


def test_environments_that_do_not_fit_are_refused():
    with pytest.raises(yolk.Unsupported, match="observations"):
        yolk.train(make("Taxi-v4" if "Taxi-v4" in gymnasium.registry else "Taxi-v3", lanes=2))
    with pytest.raises(yolk.BadInput, match="vector environment"):
        yolk.train(gymnasium.make("CartPole-v1"))
    with pytest.raises(yolk.BadInput, match="vector environment"):
        yolk.train(None)
    with pytest.raises(yolk.BadInput, match="vector environment"):
        yolk.train([])
    with pytest.raises(yolk.BadInput, match="differ"):
        yolk.train([make(lanes=2), make("Pendulum-v1", lanes=2)])
    with pytest.raises(yolk.BadInput, match="audit"):
        yolk.train(make(lanes=2), audit=0.1)
    with pytest.raises(yolk.BadInput, match="population"):
        yolk.train(make(lanes=3))
    envs = make(lanes=2)
    for name, value in (("generations", "x"), ("generations", 0), ("hidden", -3), ("hidden", None), ("hidden", [8, "x"]),
                        ("seed", -1), ("seed", 2**64), ("max_steps", None), ("evaluation_episodes", 0)):
        with pytest.raises(yolk.BadInput, match=name):
            yolk.train(envs, **{name: value})


def test_policies_are_asked_in_their_order():
    run = yolk.train(make(lanes=4), population=8, generations=1, hidden=4, overlap=False, max_steps=5)
    policies = run._run.policies(run._widths, 4)
    x = np.zeros((4, 4), np.float32)
    with pytest.raises(yolk.BadInput, match="Begin"):
        policies.ask(x)
    with pytest.raises(yolk.BadInput, match="8"):
        policies.begin(8)
    policies.begin(0)
    with pytest.raises(yolk.BadInput, match="outputs"):
        policies.outputs()
    with pytest.raises(yolk.BadInput, match="shape"):
        policies.ask(np.zeros((3, 4), np.float32))
    policies.ask(x)
    with pytest.raises(yolk.BadInput, match="again"):
        policies.ask(x)
    assert policies.outputs().shape == (4, 2)
    run._run.tell(1, np.zeros(8, np.float32))
    with pytest.raises(yolk.BadInput, match="generation 1"):
        policies.ask(x)
    with pytest.raises(yolk.BadInput, match="widths"):
        run._run.policies([4, 5, 2], 4)
