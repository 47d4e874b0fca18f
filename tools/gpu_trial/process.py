# SPDX-License-Identifier: Apache-2.0
"""Runs the trial's steps: each is a process with a time limit, whose output is kept."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time


def say(text):
    print(f"gpu-trial: {text}", file=sys.stderr, flush=True)


def text_of(path):
    try:
        return pathlib.Path(path).read_text(errors="replace")
    except OSError:
        return ""


def as_json(line):
    try:
        return json.loads(line) if line.startswith(("{", "[")) else None
    except ValueError:
        return None  # a line that was cut off


class Step:
    """What became of a process. `status` is None where it was not begun, negative where a signal ended it."""

    def __init__(self, name, command=(), status=None, lines=(), said="", late=False):
        self.name, self.command, self.status, self.lines, self.said, self.late = name, command, status, lines, said, late
        self.seconds = 0.0

    @property
    def good(self):
        return self.status == 0 and not self.late

    @property
    def last(self):
        return self.lines[-1] if self.lines and isinstance(self.lines[-1], dict) else {}

    def ending(self):
        if self.status is None:
            return "not begun"
        if self.late:
            return f"not done in {self.seconds:.0f} s, and ended then"
        if self.status < 0:
            return f"crashed by signal {-self.status}"
        return "good" if self.good else f"failed with exit code {self.status}"


class Trial:
    """Where results go, how long there is, and the steps so far."""

    patience = ((signal.SIGTERM, 8), (signal.SIGKILL, 4))  # seconds that a process has to end

    def __init__(self, out, yolk, seconds):
        self.out, self.yolk = out, yolk
        self.begun = time.monotonic()
        self.end = self.begun + seconds
        self.patient = max(1.0, seconds / 600)  # who gives all of it more time than a GPU needs gives each step more
        self.steps, self.notes = {}, []
        self.lock, self.running, self.stuck = threading.Lock(), set(), 0
        (out / "logs").mkdir(parents=True, exist_ok=True)
        self.results = open(out / "results.jsonl", "w", encoding="utf-8")
        # The page is about the defaults, so it reads no tuning table; kernels are compiled anew.
        self.environment = {**os.environ, "YOLK_TABLE": str(out / "none.sqlite"), "YOLK_CACHE": str(out / "cache")}

    def interrupt(self, number, _frame):
        """A signal's handler: ends the running steps and begins no others, so that the page follows. A second signal ends the trial."""
        signal.signal(number, signal.SIG_DFL)
        self.notes.append("The trial was interrupted.")
        self.end = 0
        for process in list(self.running):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)

    def command(self, name, limit, *arguments):
        """A step of the yolk command."""
        return self.run(name, limit, [*self.yolk, *map(str, arguments)], self.environment)

    def run(self, name, limit, command, environment):
        step = Step(name, command)
        limit = min(limit * self.patient, self.end - time.monotonic())
        if limit < 3:
            step.said = "No time was left."
        elif self.stuck > 1:
            step.said = "Two programs before it could not be ended: the device or its driver hangs."
        else:
            self.wait_for(step, limit, environment)
        self.keep(step)
        say(f"{name}: {step.ending()} ({step.seconds:.0f} s){'' if step.good else ' ' + step.said[-300:]}")
        return step

    def keep(self, step):
        about = {"step": step.name, "command": step.command, "status": step.status, "late": step.late}
        about |= {"seconds": round(step.seconds, 2), "said": step.said}
        with self.lock:
            self.steps[step.name] = step
            for line in [about, *({"of": step.name, "line": line} for line in step.lines)]:
                self.results.write(json.dumps(line) + "\n")
            self.results.flush()

    def wait_for(self, step, limit, environment):
        out, err = (self.out / "logs" / f"{step.name}.{kind}" for kind in ("out", "err"))
        begun = time.monotonic()
        with open(out, "wb") as out_file, open(err, "wb") as err_file:
            try:
                process = subprocess.Popen(step.command, stdin=subprocess.DEVNULL, stdout=out_file, stderr=err_file,
                                           env=environment, start_new_session=True)  # fmt: skip
            except OSError as error:
                step.status, step.said = 127, str(error)
                return
            self.running.add(process)
            try:
                step.status = process.wait(limit)
            except subprocess.TimeoutExpired:
                step.late, step.status = True, self.ended(process)
            self.running.discard(process)
        step.seconds = time.monotonic() - begun
        step.lines = [line for line in map(as_json, text_of(out).splitlines()) if line is not None]
        idle = re.compile(r"\s*$|yolk: info:|.*XDG_RUNTIME_DIR")
        words = [line for line in text_of(err).splitlines() if not idle.match(line)]
        step.said = " ".join(line.removeprefix("yolk: error: ") for line in words[-3:])[-800:]

    def ended(self, process):
        """Asks the process to end, so that yolk prints what it has, then kills it. One that hangs inside a driver stays."""
        for number, patience in self.patience:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(patience)
        self.stuck += 1
        return -signal.SIGKILL
