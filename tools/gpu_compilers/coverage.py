#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps what tools/gpu-check --all has compiled, so that an interrupted run goes on, and says how far it is.

    coverage.py rounds SHARE                       the shares to run one after the other, each with all of the one before
    coverage.py known FOLDER                       writes FOLDER/known.txt, which `yolk inspect --known` takes
    coverage.py keep FOLDER TARGET SHARE SEED KERNELS RUN
                                                   reads the lines of `yolk inspect --cases --all --json` and keeps them
    coverage.py crashed FOLDER TARGET STATUS KERNELS
                                                   the driver crashed: leaves out the pipelines that it was compiling. Exit code 1:
                                                   there was none
    coverage.py report SHARE SEED KERNELS RUN TARGET=FOLDER...
                                                   what the run has compiled of each target, and what was refused
    coverage.py table FILE MESA KERNELS TARGET=FOLDER...
                                                   brings FILE up to the largest share of each target that was run to its end

FOLDER is of a target and a version of Mesa. In it KERNEL.known has a line for each pipeline that the driver took, the hash
of its code and constants; refused.jsonl has the lines of those that it refused, which are tried again each time; and
rounds.jsonl has a line for each share that was run to its end. A kernel that was changed has other hashes, so that it
is compiled again. flight/ and crashed/ are crash_guard.c's: what is in crashed/ is refused without asking the driver.

