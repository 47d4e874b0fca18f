# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import yolk

gymnasium = pytest.importorskip("gymnasium")
ROOT = Path(__file__).resolve().parents[2]


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
    with pytest.raises(yolk.BadInput, match="from 1 to"):
        yolk.evaluate(policy, "CartPole-v1", episodes=0)
    assert np.isfinite(yolk.evaluate(policy, episodes=3)["mean_return"])


def make(name="CartPole-v1", lanes=32, mode="NEXT_STEP", **how):
    how.setdefault("vectorization_mode", "sync")
    return gymnasium.make_vec(name, num_envs=lanes, **how,
                              vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode[mode]})


def test_all_devices_take_part_on_the_host():
    run = yolk.train(make(lanes=8), device="all", population=16, generations=1, evaluation_episodes=1, max_steps=5)
    assert len(run.devices) == sum(device.usable for device in yolk.devices())


def test_cart_pole_is_learned_on_the_host():
    envs = gymnasium.make_vec("CartPole-v1", num_envs=64)
    run = yolk.train(envs, population=128, generations=6, stop_when_solved=False, seed=2, evaluation_episodes=20,
                     max_steps=200)
    assert run.history["mean_return"][0] < 40 < 90 < run.history["mean_return"][-1]
    assert run.generations == len(run.history) == 6 and run.mean_return > 90
    assert yolk.evaluate(run.policy, "CartPole-v1", episodes=20)["mean_return"] > 90
    assert "<svg" in run._repr_svg_() and run.devices[0] in repr(run)
    assert run.policy.task == "CartPole-v1" and run.policy.on_host and run.policy.evaluate(5)["episodes"] == 5


PROGRAM = f"{sys.executable} {ROOT / 'examples/host_environments/yolk_environment.py'} CartPole-v1"


def test_a_program_s_run_is_that_of_the_same_environments_here(tmp_path):
    settings = {"population": 16, "generations": 2, "hidden": 4, "max_steps": 20, "evaluation_episodes": 4}
    here = yolk.train(make(lanes=8), **settings)
    there = yolk.train(program=PROGRAM, out=tmp_path / "run", **settings)
    assert there.state_hash == here.state_hash and there.mean_return == here.mean_return
    assert there.policy.task == "CartPole-v1"
    assert yolk.evaluate(tmp_path / "run" / "policy.safetensors", program=PROGRAM, episodes=4) == yolk.evaluate(
        here.policy, episodes=4)
    assert there.resume(3).generations == 3
    with pytest.raises(yolk.BadInput, match="processes"):
        yolk.train(program=PROGRAM, processes=0)
    with pytest.raises(yolk.Error, match="no-such-program"):
        yolk.train(program="no-such-program")


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


RESUMED = """
import sys, gymnasium, yolk
envs = gymnasium.make_vec("CartPole-v1", num_envs=8, vectorization_mode="sync")
run = yolk.train(envs, population=32, generations=4, hidden=8, max_steps=30, optimizer="adam", learning_rate=0.02,
                 out=sys.argv[1], resume=True)
print(run.resumed_from, run.state_hash)
"""


def test_going_on_gives_the_bits_of_one_run(tmp_path):
    settings = {"population": 32, "hidden": 8, "max_steps": 30, "optimizer": "adam", "learning_rate": 0.02}
    whole = yolk.train(make(), generations=4, **settings)
    half = yolk.train(make(), generations=2, **settings)
    assert half.resume(4).state_hash == whole.state_hash
    yolk.train(make(), generations=2, out=tmp_path / "run", **settings)
    told = subprocess.run([sys.executable, "-c", RESUMED, str(tmp_path / "run")], capture_output=True, text=True)
    assert told.stdout.split() == ["2", whole.state_hash], told.stderr
    replayed = yolk.replay(tmp_path / "run")
    assert (replayed["generation"], replayed["state_hash"]) == (4, whole.state_hash)


def test_actions_of_a_box():
    run = yolk.train(make("Pendulum-v1", lanes=8), population=16, generations=2, hidden=8, max_steps=20)
    assert np.isfinite(run.history["mean_return"]).all() and not run.solved
    assert run.policy([1.0, 0.0, 0.0]).shape == (1, ) and run.policy(np.ones((5, 3))).shape == (5, 1)
    assert (abs(run.policy(100 * np.random.default_rng(0).normal(size=(50, 3)))) <= 2.0).all()
    policy = run.policy
    policy.parameters = {"layer0.weight": np.eye(3, dtype=np.float32), "layer0.bias": np.zeros(3, np.float32)}
    policy.widths = [3, 3]
    policy.action_low = np.array([-1.0, 0.0, -np.inf], np.float32)
    policy.action_high = np.array([3.0, np.inf, np.inf], np.float32)
    np.testing.assert_allclose(policy([[0.5, -2.0, 9.0], [-7.0, 2.0, -9.0]]), [[2.0, 0.0, 9.0], [-1.0, 2.0, -9.0]])


def test_a_policy_is_kept_in_a_file(tmp_path):
    run = yolk.train(make("MountainCarContinuous-v0", lanes=4), population=8, generations=1, hidden=(8, 8), max_steps=5,
                     evaluation_episodes=1, out=tmp_path / "run")
    loaded = yolk.Policy(tmp_path / "run" / "policy.safetensors")
    x = np.random.default_rng(0).normal(size=(6, 2))
    np.testing.assert_array_equal(loaded(x), run.policy(x))
    assert (loaded.task, loaded.widths, loaded.generations) == ("MountainCarContinuous-v0", [2, 8, 8, 1], 1)
    assert (tmp_path / "run" / "log.yolk").exists()
    assert yolk.evaluate(loaded, episodes=2)["task"] == "MountainCarContinuous-v0"
    with pytest.raises(yolk.BadInput, match="values of a box"):
        yolk.evaluate(loaded, "CartPole-v1")


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


def endless():
    if "yolk/Endless-v0" not in gymnasium.registry:
        from gymnasium.envs.classic_control import CartPoleEnv
        gymnasium.register("yolk/Endless-v0", entry_point=CartPoleEnv)
    return make("yolk/Endless-v0", lanes=2)


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
        yolk.train(make(lanes=2), audit=1.5)
    with pytest.raises(yolk.BadInput, match="no limit of steps"):
        yolk.train(endless(), population=4)
    with pytest.raises(yolk.BadInput, match="population"):
        yolk.train(make(lanes=3))
    envs = make(lanes=2)
    for name, value in (("generations", "x"), ("generations", 0), ("hidden", -3), ("hidden", None), ("hidden", [8, "x"]),
                        ("seed", -1), ("seed", 2**64), ("max_steps", None), ("evaluation_episodes", 0)):
        with pytest.raises(yolk.BadInput, match=name.replace("_", ".")):
            yolk.train(envs, **{name: value})
