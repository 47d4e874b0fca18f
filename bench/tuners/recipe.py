# SPDX-License-Identifier: Apache-2.0
"""The claim that M^-1/2 on a plain gradient converges five to ten times faster, beside what is measured.

Steps plain, identity (F^-1 with F = I), inverse-sqrt (M^-1/2) and natural (F^-1) of the strategies `eggroll` and
`smoothed`, each with learning rates from a grid. A rate is chosen per step and surface on some seeds and reported on
others; the best single rate over all surfaces is printed, too. Identity is the plain step but for its damping, and
takes the plain step's rate: what it measures is how far two runs of one method lie apart.
"""

import argparse
import itertools
import math
import os
import statistics
import sys
from pathlib import Path

import numpy

import surfaces
import valley
from runs import Job, Kept, build_of, key_of, run_all

STRATEGIES = ("smoothed", "eggroll")
CHOSEN = ("plain", "inverse-sqrt", "natural")  # steps with a rate of their own
STEPS = ("plain", "identity", "inverse-sqrt", "natural")
RATES = {
    ("smoothed", "plain"): (0.001, 0.003, 0.01, 0.03, 0.1, 0.3),
    ("smoothed", "inverse-sqrt"): (0.01, 0.03, 0.1, 0.3, 1.0, 3.0),
    ("smoothed", "natural"): (0.1, 0.3, 1.0, 3.0, 10.0, 30.0),
    ("eggroll", "plain"): (0.1, 0.3, 1.0, 3.0, 10.0, 30.0),
    ("eggroll", "inverse-sqrt"): (0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
    ("eggroll", "natural"): (0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
}
VALLEY = "valley 100:1"  # ratio of the curvatures
CHOOSING_SEED = 100_001  # searches of the report begin at seed 1
SHOWN = (25, 50, 100, 200)


class Recipe:
    def __init__(self, options):
        self.options = options
        self.out = Path(options.out)
        self.kept = Kept(self.out / "recipe.jsonl", options.any_build)
        self.build = build_of(options.yolk)
        self.caches = {}
        (self.out / "caches").mkdir(parents=True, exist_ok=True)
        for name, path in {VALLEY: None, **surfaces.SIX}.items():
            stem = "valley" if path is None else path.split(".")[0].replace("/", "_")
            self.caches[name] = self.out / "caches" / f"{stem}.json"
            if not self.caches[name].exists():
                read = valley.valley(400.0, 4.0) if path is None else surfaces.read(Path(options.data) / path)
                surfaces.write(read, self.caches[name])

    def job(self, surface, flags, budget, repeats, seed):
        flags = [*flags, "--budget", budget, "--repeats", repeats, "--seed", seed]
        command = [self.options.yolk, "tune", "--surface", self.caches[surface], *flags, "--threads", 1, "--json"]
        key = key_of(surface=surface, flags=flags)
        label = " ".join(str(flag) for flag in flags[:6]) + f", {surface}"
        return Job(key, tuple(str(word) for word in command), label, self.build)

    def choosing(self, surface, strategy, step, rate):
        flags = ["--strategy", strategy, "--step", step, "--lr", rate]
        return self.job(surface, flags, self.options.choosing_budget, self.options.choosing_repeats, CHOOSING_SEED)

    def reporting(self, surface, flags):
        return self.job(surface, flags, self.options.budget, self.options.repeats, 1)

    def compared(self, surface, strategy):
        """A strategy without a rate; `natural` is there long before 200."""
        flags = ["--strategy", strategy]
        if strategy == "natural":
            return self.job(surface, flags, 200, self.options.repeats, 1)
        return self.reporting(surface, flags)

    def run(self, jobs):
        run_all(jobs, self.kept, self.options.jobs, self.options.limit)

    def row(self, job):
        """The answer's last line, None where there is none."""
        rows = self.kept.of(job).get("rows", ())
        return rows[-1] if rows and not rows[-1]["interrupted"] else None

    def slowness(self, surface, strategy, step, rate):
        """What a rate is chosen by: measurements to .90 and to .95 together, one that is not reached as twice the
        budget; among equals the mean fraction."""
        row = self.row(self.choosing(surface, strategy, step, rate))
        if row is None:
            return (float("inf"), 0.0)
        never = 2 * self.options.choosing_budget
        return ((row["evaluations_to_90"] or never) + (row["evaluations_to_95"] or never), -row["mean"][-1])

    def best_rate(self, surface, strategy, step):
        step = "plain" if step == "identity" else step
        return min(RATES[strategy, step], key=lambda rate: self.slowness(surface, strategy, step, rate))

    def shown_mean(self, strategy, step, rate):
        """Mean fraction over all surfaces and SHOWN, on the seeds for choosing."""
        rows = [self.row(self.choosing(surface, strategy, step, rate)) for surface in self.caches]
        if None in rows:
            return None
        return statistics.fmean(row["mean"][row["budgets"].index(budget)] for row in rows for budget in SHOWN)

    def best_constant(self, strategy, step):
        scored = [(self.shown_mean(strategy, step, rate), rate) for rate in RATES[strategy, step]]
        return max(((score, rate) for score, rate in scored if score is not None), default=(None, None))[1]

    def reported_flags(self, surface, strategy, step):
        return ["--strategy", strategy, "--step", step, "--lr", self.best_rate(surface, strategy, step)]


def count(row, name, budget):
    if row is None:
        return "-"
    return str(row[name]) if row[name] else f">{budget}"


def ratio(plain, other, budget):
    """Measurements of the plain gradient over another's, to .95; a bound where one is not reached."""
    if plain is None or other is None:
        return "-"
    a, b = plain["evaluations_to_95"], other["evaluations_to_95"]
    if not a and not b:
        return "neither"
    sign = ">" if not a else "<" if not b else ""
    return f"{sign}{(a or budget) / (b or budget):.2f}"


def convergence_table(recipe):
    """Measurements to .90 / .95 of the mean curve, and how many times fewer than with the plain gradient."""
    budget = recipe.options.budget
    heading = ["strategy", "step", *recipe.caches]
    lines = ["| " + " | ".join(heading) + " |", "|" + "---|" * len(heading)]
    for strategy, step in itertools.product(STRATEGIES, STEPS):
        cells = []
        for surface in recipe.caches:
            row, plain = (
                recipe.row(recipe.reporting(surface, recipe.reported_flags(surface, strategy, one)))
                for one in (step, "plain")
            )
            cell = f"{count(row, 'evaluations_to_90', budget)} / {count(row, 'evaluations_to_95', budget)}"
            times = "" if step == "plain" else f"; x {ratio(plain, row, budget)}"
            cells.append(f"{cell}{times} (lr {recipe.best_rate(surface, strategy, step):g})")
        lines.append("| " + " | ".join([strategy, step, *cells]) + " |")
    for strategy in ("natural", "random"):
        rows = [recipe.row(recipe.compared(surface, strategy)) for surface in recipe.caches]
        cells = [f"{count(row, 'evaluations_to_90', budget)} / {count(row, 'evaluations_to_95', budget)}" for row in rows]
        lines.append("| " + " | ".join([f"`{strategy}`", "", *cells]) + " |")
    return lines


def constants_table(recipe):
    """Mean fraction over all surfaces and SHOWN for each rate, on the seeds for choosing."""
    lines = ["", "| strategy | step | rate: mean fraction |  best |", "|---|---|---|---|"]
    for (strategy, step), rates in RATES.items():
        scores = [(rate, recipe.shown_mean(strategy, step, rate)) for rate in rates]
        said = ", ".join(f"{rate:g}: " + ("-" if score is None else f"{score:.4f}") for rate, score in scores)
        best = recipe.best_constant(strategy, step)
        lines.append(f"| {strategy} | {step} | {said} | {'-' if best is None else f'{best:g}'} |")
    return lines


def exact_gradient(steep=400.0, flat=4.0, starts=200, samples=32):
    """Steps to .95 of the valley's optimum, mean over starts, with the gradient itself in place of measurements, each
    step's rate the best of a fine grid: what the claim is about, and what no tuner has."""
    draw = numpy.random.default_rng(1)
    curvature = numpy.diag([steep, flat, flat])
    lowest = numpy.array([place / (len(values) - 1) for place, values in zip(valley.LOWEST, valley.DOMAINS.values())])
    gradients = (draw.random((samples, 3)) - lowest) @ curvature
    values, vectors = numpy.linalg.eigh(numpy.cov(gradients.T))
    inverse_sqrt = vectors @ numpy.diag(values**-0.5) @ vectors.T
    begin = draw.random((starts, 3)) - lowest
    said = []
    for name, matrix in (("plain", numpy.eye(3)), ("inverse-sqrt", inverse_sqrt)):
        best = float("inf")
        for rate in 2.0 / numpy.linalg.eigvals(curvature @ matrix).real.max() * numpy.linspace(0.01, 0.99, 99):
            at, steps = begin.copy(), numpy.zeros(starts)
            for _ in range(500):
                far = 0.5 * numpy.einsum("si,ij,sj->s", at, curvature, at) > -math.log(0.95)
                if not far.any():
                    best = min(best, steps.mean())
                    break
                steps += far
                at[far] -= rate * at[far] @ curvature @ matrix
        said.append(f"{name} {best:.1f} steps")
    return "Exact gradients on the valley: " + ", ".join(said) + "."


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder with gemm/ and convolution/ of the recordings")
    parser.add_argument("--yolk", default="build/release/cli/yolk")
    parser.add_argument("--out", required=True, help="folder for caches, finished runs and the tables")
    parser.add_argument("--budget", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=24)
    parser.add_argument("--choosing-budget", type=int, default=500)
    parser.add_argument("--choosing-repeats", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at the same time")
    parser.add_argument("--limit", type=int, default=3600, help="seconds for one of them")
    parser.add_argument("--any-build", action="store_true", help="keep what another build of yolk found")
    parser.add_argument("--table", action="store_true", help="run nothing: the tables of what was run")
    options = parser.parse_args()
    recipe = Recipe(options)
    if not options.table:
        recipe.run(
            [recipe.choosing(surface, strategy, step, rate) for surface in recipe.caches for strategy in STRATEGIES
             for step in CHOSEN for rate in RATES[strategy, step]]
        )  # fmt: skip
        compared = [recipe.compared(surface, name) for surface in recipe.caches
                    for name in ("random", "natural")]  # fmt: skip
        recipe.run(
            [recipe.reporting(surface, recipe.reported_flags(surface, strategy, step)) for surface in recipe.caches
             for strategy in STRATEGIES for step in STEPS] + compared
        )  # fmt: skip
    text = "\n".join([*convergence_table(recipe), *constants_table(recipe), "", exact_gradient()])
    (recipe.out / "recipe.md").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    sys.exit(main())