KERNELS is what kernels_hash.py says of the program: a share that was run with other kernels says nothing of these. RUN names
one call of tools/gpu-check: what an earlier one has finished does not stand for it. Exit code 1: something was refused, or
a run did not come to its end; 2: bad input.
"""
import csv
import json
import os
import re
import signal
import sys
import time

FIRST_SHARE = 1 / 1024
FACTOR = 4
SECONDS_BETWEEN_REPORTS = 30.0

# What crash_guard.c gives for a pipeline that brought the driver down in an earlier run: VK_ERROR_INVALID_SHADER_NV.
CRASHED = "VkResult -1000012000"
CRASHED_TEXT = "the driver's compiler crashed"
COLUMNS = ("target", "mesa", "kernels", "seed", "share", "configurations", "pipelines", "refused")


class BadInput(Exception):
    """What was given, and what is needed."""


def share_of(text):
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0.0 < share <= 1.0:
        raise BadInput(f"the share is '{text}'; it is a number above 0 and at most 1")
    return share


def rounds_of(share):
    """An interrupted run has a share of every kernel on every target, and not all of the first kernel."""
    rounds, at = [], FIRST_SHARE
    while at < share:
        rounds.append(at)
        at *= FACTOR
    return rounds + [share]


def known_in(folder):
    """Identities of all kernels. The last line of a writer that was killed may be torn."""
    known = set()
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if name.endswith(".known"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                known.update(line.strip() for line in file if re.fullmatch(r"[0-9a-f]{16}\n", line))
    return known


def write_beside(path, text):
    part = f"{path}.{os.getpid()}.part"
    with open(part, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(part, path)


def write_known(folder):
    """And makes room for crash_guard.c. A pipeline that was in flight when a run was killed is tried again."""
    for name in ("flight", "crashed"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    for name in os.listdir(os.path.join(folder, "flight")):
        os.remove(os.path.join(folder, "flight", name))
    write_beside(os.path.join(folder, "known.txt"), "".join(one + "\n" for one in sorted(known_in(folder))))


def duration_text(seconds):
    minutes = int(seconds + 0.5) // 60
    return f"{minutes // 60}:{minutes % 60:02} h" if minutes >= 60 else f"{minutes}:{int(seconds + 0.5) % 60:02} min"


def progress_text(target, share, done, of, pipelines, seconds):
    rate = done / seconds if seconds > 0 else 0.0
    left = f", about {duration_text((of - done) / rate)} left of this share" if done else ""
    return f"{target}: {done:,} of {of:,} configurations of the share {share:g}, {rate:.0f} a second, {pipelines:,} new pipelines{left}"


class Keeper:
    """Of one run of one target: appends what the driver took, a line each, so that a kill loses what is in flight."""

    def __init__(self, folder, target, share, seed, kernels, run):
        os.makedirs(folder, exist_ok=True)
        self.folder, self.target, self.share = folder, target, share
        self.of = {"share": share, "seed": seed, "kernels": kernels, "run": run}
        self.files, self.refused, self.refused_at, self.summary = {}, {}, set(), None
        self.pipelines = 0
        self.begun = self.told = time.monotonic()

    def append(self, kernel, identity):
        if kernel not in self.files:
            path = os.path.join(self.folder, f"{kernel}.known")
            torn = os.path.exists(path) and not whole_lines(path)
            self.files[kernel] = open(path, "a", encoding="utf-8", buffering=1)  # a line at a time
            if torn:
                self.files[kernel].write("\n")
        self.files[kernel].write(identity + "\n")

    def take(self, line):
        if line.get("event") == "summary":
            self.summary = line
        elif line.get("event") == "progress":
            self.tell(line)
        elif "refused" in line:
            if CRASHED in line["refused"]:
                line["refused"] = CRASHED_TEXT
            self.refused[refusal_key(line)] = line | self.of
            self.refused_at.add(place_of(line))
        elif line.get("identity"):
            self.pipelines += 1
            self.append(line["kernel"], line["identity"])

    def tell(self, line):
        now = time.monotonic()
        if now - self.told < SECONDS_BETWEEN_REPORTS:
            return
        self.told = now
        text = progress_text(self.target, self.share, line["configurations"], line["of"], self.pipelines, now - self.begun)
        print(text, file=sys.stderr, flush=True)

    def finish(self):
        """Whether the run came to its end."""
        for file in self.files.values():
            file.close()
        complete = self.summary is not None and not self.summary["interrupted"]
        write_beside(os.path.join(self.folder, "refused.jsonl"), "".join(json.dumps(one) + "\n" for one in self.all_refused(complete)))
        if complete:
            done = self.of | {"configurations": self.summary["configurations"], "pipelines": self.pipelines,
                              "known": len(known_in(self.folder)), "seconds": round(time.monotonic() - self.begun, 1)}  # fmt: skip
            with open(os.path.join(self.folder, "rounds.jsonl"), "a", encoding="utf-8") as file:
                file.write(json.dumps(done) + "\n")
        return complete

    def all_refused(self, complete):
        """Those of these kernels: of this run, and of earlier ones what this one has not tried again."""
        known, found = known_in(self.folder), {}
        for one in refused_in(self.folder, self.of["kernels"]):
            within = complete and one["seed"] == self.of["seed"] and one["share"] <= self.share
            # A plan ends with its first pipeline that is refused.
            tried = within and place_of(one) not in self.refused_at
            if not tried and one.get("identity") not in known:
                found[refusal_key(one)] = one
        return (found | self.refused).values()


def place_of(line):
    return json.dumps([line["shape"], line["configuration"]])


def refusal_key(line):
    return line.get("identity") or place_of(line)


def refused_in(folder, kernels):
    return [one for one in json_lines(os.path.join(folder, "refused.jsonl")) if one.get("kernels") == kernels]


def whole_lines(path):
    with open(path, "rb") as file:
        file.seek(0, os.SEEK_END)
        if file.tell() == 0:
            return True
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def json_lines(path):
    """Those that can be read: a writer may have been killed."""
    found = []
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for text in file:
                try:
                    found.append(json.loads(text))
                except json.JSONDecodeError:
                    continue
    return found


def keep(folder, target, share, seed, kernels, run):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # yolk ends, and says how far it came
    keeper = Keeper(folder, target, share, seed, kernels, run)
    for text in sys.stdin:
        try:
            keeper.take(json.loads(text))
        except json.JSONDecodeError:
            break  # yolk was killed within a line
    complete = keeper.finish()
    if not complete:
        print(f"{target}: the share {share:g} did not come to its end; run it again to go on", file=sys.stderr)
    return 0 if complete and not keeper.refused else 1


def crashed(folder, target, status, kernels):
    """0 where a pipeline was in flight, which the next run leaves out and names."""
    flight = os.path.join(folder, "flight")
    names = sorted(os.listdir(flight)) if os.path.isdir(flight) else []
    for name in names:
        write_beside(os.path.join(folder, "crashed", name), kernels + "\n")
    what = f"yolk inspect was ended by {signal.Signals(status - 128).name}"
    if names:
        print(f"{target}: {what} while the driver compiled a pipeline; it is left out from here on, and counts as refused", file=sys.stderr)
    else:
        print(f"{target}: {what}, and the driver was not compiling", file=sys.stderr)
    return 0 if names else 1


def nameless_crashes(folder, kernels, refused):
    """Pipelines of these kernels that crashed the driver, beside those that are named: of no configuration, or of a plan that
    ended before it came to them."""
    names = os.listdir(os.path.join(folder, "crashed")) if os.path.isdir(os.path.join(folder, "crashed")) else []
    count = 0
    for name in names:
        with open(os.path.join(folder, "crashed", name), encoding="utf-8") as file:
            count += file.read().strip() == kernels
    return max(0, count - sum(1 for one in refused if one["refused"] == CRASHED_TEXT))


def rounds_in(folder, kernels):
    """The shares of these kernels that were run to their end."""
    return [one for one in json_lines(os.path.join(folder, "rounds.jsonl")) if one.get("kernels") == kernels]


def largest_of(folder, kernels):
    """The last of the largest share; None where there is none."""
    return max(rounds_in(folder, kernels)[::-1], key=lambda one: one["share"], default=None)


def folders_of(arguments):
    pairs = [argument.partition("=") for argument in arguments]
    for name, equals, folder in pairs:
        if not (name and equals and folder):
            raise BadInput(f"'{name}{equals}{folder}' is no TARGET=FOLDER")
    return {name: folder for name, _, folder in pairs}


def table_rows(path):
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return {row["target"]: {name: row.get(name, "") for name in COLUMNS} for row in csv.DictReader(file)}


def write_table(path, mesa, kernels, targets):
    """For write_page.py. A target of which no share was run with these kernels keeps its row, which names its own."""
    rows = table_rows(path)
    for name, folder in folders_of(targets).items():
        largest = largest_of(folder, kernels)
        if largest is None:
            print(f"{name}: no share was run to its end with these kernels; the table keeps what it has", file=sys.stderr)
            continue
        values = (name, mesa, kernels, largest["seed"], f"{largest['share']:.10g}", largest["configurations"], largest["known"], len(refused_in(folder, kernels)))
        rows[name] = dict(zip(COLUMNS, values))
    lines = [",".join(COLUMNS)] + [",".join(str(row[name]) for name in COLUMNS) for row in rows.values()]
    write_beside(path, "\n".join(lines) + "\n")


def report_of(target, folder, share, seed, kernels, run):
    """A line of what was compiled, and sentences of what is wrong."""
    wanted = {"share": share, "seed": seed, "run": run}
    done = [one for one in rounds_in(folder, kernels) if wanted.items() <= one.items()]
    refused = refused_in(folder, kernels)
    problems = [
        f"{target}: {one['shape']}: {one['pipeline'] or 'the plan'} {one.get('configuration')}: refused: {one['refused']}" for one in refused
    ]
    if nameless := nameless_crashes(folder, kernels, refused):
        problems.append(f"{target}: {nameless} more pipelines crashed the driver")
    if not done:
        problems.append(f"{target}: this run has not brought the share {share:g} with seed {seed} to its end")
        largest = largest_of(folder, kernels)
        told = f"; the share {largest['share']:g} with seed {largest['seed']} came to its end" if largest else ""
        return f"{target}: {len(known_in(folder)):,} pipelines so far{told}", problems
    return f"{target}: {done[-1]['configurations']:,} configurations, {len(known_in(folder)):,} pipelines, {len(refused)} refused", problems


def report(share, seed, kernels, run, targets):
    lines, problems = [], []
    for name, folder in folders_of(targets).items():
        line, found = report_of(name, folder, share, seed, kernels, run)
        lines.append(line)
        problems += found
    what = "every configuration of the check cases" if share == 1.0 else f"a share of {share:g} (seed {seed}) of the configurations of the check cases, and every default"
    print("\n".join([f"{what}:"] + lines + (problems or ["nothing was refused"])))
    return 1 if problems else 0


def run_command(name, *arguments):
    """The exit code."""
    if name == "rounds" and len(arguments) == 1:
        print("\n".join(f"{one:.10g}" for one in rounds_of(share_of(arguments[0]))))
    elif name == "known" and len(arguments) == 1:
        write_known(arguments[0])
    elif name == "keep" and len(arguments) == 6:
        return keep(*arguments[:2], share_of(arguments[2]), int(arguments[3]), *arguments[4:])
    elif name == "crashed" and len(arguments) == 4:
        return crashed(*arguments[:2], int(arguments[2]), arguments[3])
    elif name == "table" and len(arguments) > 3:
        write_table(*arguments[:3], arguments[3:])
    elif name == "report" and len(arguments) > 4:
        return report(share_of(arguments[0]), int(arguments[1]), *arguments[2:4], arguments[4:])
    else:
        raise BadInput("it takes rounds, known, keep, crashed, report or table; see its head")
    return 0


def main():
    try:
        return run_command(*(sys.argv[1:] or [""]))
    except (BadInput, OSError, ValueError) as error:
        print(f"coverage.py: error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
