# SPDX-License-Identifier: Apache-2.0
"""What the programs of this folder share: a quiet machine, sides in turns, each in a process of its own, yolk_bench's
rows, and the lines that say how fast each side was. Nothing but the standard library."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
YOLK_BENCH = str(REPOSITORY / "build/bench/bench/yolk_bench")
LAVAPIPE = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"
QUIET_LOAD = 0.25  # of the last minute: one process that runs a quarter of the time
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


class Failed(Exception):
    """A side that cannot run here; its text is the row's."""


def prepare(options):
    """Refuses a busy machine, unless --busy was said, and puts every side on one driver."""
    if "VK_ICD_FILENAMES" not in os.environ and pathlib.Path(LAVAPIPE).exists():
        os.environ["VK_ICD_FILENAMES"] = LAVAPIPE
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")  # no __pycache__ among the sources
    load = os.getloadavg()[0]
    if load <= QUIET_LOAD:
        return
    told = f"The load average of the last minute is {load:.2f}; a quiet machine has {QUIET_LOAD} at most."
    if not options.busy:
        sys.exit(f"{told} Other work halves rates, and not all sides' alike: wait a minute, or say --busy to go on.")
    print(f"warning: {told} These figures are no measurement.", file=sys.stderr)


def add_options(parser, rounds=3, seconds=3.0):
    parser.add_argument("--rounds", type=int, default=rounds, help="times that each side runs")
    parser.add_argument("--seconds", type=float, default=seconds, help="that a side is timed per turn")
    parser.add_argument("--yolk-bench", default=YOLK_BENCH, metavar="COMMAND", help="default: build/bench's")
    parser.add_argument("--driver", default="llvmpipe", help="part of yolk's driver's name (default: llvmpipe)")
    parser.add_argument("--busy", action="store_true", help="only warn on a busy machine")
    parser.add_argument("--json", action="store_true", help="one object per row")
    parser.add_argument("--python", type=python_of, action="append", default=[], metavar="SIDE=COMMAND",
                        help="the Python that has this side; default: the one that runs this program")


def python_of(text):
    side, _, command = text.partition("=")
    if not side or not command:
        raise argparse.ArgumentTypeError(f"--python is {text}; SIDE=COMMAND is needed, such as torch=/tmp/torch/bin/python")
    return side, command


def torch_here():
    """PyTorch on the device that YOLK_PEERS_TORCH names (cuda on a machine with a GPU), or on the processor."""
    import torch

    torch.set_default_device(os.environ.get("YOLK_PEERS_TORCH", "cpu"))
    return torch


def torch_device_name(torch):
    if torch.get_default_device().type == "cuda":
        return f"torch {torch.__version__}, {torch.cuda.get_device_name()}"
    return f"torch {torch.__version__}, {torch.get_num_threads()} threads"


def torch_waits(torch):
    """Waits for a GPU's work; a processor has ended it."""
    if torch.get_default_device().type == "cuda":
        torch.cuda.synchronize()


def last_words(text):
    lines = [line for line in text.splitlines() if line.strip() and "XDG_RUNTIME_DIR" not in line]
    return lines[-1][:300] if lines else "no output"


def output_of(command, limit=None):
    """A command's standard output, and its peak of resident memory in bytes."""
    with tempfile.TemporaryFile("w+") as errors:
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        except OSError as error:
            raise Failed(f"cannot start {command[0]}: {error.strerror}") from error
        late = threading.Event()
        timer = threading.Timer(limit or threading.TIMEOUT_MAX, lambda: (late.set(), process.kill()))
        timer.daemon = True
        timer.start()
        out = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        if late.is_set():
            raise Failed(f"still ran after {limit} s")
        if status != 0:
            errors.seek(0)
            raise Failed(f"ended with {os.waitstatus_to_exitcode(status)}: {last_words(errors.read())}")
    return out, 1024 * usage.ru_maxrss


