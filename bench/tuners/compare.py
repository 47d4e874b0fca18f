# SPDX-License-Identifier: Apache-2.0
"""Yolk's strategies and Kernel Tuner's on the same recorded surfaces: one table of fractions of the optimum."""

import argparse
import importlib.metadata
import json
import math
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import surfaces
from runs import FOLDER, Job, Kept, build_of, key_of, run_all

BUDGETS = (25, 50, 100, 200)
YOLK = ("natural", "bayes", "greedy", "anneal", "genetic", "eggroll", "smoothed", "random", "exhaustive")
TARGETS = {50: 0.88, 100: 0.945, 200: 0.98}  # of natural's mean over the six
LOW_TARGETS = {name: 0.88 if name == "conv. A100" else 0.95 for name in surfaces.SIX}  # tenth percentile at 200
SCOUTS = 5  # searches of every strategy of Kernel Tuner
CHUNK = 5  # searches per process


@dataclass
class Cell:
    """Of one strategy on one surface: mean and standard error at BUDGETS, tenth percentile at the last."""

    mean: list
    error: list
    p10: float
    repeats: int


def percentile(values, share):
    values = sorted(values)
    at = share * (len(values) - 1)
    below = int(at)
    above = min(below + 1, len(values) - 1)
    return values[below] + (at - below) * (values[above] - values[below])


def cell_of_curves(curves):
    at = [[curve[budget - 1] for curve in curves] for budget in BUDGETS]
    root = math.sqrt(len(curves))
    errors = [statistics.stdev(values) / root if len(values) > 1 else 0.0 for values in at]
    return Cell([statistics.fmean(values) for values in at], errors, percentile(at[-1], 0.1), len(curves))


def cell_of_yolk(row):
    at = [row["budgets"].index(budget) for budget in BUDGETS]
    picked = {name: [row[name][i] for i in at] for name in ("mean", "standard_error", "p10")}
    return Cell(picked["mean"], picked["standard_error"], picked["p10"][-1], row["repeats"])


class Comparison:
    """Jobs and their kept answers, over `recordings`: name -> file."""

    def __init__(self, options, recordings):
        self.options = options
        self.recordings = recordings
        self.out = Path(options.out)
        self.kept = Kept(self.out / "runs.jsonl", options.any_build)
        self.caches = self.out / "caches"
        self.caches.mkdir(parents=True, exist_ok=True)
        self.build = build_of(options.yolk)
        self.kernel_tuner_version = importlib.metadata.version("kernel_tuner")

    def cache(self, surface):
        """The surface as a plain cache below the output folder: read by both sides."""
        path = self.caches / (self.recordings[surface].split(".")[0].replace("/", "_") + ".json")
        if not path.exists():
            surfaces.write(surfaces.read(Path(self.options.data) / self.recordings[surface]), path)
        return str(path)

    def yolk_job(self, surface, strategy):
        repeats = 1 if strategy == "exhaustive" else self.options.repeats
        flags = ["--strategy", strategy, "--budget", BUDGETS[-1], "--repeats", repeats, "--seed", 1]
        command = [self.options.yolk, "tune", "surface", self.cache(surface), *flags, "--threads", 1, "--json"]
        key = key_of(tool="yolk", surface=surface, flags=flags)
        return Job(key, tuple(str(word) for word in command), f"yolk {strategy}, {surface}", self.build)

    def kernel_tuner_jobs(self, surface, strategy, repeats):
        jobs = []
        for seed in range(1, repeats + 1, CHUNK):
            flags = ["--strategy", strategy, "--budget", BUDGETS[-1], "--seed", seed]
            flags += ["--repeats", min(CHUNK, repeats + 1 - seed)]
            script = FOLDER / "kernel_tuner_replay.py"
            command = [sys.executable, script, "--cache", self.cache(surface), *flags]
            key = key_of(tool="kernel_tuner", version=self.kernel_tuner_version, surface=surface, flags=flags)
            jobs.append(Job(key, tuple(str(word) for word in command), f"{strategy}, {surface}, from seed {seed}"))
        return jobs

    def run(self, jobs):
        run_all(jobs, self.kept, self.options.jobs, self.options.limit)

    def kernel_tuner_names(self):
        script = str(FOLDER / "kernel_tuner_replay.py")
        said = subprocess.run([sys.executable, script, "--list"], capture_output=True, text=True, check=True)
        return json.loads(said.stdout)

    def yolk_cells(self, strategy):
        """By surface; what has not run or failed is absent."""
        cells = {}
        for surface in self.recordings:
            answer = self.kept.of(self.yolk_job(surface, strategy))
            rows = [row for row in answer.get("rows", ()) if not row["interrupted"]]
            if rows:
                cells[surface] = cell_of_yolk(rows[-1])
        return cells

    def kernel_tuner_cells(self, strategy, repeats):
        cells = {}
        for surface in self.recordings:
            jobs = self.kernel_tuner_jobs(surface, strategy, repeats)
            answers = [self.kept.of(job) for job in jobs]
            curves = [row["curve"] for answer in answers for row in answer.get("rows", ())]
            if len(curves) >= min(repeats, SCOUTS):  # where not all have run yet, those that have
                cells[surface] = cell_of_curves(curves)
        return cells

    def failures(self, strategy):
        jobs = [job for surface in self.recordings for job in self.kernel_tuner_jobs(surface, strategy, SCOUTS)]
        failed = (self.kept.of(job).get("failed") for job in jobs)
        return sorted({why for why in failed if why})

    def best_of_kernel_tuner(self):
        """The strategies with the largest mean over surfaces and budgets of their first searches."""
        scored = []
        for strategy in self.kernel_tuner_names():
            cells = self.kernel_tuner_cells(strategy, SCOUTS)
            if len(cells) == len(self.recordings):
                scored.append((statistics.fmean(value for cell in cells.values() for value in cell.mean), strategy))
        return [strategy for _, strategy in sorted(scored, reverse=True)[: self.options.best]]


