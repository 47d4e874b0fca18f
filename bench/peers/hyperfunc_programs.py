# SPDX-License-Identifier: Apache-2.0
"""hyperfunc's three quick starts, written anew: the same programs under hyperfunc (PyPI) and under yolk.compat.hyperfunc.

  temperature   a score that is best at .5; 20 generations of 20
  xor           two layers of 4 and 1 without biases; 200 generations of 64, 4 examples
  xor_4096      the same; 10 generations of 4,096
  parallel      two steps that do not wait for each other, and a third of both; a population of 64, 3 examples

Run it with the Python that has hyperfunc and torch; yolk's package is found by PYTHONPATH. Sides take turns, every turn in
a process of its own. The seconds are those of `optimize` (of `evaluate_population` for parallel), the first run's tracing
and compiling included; `again` is a second run in the same process.
"""

import argparse
import asyncio
import json
import math
import random
import sys
import time

import turns

PROGRAMS = ("temperature", "xor", "xor_4096", "parallel")


def side_of(name):
    if name == "hyperfunc":
        import hyperfunc
        import torch
        return hyperfunc, torch
    from yolk.compat import hyperfunc
    return hyperfunc, hyperfunc.torch


def temperature(hf, torch, seed):
    @hf.hyperfunction(hp_type=hf.LMParam, optimize_hparams=True)
    async def closeness(x, hp):
        return -abs(hp.temperature - 0.5)

    class Score(hf.HyperSystem):
        async def run(self, x):
            return await closeness(x)

    system = Score(prompt_optimizer=hf.NoOpPromptOptimizer(),
                   system_optimizer=hf.ESHybridSystemOptimizer(steps=20, pop_size=20, sigma=0.1, lr=0.1))
    system.register_hyperfunction(closeness, hp_init=torch.tensor([0.7, 1.0, 0.0, 0.0, 0.25]))
    data = [hf.Example({"x": 0.0}, 0.0)]
    return system, data, lambda preds, expected: float(sum(preds)) / len(preds), 20 * 20


def xor(hf, torch, seed, steps=200, pop_size=64):
    @hf.hyperfunction(hp_type=hf.LoRAWeight.create(out_dim=4, in_dim=2, noise_rank=2), optimize_hparams=True)
    async def hidden_layer(x, hp):
        return torch.relu(x @ hp.weight.T)

    @hf.hyperfunction(hp_type=hf.LoRAWeight.create(out_dim=1, in_dim=4, noise_rank=2), optimize_hparams=True)
    async def output_layer(x, hp):
        return torch.sigmoid(x @ hp.weight.T)

    class Xor(hf.HyperSystem):
        async def run(self, x):
            output = await output_layer(await hidden_layer(x))
            return float(output.squeeze())

    def likelihood(preds, expected):
        kept = [min(max(float(p), 1e-7), 1.0 - 1e-7) for p in preds]
        return sum(math.log(p if e else 1.0 - p) for p, e in zip(kept, expected)) / len(kept)

    system = Xor(prompt_optimizer=hf.NoOpPromptOptimizer(),
                 system_optimizer=hf.ESHybridSystemOptimizer(steps=steps, pop_size=pop_size, sigma=0.3, lr=0.2, antithetic=True))
    draw = random.Random(seed)
    system.register_hyperfunction(hidden_layer, hp_init=torch.tensor([[draw.gauss(0, 0.5) for _ in range(2)] for _ in range(4)]))
    system.register_hyperfunction(output_layer, hp_init=torch.tensor([[draw.gauss(0, 0.5) for _ in range(4)]]))
    data = [hf.Example({"x": torch.tensor([a, b])}, float(a != b)) for a in (0.0, 1.0) for b in (0.0, 1.0)]
    return system, data, likelihood, steps * pop_size * 4


def xor_4096(hf, torch, seed):
    return xor(hf, torch, seed, steps=10, pop_size=4096)


def parallel(hf, torch, seed):
    @hf.hyperfunction(hp_type=hf.LMParam, optimize_hparams=True)
    async def step_a(x, hp):
        return x + 1

    @hf.hyperfunction(hp_type=hf.LMParam, optimize_hparams=True)
    async def step_b(x, hp):
        return x * 2

    @hf.hyperfunction(hp_type=hf.LMParam, optimize_hparams=True)
    async def step_c(a, b, hp):
        return a + b

    class Parallel(hf.HyperSystem):
        async def run(self, x):
            return await step_c(*await asyncio.gather(step_a(x), step_b(x)))

    system = Parallel(prompt_optimizer=hf.NoOpPromptOptimizer())
    data = [hf.Example({"x": x}, 3 * x + 1) for x in (1, 5, 10)]
    return system, data, lambda preds, expected: sum(p == e for p, e in zip(preds, expected)) / len(preds), 64 * 3


async def timed(program, hf, torch, seed):
    system, data, metric, evaluations = globals()[program](hf, torch, seed)
    start = await system.evaluate(data, metric)
    base = system.get_hp_state()
    began = time.perf_counter()
    if program == "parallel":
        reached = min(await system.evaluate_population([base] * 64, data, metric))
    else:
        await system.optimize(data, metric)
    seconds = time.perf_counter() - began
    if program != "parallel":
        reached = await system.evaluate(data, metric)
    where = getattr(system, "placement", {})
    return {"start": float(start), "reached": float(reached), "seconds": seconds, "evaluations": evaluations,
            "placement": "host" if any(one != "traced" for one in where.values()) else "traced" if where else "its own"}


def turn(side, program, seed):
    hf, torch = side_of(side)
    torch.manual_seed(seed)
    row = asyncio.run(timed(program, hf, torch, seed))
    again = asyncio.run(timed(program, hf, torch, seed + 1))
    row["evaluations_per_second"] = row["evaluations"] / row["seconds"]
    row["again"] = again["evaluations"] / again["seconds"]
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    turns.add_options(parser, rounds=3)
    parser.add_argument("--programs", default=",".join(PROGRAMS), help="comma-separated (default: all)")
    parser.add_argument("--turn", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.turn:
        return print(json.dumps(turn(options.turn[0], options.turn[1], int(options.turn[2]))))
    turns.prepare(options)
    for program in options.programs.split(","):
        seeds = {"yolk": iter(range(1, 1 + options.rounds)), "hyperfunc": iter(range(1, 1 + options.rounds))}
        sides = {side: (lambda side=side: turns.own_turn(
            __file__, ["--turn", side, program, str(next(seeds[side]))], dict(options.python).get(side, sys.executable)))
                 for side in seeds}
        made, failed = turns.in_turns(sides, options.rounds)
        for side, rows in made.items():
            if side in failed:
                row = {"program": program, "side": side, "failed": failed[side]}
                print(json.dumps(row) if options.json else f"{program:12} {side:10} {failed[side]}", flush=True)
                continue
            row = {"program": program, "side": side, "placement": rows[0]["placement"],
                   **{key: turns.spread(rows, key) for key in ("start", "reached", "seconds", "evaluations_per_second", "again")}}
            print(json.dumps(row) if options.json else shown(row), flush=True)
    return None


def shown(row):
    text = f"{row['program']:12} {row['side']:10} {row['placement']:8}"
    for key, digits in (("start", 3), ("reached", 3), ("seconds", 3), ("evaluations_per_second", 0), ("again", 0)):
        text += f"  {key.replace('_', ' ')} {row[key][0]:,.{digits}f} ({row[key][1]:,.{digits}f} to {row[key][2]:,.{digits}f})"
    return text


if __name__ == "__main__":
    main()
