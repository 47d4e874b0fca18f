# SPDX-License-Identifier: Apache-2.0
"""What Python adds: CartPole beside the command in turns, ask and tell of a million values, tracing, and the import.

    build/python-venv/bin/python bench/python/overhead.py [--rounds 5]

Needs the release build of the command and a package that was built with the same flags, on PYTHONPATH (`pip install .` or
build/python). Medians, with the lowest and the highest.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/peers"))
import turns  # noqa: E402

GENERATIONS, POPULATION = 60, 4096


def command_seconds(yolk):
    """Seconds of the generations after the first, of the command."""
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run([yolk, "train", "cartpole", "--population", str(POPULATION), "--generations", str(GENERATIONS),
                              "--keep-going", "--json", "--out", folder], capture_output=True, text=True, check=True)
        rows = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
        state = next(row["state_hash"] for row in reversed(rows) if row.get("state_hash"))
        return seconds_of([row for row in rows if "generation" in row and "seconds" in row]), state


def seconds_of(rows):
    return rows[-1]["seconds"] - rows[0]["seconds"]


def package_seconds():
    program = f"""
import json, yolk
run = yolk.train("cartpole", population={POPULATION}, generations={GENERATIONS}, stop_when_solved=False,
                 on_generation=lambda report: None)
print(json.dumps({{"rows": list(run.history), "state": run.state_hash}}, default=float))
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    told = json.loads(ran.stdout)
    return seconds_of(told["rows"]), told["state"]


def asked(values):
    """Times of generations with population 32 and that many values, in ms: asking for all members as arrays, and telling."""
    import numpy as np
    import yolk

    side = int(values**0.5)
    run = yolk.Evolution({"w": np.zeros((side, side), np.float32)}, population=32, maximize=True)
    asking, telling = [], []
    for _ in range(8):
        begun = time.perf_counter()
        run.ask().arrays
        between = time.perf_counter()
        run.tell(np.arange(32.0))
        asking.append(1e3 * (between - begun))
        telling.append(1e3 * (time.perf_counter() - between))
    return asking[2:], telling[2:]


def traced(operations=1000):
    import yolk

    @yolk.hyperfunction
    def long(x):
        for _ in range(operations // 2):
            x = x * 1.01 + 0.5
        return x

    system = yolk.System(lambda x: long(x))
    times = []
    for _ in range(5):
        begun = time.perf_counter()
        system.graph({"x": [1.0, 2.0]})
        times.append(1e3 * (time.perf_counter() - begun))
    return times


def imported():
    program = "import time; t = time.perf_counter(); import yolk; print(time.perf_counter() - t)"
    return [1e3 * float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)
            for _ in range(7)]


def say(name, values, unit="ms"):
    print(f"{name:58} {statistics.median(values):9.2f} {unit} ({min(values):.2f} to {max(values):.2f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    turns.add_options(parser, rounds=5)
    parser.add_argument("--yolk", default=str(ROOT / "build/release/cli/yolk"))
    options = parser.parse_args()
    turns.prepare(options)
    os.environ["YOLK_DEVICE"] = options.driver
    command, package, states = [], [], set()
    for _ in range(options.rounds):
        for times, (seconds, state) in ((command, command_seconds(options.yolk)), (package, package_seconds())):
            times.append(1e3 * seconds / (GENERATIONS - 1))
            states.add(state)
    if len(states) != 1:
        sys.exit(f"the command and the package ended in different states: {states}")
    say(f"a generation of {POPULATION} CartPoles, the command", command)
    say(f"a generation of {POPULATION} CartPoles, Python", package)
    print(f"Python takes {statistics.median(package) / statistics.median(command):.3f} times as long; both end in state {states.pop()}")
    asking, telling = asked(10**6)
    say("ask: 32 members of 10^6 values as one array", asking)
    say("tell: the update of 10^6 values", telling)
    say("tracing 1,000 operations", traced())
    say("import yolk", imported())


if __name__ == "__main__":
    main()
