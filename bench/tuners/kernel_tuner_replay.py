# SPDX-License-Identifier: Apache-2.0
"""One strategy of Kernel Tuner on one cache, in simulation mode: a JSON line per search.

A measurement is a configuration that the search had not evaluated before; one that failed in the recording counts, one
that the space does not hold (Kernel Tuner answers it without a look at the cache) does not. A strategy that stops
before the budget is spent is started again with another seed, and what it evaluated before stays free.
"""

import argparse
import contextlib
import io
import json
import os
import random
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy
from constraint import FunctionConstraint
from kernel_tuner import tune_kernel
from kernel_tuner.interface import strategy_map

import surfaces

RESTARTS = 60  # of one search; some strategies end after a handful of measurements
IDLE_RESTARTS = 8  # in a row without a new configuration: the strategy has nothing left to say


def evaluated(surface, path, strategy, budget, seed):
    """Configurations in the order in which one run of the strategy asked for them, repeats included."""
    random.seed(seed)
    numpy.random.seed(seed % 2**32)
    known = surface.costs.keys()
    options = {} if strategy == "brute_force" else {"max_fevals": budget}  # it refuses a budget; the rest is cut off
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results, _ = tune_kernel(
            surface.kernel or "unnamed", "", (1,), [], surface.domains,
            restrictions=[FunctionConstraint(lambda *values: values in known)],
            strategy=strategy, strategy_options=options, cache=path, simulation_mode=True,
            quiet=True, seed=seed,
        )  # fmt: skip
    return [tuple(result[name] for name in surface.domains) for result in results]


def search(surface, path, strategy, budget, seed):
    """Fractions of the optimum after each measurement, how many the strategy made itself, and its restarts."""
    best, curve, seen, idle = float("inf"), [], set(), 0
    for restart in range(RESTARTS):
        before = len(curve)
        for values in evaluated(surface, path, strategy, budget, seed * 1000 + restart):
            if values in seen or len(curve) == budget:
                continue
            seen.add(values)
            cost = surface.costs[values]
            best = min(best, cost) if isinstance(cost, float) else best
            curve.append(surface.optimum / best)
        idle = idle + 1 if len(curve) == before else 0
        if len(curve) == budget or idle == IDLE_RESTARTS:
            break
    measured = len(curve)
    return curve + [curve[-1]] * (budget - measured), measured, restart


def searches(options, surface, cache):
    """Prints a line for each seed."""
    for seed in range(options.seed, options.seed + options.repeats):
        started = time.perf_counter()
        curve, measured, restarts = search(surface, cache, options.strategy, options.budget, seed)
        row = {"seed": seed, "measured": measured, "restarts": restarts, "seconds": time.perf_counter() - started}
        print(json.dumps({**row, "curve": [round(fraction, 6) for fraction in curve]}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="names of the strategies")
    parser.add_argument("--cache", help="as surfaces.write makes it")
    parser.add_argument("--strategy")
    parser.add_argument("--budget", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    if options.list:
        print(json.dumps(sorted(strategy_map)))
        return
    cache = str(Path(options.cache).resolve())
    surface = surfaces.read(cache)
    with tempfile.TemporaryDirectory() as folder:  # some strategies write caches of their own where they run
        os.chdir(folder)
        searches(options, surface, cache)
        os.chdir("/")


if __name__ == "__main__":
    sys.exit(main())