def over_all(cells):
    """Mean over the surfaces, with its standard error, at each budget; None where one is missing."""
    if len(cells) < len(surfaces.SIX):
        return None
    count = len(cells)
    means = [statistics.fmean(cell.mean[i] for cell in cells.values()) for i in range(len(BUDGETS))]
    errors = [math.sqrt(sum(cell.error[i] ** 2 for cell in cells.values())) / count for i in range(len(BUDGETS))]
    return means, errors


def signs(ours, our_errors, theirs, their_errors):
    """Per budget: + ours above by more than two standard errors of the difference, - below by more, = within."""
    out = ""
    for a, da, b, db in zip(ours, our_errors, theirs, their_errors):
        twice = 2.0 * math.hypot(da, db)
        out += "+" if a - b > twice else "-" if b - a > twice else "="
    return out


def short(value):
    return "1.0" if value >= 0.9995 else f"{value:.3f}"[1:]


def line(cells):
    return "| " + " | ".join(cells) + " |"


def row_of(name, cells, natural):
    row = [name]
    for surface in surfaces.SIX:
        cell = cells.get(surface)
        row.append(" ".join(map(short, cell.mean)) + "; " + short(cell.p10) if cell else "-")
    total, ours = over_all(cells), over_all(natural)
    row.append(" ".join(map(short, total[0])) if total else "-")
    row.append(" ".join(f"{error:.3f}"[1:] for error in total[1]) if total else "-")
    row.append(str(min(cell.repeats for cell in cells.values())) if cells else "0")
    row.append(signs(*ours, *total) if total and ours and cells is not natural else "")
    return line(row)


def lost_on(name, cells, natural):
    """Sentences: where a single surface's mean is above natural's by more than two standard errors."""
    for surface, cell in cells.items():
        if surface not in natural or cells is natural:
            continue
        ours = natural[surface]
        for i, sign in enumerate(signs(ours.mean, ours.error, cell.mean, cell.error)):
            if sign == "-":
                yield (
                    f"- {name} is above natural on {surface} at {BUDGETS[i]}: {short(cell.mean[i])} +- "
                    f"{cell.error[i]:.3f} against {short(ours.mean[i])} +- {ours.error[i]:.3f}"
                )


def targets_of(natural):
    total = over_all(natural)
    if total is None:
        return ["natural is not measured on all six yet"]
    lines = []
    for budget, target in TARGETS.items():
        mean = total[0][BUDGETS.index(budget)]
        lines.append(f"- mean at {budget}: {mean:.4f}, target {target}: {'met' if mean >= target else 'MISSED'}")
    for surface, target in LOW_TARGETS.items():
        p10 = natural[surface].p10
        met = "met" if p10 >= target else "MISSED"
        lines.append(f"- tenth percentile at 200, {surface}: {p10:.3f}, target {target}: {met}")
    return lines


