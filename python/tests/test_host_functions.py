# SPDX-License-Identifier: Apache-2.0
"""Host functions that do not come back, and several calls at once whose functions raise."""

import os
import signal
import subprocess
import sys
import threading
import traceback

import pytest

import yolk

BLOCKED = """
import sys, threading, time, yolk

@yolk.host_function
def stuck(x):
    print("begun", flush=True)
    {how}

system = yolk.System(lambda x: stuck(x))
try:
    {call}
except KeyboardInterrupt:
    print("ended", flush=True)
"""


@pytest.mark.parametrize("how", ["time.sleep(3600)", "threading.Event().wait()"])
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
    assert child.returncode == 0 and rest.splitlines()[-1] == "ended"


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
