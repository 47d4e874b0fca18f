# SPDX-License-Identifier: Apache-2.0
import importlib
import os
import signal
import subprocess
import sys

import pytest

import yolk


def pytest_configure(config):
    config.addinivalue_line("markers", "once: of no driver, or of both at once: one of the two suites runs it")
    # A shell's background jobs ignore Ctrl-C, which some tests send.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Tests of what is not installed are left out, unless it has to be there.
    for name in filter(None, os.environ.get("YOLK_TEST_NEEDS", "").split(",")):
        importlib.import_module(name)
    # A suite that ran without a device would have passed nothing.
    wanted = os.environ.get("YOLK_TEST_DEVICE", "")
    names = [device.name for device in yolk.devices() if device.usable]
    if not any(wanted.lower() in name.lower() for name in names):
        raise pytest.UsageError(f"no device named like '{wanted}' among {names}: {yolk.devices().reason}")


@pytest.fixture(autouse=True)
def one_device(monkeypatch):
    """Every test runs on the device that $YOLK_TEST_DEVICE names."""
    monkeypatch.setenv("YOLK_DEVICE", os.environ.get("YOLK_TEST_DEVICE", ""))


@pytest.fixture
def python():
    """Runs a program in a Python of its own; gives its CompletedProcess."""

    def run(program, timeout=120, **changes):
        environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(yolk.__file__)), **changes}
        return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=timeout,
                              env=environment)

    return run
