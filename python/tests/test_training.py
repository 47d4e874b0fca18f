# SPDX-License-Identifier: Apache-2.0
import gc
import inspect
import json
import math
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import yolk

SMALL = {"population": 64, "generations": 3, "hidden": 8, "stop_when_solved": False}


def test_the_command_gives_the_same_state(tmp_path):
    command = os.environ.get("YOLK_TEST_COMMAND")
    if not command:
        pytest.skip("YOLK_TEST_COMMAND names no yolk command")
    told = subprocess.run(
        [command, "train", "cartpole", "--population", "256", "--generations", "5", "--keep-going", "--json", "--quiet",
         "--out", str(tmp_path / "command")], capture_output=True, text=True, check=True).stdout
    run = yolk.train("cartpole", population=256, generations=5, stop_when_solved=False)
    assert run.state_hash == json.loads(told.splitlines()[-1])["state_hash"]


# Where it is called something else in Python, and what only a process of its own needs.
OTHERWISE = {"lr": "learning_rate", "lr_decay": "learning_rate_decay", "keep_going": "stop_when_solved", "no_tuning": "tuning",
             "devices": "device"}
NOT_NEEDED = {"help", "json", "rank_seconds"}


@pytest.mark.once
@pytest.mark.parametrize("command, function, otherwise, elsewhere", [
    ("train", yolk.train, {"env": "task", "quiet": "progress"}, set()),
    # A model's rows are Model.evaluate's; nothing is shown meanwhile; a device that hangs is given up after its usual time.
    ("eval", yolk.evaluate, {"env": "environment"}, {"data", "label", "labels", "quiet", "hang_seconds"}),
])
def test_every_option_of_the_command_is_an_argument(command, function, otherwise, elsewhere):
    program = os.environ.get("YOLK_TEST_COMMAND")
    if not program:
        pytest.skip("YOLK_TEST_COMMAND names no yolk command")
    shown = subprocess.run([program, command, "--help"], capture_output=True, text=True, check=True).stdout
    names = {name.replace("-", "_") for name in re.findall(r"^  (?:-h,)?--([a-z-]+)", shown, flags=re.MULTILINE)}
    assert len(names) > 12 and elsewhere <= names
    known = set(inspect.signature(function).parameters)
    assert {{**OTHERWISE, **otherwise}.get(name, name) for name in names - NOT_NEEDED - elsewhere} <= known


def test_a_run_has_history_policy_and_files(tmp_path):
    run = yolk.train("cartpole", out=tmp_path / "run", **SMALL)
    assert [report["generation"] for report in run.history] == [0, 1, 2]
    assert run.history["mean_return"].shape == (3,)
    assert run.history[-1]["state_hash"] == run.state_hash
    assert sorted(os.listdir(tmp_path / "run")) == ["checkpoint.yolk", "log.yolk", "metrics.jsonl", "policy.safetensors"]
    assert run.policy.widths == [4, 8, 2]
    assert run.policy.parameters["layer0.weight"].shape == (8, 4)
    assert run.policy.parameters["layer0.bias"].shape == (8,)
    assert "cartpole" in repr(run) and "cartpole" in repr(run.policy)


def test_a_policy_outlives_its_run(tmp_path):
    policy = yolk.train("cartpole", **SMALL).policy
    gc.collect()
    policy.save(tmp_path / "policy.safetensors")
    assert yolk.evaluate(tmp_path / "policy.safetensors", episodes=3) == yolk.evaluate(policy, episodes=3)


def test_a_policy_is_pickled_with_its_file_and_its_environment():
    slider = pathlib.Path(__file__).with_name("slider.glsl").read_text()
    run = yolk.train(slider, population=64, generations=2, hidden=8, stop_when_solved=False)
    told = run.policy.evaluate(episodes=3)
    stored = pickle.dumps(run.policy)
    del run
    gc.collect()
    policy = pickle.loads(stored)
    assert {**policy.evaluate(episodes=3), "task": told["task"]} == told


def test_a_second_run_compiles_nothing_again():
    yolk.train("cartpole", **SMALL)
    made = yolk._core.pipelines_made()
    assert made > 0
    yolk.train("cartpole", **SMALL)
    assert yolk._core.pipelines_made() == made


def test_a_policy_gives_actions_for_one_and_for_many():
    policy = yolk.train("cartpole", **SMALL).policy
    batch = np.random.default_rng(0).normal(size=(5, 7, 4))
    actions = policy(batch)
    assert actions.shape == (5, 7) and set(np.unique(actions)) <= {0, 1}
    assert policy(batch[2, 3]) == actions[2, 3]
    assert isinstance(policy([0.0, 0.0, 0.0, 0.0]), int)
    with pytest.raises(yolk.BadInput, match=r"\[\.\.\., 4\]"):
        policy([1.0, 2.0])
    with pytest.raises(yolk.BadInput, match="complex"):
        policy(np.zeros(4, complex))


def test_a_trained_policy_solves_its_task():
    run = yolk.train("cartpole", population=1024, generations=40)
    assert run.solved and run.mean_return >= 475
    assert run.policy.evaluate(episodes=20, seed=5)["mean_return"] >= 400


def test_resuming_gives_the_bits_of_one_run():
    whole = yolk.train("cartpole", **{**SMALL, "generations": 6})
    half = yolk.train("cartpole", **SMALL)
    assert half.resume(6).state_hash == whole.state_hash


