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
STEPS = ("plain", "identity", "inverse-sqrt", "natural")
RATES = {
    ("smoothed", "plain"): (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0),
    ("smoothed", "inverse-sqrt"): (0.01, 0.03, 0.1, 0.3, 1.0, 3.0),
    ("smoothed", "natural"): (0.1, 0.3, 1.0, 3.0, 10.0, 30.0),
    ("eggroll", "plain"): (0.1, 0.3, 1.0, 3.0, 10.0, 30.0),
    ("eggroll", "inverse-sqrt"): (0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
    ("eggroll", "natural"): (0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
}
VALLEY = "valley 100:1"  # ratio of the curvatures
CHOOSING_SEED = 100_001  # searches of the report begin at seed 1
CONSTANT_SEED = 200_001
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
        command = [self.options.yolk, "tune", "surface", self.caches[surface], *flags, "--threads", 1, "--json"]
        key = key_of(surface=surface, flags=flags)
        label = " ".join(str(flag) for flag in flags[:6]) + f", {surface}"
        return Job(key, tuple(str(word) for word in command), label, self.build)

    def choosing(self, surface, strategy, step, rate):
        flags = ["--strategy", strategy, "--step", step, "--lr", rate]
        return self.job(surface, flags, self.options.choosing_budget, self.options.choosing_repeats, CHOOSING_SEED)

    def constant(self, surface, strategy, step, rate):
        """At the tuner's own budget, for the one rate of all surfaces: other seeds again."""
        flags = ["--strategy", strategy, "--step", step, "--lr", rate]
        return self.job(surface, flags, SHOWN[-1], self.options.constant_repeats, CONSTANT_SEED)

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

    def constants_of(self, strategy, step):
        """What the one rate of all surfaces is chosen by; the searches for choosing as long as these have not run."""
        tried = [(surface, strategy, step, rate) for surface in self.caches for rate in RATES[strategy, step]]
        return self.constant if all(self.row(self.constant(*one)) for one in tried) else self.choosing

    def shown_mean(self, strategy, step, rate):
        """Mean fraction over all surfaces and SHOWN, and a bound on its standard error."""
        searches = self.constants_of(strategy, step)
        rows = [self.row(searches(surface, strategy, step, rate)) for surface in self.caches]
        if None in rows:
            return None
        at = [rows[0]["budgets"].index(budget) for budget in SHOWN]
        mean = statistics.fmean(row["mean"][i] for row in rows for i in at)
        # Of one surface at the budget where it is largest: fractions of one search at its budgets go together.
        errors = [max(row["standard_error"][i] for i in at) for row in rows]
        return mean, math.sqrt(sum(error**2 for error in errors)) / len(errors)

    def best_constant(self, strategy, step):
        scored = [(self.shown_mean(strategy, step, rate), rate) for rate in RATES[strategy, step]]
        return max(((score, rate) for score, rate in scored if score is not None), default=(None, None))[1]

    def reported_flags(self, surface, strategy, step):
        return ["--strategy", strategy, "--step", step, "--lr", self.best_rate(surface, strategy, step)]


def count(row, name, budget):
    if row is None:
        return "-"
    return str(row[name]) if row[name] else f">{budget}"


def times_fewer(plain, other, budget):
    """Measurements to .95 of the plain gradient over another's and, where one is not reached, < or > for a bound; None
    where neither is."""
    a, b = plain["evaluations_to_95"], other["evaluations_to_95"]
    if not a and not b:
        return None
    return (a or budget) / (b or budget), ">" if not a else "<" if not b else ""


def convergence_table(recipe):
    """Measurements to .90 / .95 of the mean curve, and how many times fewer than with the plain gradient."""
    budget = recipe.options.budget
    heading = ["strategy", "step", *recipe.caches, "geometric mean"]
    lines = ["| " + " | ".join(heading) + " |", "|" + "---|" * len(heading)]
    for strategy, step in itertools.product(STRATEGIES, STEPS):
        cells, ratios = [], []
        for surface in recipe.caches:
            row, plain = (
                recipe.row(recipe.reporting(surface, recipe.reported_flags(surface, strategy, one)))
                for one in (step, "plain")
            )
            cell = " / ".join(count(row, f"evaluations_to_{n}", budget) for n in (90, 95))
            times = times_fewer(plain, row, budget) if row and plain and step != "plain" else None
            if times:
                ratios.append(times[0])
                cell += f", {times[1]}{times[0]:.2f} x"
            cells.append(f"{cell} (lr {recipe.best_rate(surface, strategy, step):g})")
        cells.append(f"{statistics.geometric_mean(ratios):.2f} x" if ratios else "")
        lines.append("| " + " | ".join([strategy, step, *cells]) + " |")
    for strategy in ("natural", "random"):
        rows = [recipe.row(recipe.compared(surface, strategy)) for surface in recipe.caches]
        cells = [" / ".join(count(row, f"evaluations_to_{n}", budget) for n in (90, 95)) for row in rows]
        lines.append("| " + " | ".join([f"`{strategy}`", "", *cells, ""]) + " |")
    return lines


def constants_table(recipe):
    """Mean fraction over all surfaces and SHOWN for each rate."""
    lines = ["", "| strategy | step | rate: mean fraction | standard error below | best |", "|---|---|---|---|---|"]
    for (strategy, step), rates in RATES.items():
        scores = [(rate, recipe.shown_mean(strategy, step, rate)) for rate in rates]
        said = ", ".join(f"{rate:g}: " + ("-" if score is None else f"{score[0]:.4f}") for rate, score in scores)
        error = max((score[1] for _, score in scores if score), default=0.0)
        best = recipe.best_constant(strategy, step)
        lines.append(f"| {strategy} | {step} | {said} | {error:.4f} | {'-' if best is None else f'{best:g}'} |")
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
    parser.add_argument("--constant-repeats", type=int, default=40)
    parser.add_argument("--parts", default="choose,report,constants", help="what to run; the tables are of all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at the same time")
    parser.add_argument("--limit", type=int, default=3600, help="seconds for one of them")
    parser.add_argument("--any-build", action="store_true", help="keep what another build of yolk found")
    options = parser.parse_args()
    recipe = Recipe(options)
    parts = options.parts.split(",")
    rates = [(strategy, step, rate) for (strategy, step), tried in RATES.items() for rate in tried]
    if "choose" in parts:
        recipe.run([recipe.choosing(surface, *tried) for surface in recipe.caches for tried in rates])
    if "report" in parts:
        compared = [recipe.compared(surface, name) for surface in recipe.caches for name in ("random", "natural")]
        recipe.run(
            [recipe.reporting(surface, recipe.reported_flags(surface, strategy, step)) for surface in recipe.caches
             for strategy in STRATEGIES for step in STEPS] + compared
        )  # fmt: skip
    if "constants" in parts:
        recipe.run([recipe.constant(surface, *tried) for tried in rates for surface in recipe.caches])
    text = "\n".join([*convergence_table(recipe), *constants_table(recipe), "", exact_gradient()])
    (recipe.out / "recipe.md").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    sys.exit(main())