def table(comparison):
    natural = comparison.yolk_cells("natural")
    rows = [(f"yolk {strategy}", comparison.yolk_cells(strategy)) for strategy in YOLK[1:]]
    best = comparison.best_of_kernel_tuner()
    for strategy in best:
        cells = comparison.kernel_tuner_cells(strategy, comparison.options.kernel_tuner_repeats)
        rows.append((f"KT {strategy}", cells))
    others = [strategy for strategy in comparison.kernel_tuner_names() if strategy not in best]
    rows += [(f"KT {strategy}", comparison.kernel_tuner_cells(strategy, SCOUTS)) for strategy in others]
    heading = ["strategy", *surfaces.SIX, "mean", "standard error", "repeats", "natural against it"]
    lines = [line(heading), "|" + "---|" * len(heading), row_of("yolk natural", natural, natural)]
    lines += [row_of(name, cells, natural) for name, cells in rows if cells]
    lines += ["", "Targets:", *targets_of(natural), ""]
    losses = [text for name, cells in rows for text in lost_on(name, cells, natural)]
    lines += ["Single surfaces:", *(losses or ["- none is above natural anywhere"]), ""]
    for strategy in others:
        lines += [f"- KT {strategy} failed: {why}" for why in comparison.failures(strategy)]
    return "\n".join(lines)


def rows(comparison):
    """A row per strategy that ran on all six: means over the six and their standard errors, by budget."""
    found = [(f"yolk {name}", comparison.yolk_cells(name)) for name in YOLK]
    best = comparison.best_of_kernel_tuner()
    for name in comparison.kernel_tuner_names():
        repeats = comparison.options.kernel_tuner_repeats if name in best else SCOUTS
        found.append((f"KT {name}", comparison.kernel_tuner_cells(name, repeats)))
    for name, cells in found:
        total = over_all(cells)
        if total:
            searches = min(cell.repeats for cell in cells.values())
            yield {"strategy": name, "budgets": BUDGETS, "means": total[0], "errors": total[1], "searches": searches}


def parser_of(description, kernel_tuner_repeats):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", required=True, help="folder with gemm/ and convolution/ of the recordings")
    parser.add_argument("--yolk", default="build/release/cli/yolk")
    parser.add_argument("--out", required=True, help="folder for caches, finished runs and the table")
    parser.add_argument("--repeats", type=int, default=100, help="searches of each of Yolk's strategies")
    parser.add_argument("--kernel-tuner-repeats", type=int, default=kernel_tuner_repeats,
                        help="of the best of Kernel Tuner's")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at the same time")
    parser.add_argument("--limit", type=int, default=600, help="seconds for one of them")
    parser.add_argument("--any-build", action="store_true", help="keep what another build of yolk found")
    return parser


def one_core_each():
    """The number of processes is the number of cores that are used."""
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")


def main():
    parser = parser_of(__doc__, kernel_tuner_repeats=30)
    parser.add_argument("--best", type=int, default=5, help="how many of them")
    parser.add_argument("--parts", default="yolk,scout,best", help="what to run; the table is of all that was run")
    parser.add_argument("--json", action="store_true", help="print one object per strategy instead of the table")
    options = parser.parse_args()
    one_core_each()
    comparison = Comparison(options, surfaces.SIX)
    parts = options.parts.split(",")
    if "yolk" in parts:
        comparison.run([comparison.yolk_job(surface, strategy) for strategy in YOLK for surface in surfaces.SIX])
    if "scout" in parts:
        names = comparison.kernel_tuner_names()
        comparison.run(
            [job for name in names for surface in surfaces.SIX
             for job in comparison.kernel_tuner_jobs(surface, name, SCOUTS)]
        )  # fmt: skip
    if "best" in parts:
        of_each = [comparison.kernel_tuner_jobs(surface, name, options.kernel_tuner_repeats)
                   for name in comparison.best_of_kernel_tuner() for surface in surfaces.SIX]  # fmt: skip
        comparison.run([job for together in zip(*of_each) for job in together])  # all of them advance together
    text = table(comparison)
    (comparison.out / "table.md").write_text(text + "\n")
    if options.json:
        text = "\n".join(map(json.dumps, rows(comparison)))
    print(text)


if __name__ == "__main__":
    sys.exit(main())