def test_replay_rebuilds_each_state(tmp_path):
    run = yolk.train("cartpole", out=tmp_path / "run", **SMALL)
    for report in run.history:
        there = yolk.replay(tmp_path / "run", report["generation"] + 1)
        assert there["state_hash"] == report["state_hash"]
    assert yolk.replay(run.folder, on_host=True)["state_hash"] == run.state_hash


def test_an_environment_as_file_and_as_text():
    file = pathlib.Path(__file__).with_name("slider.glsl")
    options = {"population": 64, "generations": 2, "hidden": 8, "stop_when_solved": False}
    from_file = yolk.train(file, **options)
    assert from_file.state_hash == yolk.train(file.read_text(), **options).state_hash
    assert math.isfinite(from_file.policy.evaluate(episodes=3)["mean_return"])


def test_on_generation_ends_training():
    seen = []
    run = yolk.train("cartpole", **SMALL, on_generation=lambda report: seen.append(report) or np.bool_(len(seen) < 2))
    assert len(seen) == 2 and run.generations == 2


def test_an_exception_in_a_callback_comes_out_with_its_traceback():
    def fails(report):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine") as caught:
        yolk.train("cartpole", **SMALL, on_generation=fails)
    assert caught.traceback[-1].name == "fails"


def test_svg_and_plot(tmp_path):
    run = yolk.train("cartpole", **SMALL)
    picture = run._repr_svg_()
    assert picture.startswith("<svg") and run.plot(tmp_path / "run.svg") == picture == (tmp_path / "run.svg").read_text()
    assert picture.count("L") >= 2 * 2 and ">cartpole</text>" in picture  # two curves of three generations
    assert yolk.History([{"mean": 1.0, "unperturbed": 2.0}]).svg("mine") != yolk.History().svg("mine")
    with pytest.raises(yolk.BadInput, match="bits_per_byte"):
        yolk.History([{"bits_per_byte": 1.0}]).svg()


def test_the_defaults_are_the_library_s():
    import inspect

    signature = inspect.signature(yolk.train).parameters
    for name, value in yolk._core.train_defaults().items():
        default = signature[name].default
        default = list(default) if isinstance(default, tuple) else default
        if name == "population":  # None leaves it to the library
            assert default is None and value == 4096
            continue
        if default is None:  # a data set's run has another
            continue
        assert default == pytest.approx(value) if isinstance(value, float) else default == value, name


@pytest.mark.parametrize("settings, words", [
    ({"population": 3}, "even"),
    ({"population": -1}, "population is -1"),
    ({"population": 2.5}, "population is 2.5"),
    ({"population": True}, "population is True"),
    ({"population": "many"}, "'many'"),
    ({"population": 2**70}, "population is"),
    ({"sigma": math.nan}, "Sigma is nan"),
    ({"sigma": "small"}, "a number"),
    ({"sigma": 0}, "Sigma is 0"),
    ({"generations": 0}, "generations is 0"),
    ({"fitness": "best"}, "pair-difference"),
    ({"optimizer": "sdg"}, "adam"),
    ({"determinism": "maybe"}, "exact"),
    ({"hidden": [0]}, "width"),
    ({"hidden": "wide"}, "hidden"),
    ({"hidden": [8, 8, 8, 8]}, "widths"),
    ({"freeze": ["nothing"]}, "nothing"),
    ({"device": "no such device"}, "no such device"),
    ({"device": []}, "empty"),
    ({"device": 99}, "99"),
    ({"device": 1.5}, "device"),
    ({"task": "no_such_task"}, "cartpole"),
    ({"task": "broken\nglsl"}, "glsl"),
    ({"resume": True}, "out"),
    ({"audit": 2.0}, "audit"),
    ({"lanes": 3}, "none is given"),
])
def test_bad_settings_are_refused(settings, words):
    with pytest.raises(yolk.BadInput, match=words):
        yolk.train(**{**SMALL, **settings})


def test_bad_files_are_refused(tmp_path):
    with pytest.raises(yolk.FileError):
        yolk.Policy(tmp_path / "missing")
    (tmp_path / "noise").write_bytes(bytes(range(256)) * 8)
    with pytest.raises(yolk.BadInput):
        yolk.Policy(tmp_path / "noise")
    with pytest.raises(yolk.FileError):
        yolk.replay(tmp_path / "missing")
    with pytest.raises(ValueError):
        yolk.replay(tmp_path / "noise")


def test_ctrl_c_saves_and_raises(tmp_path):
    program = ("import sys, yolk\n"
               f"try: yolk.train('cartpole', population=256, generations=100000, stop_when_solved=False, out={str(tmp_path / 'r')!r},\n"
               "               on_generation=lambda report: print(report['generation'], flush=True))\n"
               "except KeyboardInterrupt: print('ended', flush=True)\n")
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(yolk.__file__))}
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment)
    while child.stdout.readline().strip() != "2":
        assert child.poll() is None
    child.send_signal(signal.SIGINT)
    rest = child.stdout.read()
    assert child.wait(timeout=60) == 0 and rest.splitlines()[-1] == "ended"
    assert (tmp_path / "r" / "checkpoint.yolk").exists()


def test_other_threads_go_on_while_it_trains():
    import threading

    done = threading.Event()
    ticks = 0
    thread = threading.Thread(target=lambda: (yolk.train("cartpole", population=512, generations=20, stop_when_solved=False,
                                                         on_generation=lambda _: ticks <= 20), done.set()))
    thread.start()
    while not done.is_set() and thread.is_alive():
        ticks += 1
        time.sleep(0.001)
    thread.join()
    assert done.is_set() and ticks > 20