def objects_of(command, limit=None):
    """The JSON lines of a command's standard output."""
    return [json.loads(line) for line in output_of(command, limit)[0].splitlines() if line.startswith("{")]


def own_turn(script, arguments, python=sys.executable):
    """The last object that a script prints, run by this Python or another, and its "peak_memory_bytes"."""
    out, peak = output_of([python, script, *arguments])
    return json.loads(out.splitlines()[-1]) | {"peak_memory_bytes": peak}


def yolk_rows(options, name, min_seconds=None):
    """Rows of yolk_bench by name, those that failed left out, and its peak of resident memory."""
    command = [*options.yolk_bench.split(), f"--benchmark_filter={name}", "--benchmark_format=json"]
    if min_seconds is not None:
        command.append(f"--benchmark_min_time={min_seconds}")
    out, peak = output_of(command)
    rows = json.loads(out)["benchmarks"] if out.strip() else []
    good = {row["name"]: row for row in rows if not row.get("error_occurred")}
    if not good:
        raise Failed(rows[0]["error_message"] if rows else f"yolk_bench has no row {name}")
    return good, peak


def yolk_row(options, name, min_seconds=None):
    """The one row of yolk_bench with this name. A pattern that finds another form, too, would measure both."""
    rows, peak = yolk_rows(options, name, min_seconds)
    if len(rows) != 1:
        raise Failed(f"yolk_bench has {len(rows)} rows {name}: {', '.join(rows)}")
    return next(iter(rows.values())), peak


def in_turns(sides, rounds):
    """`sides`: callables by name, each of which returns a row or raises Failed. Every side runs once per round, so that
    what the machine does meanwhile falls on all of them; one that failed is not run again."""
    turns = {name: [] for name in sides}
    failed = {}
    for _ in range(rounds):
        for name, run in sides.items():
            if name in failed:
                continue
            try:
                turns[name].append(run())
            except Failed as failure:
                failed[name] = str(failure)
    return turns, failed


def spread(turns, key):
    """Median, lowest and highest of a figure of all turns."""
    values = sorted(turn[key] for turn in turns)
    return statistics.median(values), values[0], values[-1]


def rate_for(run, seconds, items=1, least=2):
    """Items per second over some seconds and at least `least` runs, after one run that warms up."""
    run()
    count, started = 0, time.perf_counter()
    while count < least or time.perf_counter() - started < seconds:
        run()
        count += 1
    return items * count / (time.perf_counter() - started)


def show_sides(turns, failed, key, options, notes):
    """A line per side with the spread of `key`, and how many times the first side's rate is that of each other one.
    `notes`: what of its first turn is told, too."""
    first = next(iter(turns))
    for name, rows in turns.items():
        row = {"side": name}
        if name in failed:
            row["failed"] = failed[name]
        else:
            row[key], row["lowest"], row["highest"] = spread(rows, key)
            row |= {note: rows[0][note] for note in notes if note in rows[0]}
            row["peak_memory_bytes"] = max(turn.get("peak_memory_bytes", 0) for turn in rows)
            if name != first and first not in failed:
                row["ratio"] = spread(turns[first], key)[0] / row[key]
        print(json.dumps(row) if options.json else side_text(row, key, first, notes), flush=True)


def side_text(row, key, first, notes):
    if "failed" in row:
        return f"{row['side']:24} {row['failed']}"
    text = f"{row['side']:24} {row[key]:12,.1f} {key.replace('_per_', '/').replace('second', 's')}"
    text += f" ({row['lowest']:,.1f} to {row['highest']:,.1f}), {row['peak_memory_bytes'] >> 20} MiB"
    if "ratio" in row:
        text += f"; {first} is {row['ratio']:.2f} times as fast"
    for note in notes:
        if note in row:
            text += f"; {row[note]}" if isinstance(row[note], str) else f"; {note.replace('_', ' ')} {row[note]:.4f}"
    return text
