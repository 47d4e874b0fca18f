# SPDX-License-Identifier: Apache-2.0
import ast
import os
import pathlib

import numpy as np
import pytest

import yolk

MODEL = str(pathlib.Path(__file__).parents[2] / "transformer" / "tests" / "models" / "bert")


def test_devices_are_listed():
    devices = yolk.devices()
    assert devices and devices[0].index == 0 and devices[0].name in repr(devices)
    assert devices.reason == "" and isinstance(devices[0], yolk.Device)


def test_without_a_driver_it_imports_and_says_what_to_install(python):
    done = python("import yolk\nfound = yolk.devices()\nprint(len(found))\nprint(found.reason)\n"
                  "try: yolk.train()\nexcept yolk.Error as error: print(type(error).__name__, error)\n",
                  VK_DRIVER_FILES="/nonexistent.json", VK_ICD_FILENAMES="/nonexistent.json")
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert lines[0] == "0" and "install" in lines[1] and "install" in lines[2]


def test_importing_opens_no_device_and_is_quick(python):
    done = python("import sys, yolk\nprint('numpy' in sys.modules)")
    assert done.returncode == 0, done.stderr


def test_everything_public_has_a_docstring():
    for name in yolk.__all__:
        if not name.startswith("__"):
            assert getattr(yolk, name).__doc__, name


def test_exceptions_are_the_built_in_ones_too():
    assert issubclass(yolk.BadInput, ValueError) and issubclass(yolk.OutOfMemory, MemoryError)
    assert issubclass(yolk.FileError, OSError) and issubclass(yolk.DeviceLost, yolk.Error)


def test_the_interpreter_ends_with_work_in_flight(python):
    done = python("import threading, yolk\n"
                  "threading.Thread(target=lambda: yolk.train(population=256, generations=100000, stop_when_solved=False),"
                  " daemon=True).start()\nimport time; time.sleep(2)")
    assert done.returncode == 0, done.stderr


def test_a_fork_is_refused_and_not_hung(python):
    done = python("import os, sys, yolk\n"
                  "run = yolk.Evolution([0.0, 1.0], population=4)\n"
                  "child = os.fork()\n"
                  "if child == 0:\n"
                  "    told = 0\n"
                  "    for call in (lambda: run.ask()[0], lambda: yolk.train(population=64, generations=1)):\n"
                  "        try: call()\n"
                  "        except yolk.Unsupported as error: told += 'forked' in str(error)\n"
                  "    os._exit(told)\n"
                  "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n")
    assert done.returncode == 0 and done.stdout.strip() == "2", done.stderr


def test_a_fork_leaves_its_parent_s_files_and_encoders_alone(python):
    done = python("import os, sys, yolk\n"
                  f"encoder = yolk.Encoder({MODEL!r})\n"
                  "run = yolk.train(population=64, generations=1, hidden=4)\n"
                  "child = os.fork()\n"
                  "if child == 0:\n"
                  "    try: encoder('a cat')\n"
                  "    except yolk.Unsupported as error: sys.exit(3 if 'forked' in str(error) else 4)\n"
                  "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), run.policy.evaluate(2)['episodes'])\n", timeout=60)
    assert done.returncode == 0 and done.stdout.strip() == "3 2", done.stderr


def test_runs_refuse_to_be_pickled():
    import pickle

    import pytest

    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(yolk.Evolution([0.0, 1.0], population=4))


def test_objects_say_why_they_run_where_they_do(monkeypatch):
    monkeypatch.setenv("YOLK_DEVICE", os.environ.get("YOLK_TEST_DEVICE") or yolk.devices()[0].name)
    run = yolk.Evolution(np.zeros((2, 2)), population=4)
    assert run.device in run.why_device and "$YOLK_DEVICE" in run.why_device
    index = [device.index for device in yolk.devices() if device.name == run.device][0]
    asked = yolk.Evolution(np.zeros((2, 2)), population=4, device=index)
    assert f"asked for by device= as '{index}'" in asked.why_device
    monkeypatch.delenv("YOLK_DEVICE")
    best = yolk.Evolution(np.zeros((2, 2)), population=4)
    others = [device.name for device in yolk.devices() if device.name != best.device]
    assert all(name in best.why_device for name in others)
    assert ("the best one" if others else "the only one") in best.why_device


@pytest.mark.parametrize("module, stub", [(yolk._core, "__init__.pyi"), (yolk._core.operations, "operations.pyi")])
def test_stubs_name_all_that_is_there(module, stub):
    file = pathlib.Path(yolk.__file__).parent / "_core" / stub
    known = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        known |= {getattr(node, "name", "")} | {alias.asname or alias.name for alias in getattr(node, "names", [])}
        known |= {node.target.id} if isinstance(node, ast.AnnAssign) else set()
    assert {name for name in dir(module) if not name.startswith("_")} <= known
    assert (file.parents[1] / "py.typed").exists()
