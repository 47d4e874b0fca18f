# SPDX-License-Identifier: Apache-2.0
"""Host functions that do not come back, and several calls at once whose functions raise."""

import os
import signal
import subprocess
import sys
import threading
import traceback

import numpy as np
import pytest

import yolk

BLOCKED = """
import os, sys, threading, time, yolk

@yolk.host_function
def stuck(x):
    # print() has a lock, with which Python aborts at its end where a thread that never comes back has it.
    os.write(1, b"begun\\n")
    {how}

system = yolk.System(lambda x: stuck(x))
try:
    {call}
except KeyboardInterrupt:
    print("ended", flush=True)
"""


@pytest.mark.parametrize("how", ["time.sleep(3600)", "threading.Event().wait()", "while True: pass"])
@pytest.mark.parametrize("call", ["system(x=1.0)",
                                  "system.evaluate([({'x': 1.0}, 1.0)] * 64, yolk.metrics.numeric_distance())"])
def test_ctrl_c_ends_calls_that_do_not_come_back(how, call):
    child = subprocess.Popen([sys.executable, "-c", BLOCKED.format(how=how, call=call)], stdout=subprocess.PIPE, text=True,
                             env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(yolk.__file__))})
    try:
        assert child.stdout.readline().startswith("begun")  # several threads may write at once
        child.send_signal(signal.SIGINT)
        rest, _ = child.communicate(timeout=60)
    finally:
        child.kill()
    # A thread that had taken its function before the signal may still write "begun" after "ended".
    assert child.returncode == 0 and rest.splitlines().count("ended") == 1


IN_THE_BACKGROUND = """
import threading, time, numpy as np, yolk

@yolk.host_function
def spin(x):
    for _ in range(1000): pass
    return x

def body(x):
    for _ in range(1000): pass
    return yolk.tanh(x)

def forever(work):
    while True: work()

inner = yolk.System(lambda x: yolk.tanh(x))
@yolk.host_function
def nests(x):
    return inner(x=x)

works = [lambda: yolk.trace(body, 1.0), yolk.devices, yolk.environments, lambda: yolk.array([1.0]).numpy(),
         lambda: yolk.System(lambda x: nests(spin(x)))(x=1.0)]
for work in works:
    threading.Thread(target=forever, args=(work,), daemon=True).start()
time.sleep({seconds})
"""


@pytest.mark.once
@pytest.mark.parametrize("seconds", [0.3, 0.5, 0.7, 0.9])
def test_the_interpreter_ends_while_threads_are_in_python_code_that_was_called(python, seconds):
    done = python(IN_THE_BACKGROUND.replace("{seconds}", str(seconds)))
    assert done.returncode == 0 and "Error" not in done.stderr, done.stderr


@yolk.hyperfunction(yolk.Matrix(1, 1))
def layer(weight, x):
    return weight @ x


ENDLESS = """
import os, signal, threading, time, yolk

@yolk.hyperfunction(yolk.Matrix(1, 1))
def layer(weight, x):
    return weight @ x

system = yolk.System(lambda x: layer(x))
def work(metric):
    system.optimize([({{"x": [1.0]}}, [1.0])], metric, generations=10**9, population=4)
{how}
"""


@pytest.mark.parametrize("how", [
    # At the interpreter's end, and by Ctrl-C that the metric sees, whose failure counts as a bad score.
    "threading.Thread(target=work, args=(yolk.metrics.numeric_distance(),), daemon=True).start()\ntime.sleep(1)\nprint('ended')",
    "calls = []\ndef metric(prediction, expected):\n    calls.append(1)\n"
    "    if len(calls) == 50: signal.raise_signal(signal.SIGINT)\n    return 1.0\n"
    "try: work(metric)\nexcept KeyboardInterrupt: print('ended')",
], ids=["exit", "ctrl_c"])
def test_a_search_ends(python, how):
    done = python(ENDLESS.format(how=how), timeout=60)
    assert done.returncode == 0 and done.stdout.strip() == "ended", done.stderr


def test_a_system_s_callback_cannot_call_it():
    system = yolk.System(lambda x: layer(x))
    examples = [({"x": [1.0]}, [1.0])]
    with pytest.raises(yolk.BadInput, match="wait for itself"):
        system.optimize(examples, yolk.metrics.numeric_distance(), generations=2, population=4,
                        on_generation=lambda report: system(x=[1.0]) is None)
    assert np.isfinite(system(x=[1.0])).all()


def test_each_call_gets_its_own_exception():
    """Systems on several threads at once; each raises an error of its own, with its traceback."""
    ready = threading.Barrier(4)
    wrong = []

    def work(number):
        @yolk.host_function(name=f"raises{number}")
        def raises(x):
            ready.wait(timeout=60)
            raise KeyError(f"of system {number}")

        system = yolk.System(lambda x: raises(x))
        for _ in range(10):
            try:
                system(x=1.0)
                wrong.append("nothing was raised")
            except KeyError as error:
                if error.args != (f"of system {number}",):
                    wrong.append((number, error.args))
                if "in raises" not in "".join(traceback.format_tb(error.__traceback__)):
                    wrong.append((number, "no traceback"))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_an_inner_system_s_exception_is_handled_where_it_is_called():
    @yolk.host_function
    def raises(x):
        raise KeyError("inner")

    inner = yolk.System(lambda x: raises(x))

    @yolk.host_function
    def handles(x):
        with pytest.raises(KeyError, match="inner"):
            inner(x=1.0)
        raise IndexError("outer")

    with pytest.raises(IndexError, match="outer"):
        yolk.System(lambda x: handles(x))(x=1.0)
