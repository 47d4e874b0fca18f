# SPDX-License-Identifier: Apache-2.0
"""Populations of a three-layer tanh system: yolk beside hyperfunc's own evaluate_population, and beside torch's vmap.

Two comparisons, each with the sides in turn, every turn in a process of its own:
  8-16-16-4 over 8 examples     hyperfunc (PyPI), its population evaluation as it is
  32-64-64-8 over 64 examples   torch.func.vmap, the perturbed weights formed (W + sigma A B^T, inside the timed part)

Run it with the Python that has both: it starts itself once per turn.
"""

import argparse
import asyncio
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

POPULATION = 4096
SIGMA = 0.05
SIZES = {"hyperfunc": (8, 16, 4, 8), "vmap": (32, 64, 8, 64)}  # inputs, hidden, outputs, examples


def layer_shapes(inputs, hidden, outputs):
    return [(hidden, inputs), (hidden, hidden), (outputs, hidden)]


def repeated(run, seconds):
    """Candidates per second of whole populations: the first warms up, the rest fill the time."""
    run()
    count, started = 0, time.perf_counter()
    while count == 0 or time.perf_counter() - started < seconds:
        run()
        count += 1
    return POPULATION * count / (time.perf_counter() - started)


def hyperfunc_rate(seconds):
    import torch
    from hyperfunc import Example, HyperSystem, LoRAWeight, hyperfunction

    inputs, hidden, outputs, examples = SIZES["hyperfunc"]
    types = [LoRAWeight.create(out, into, noise_rank=1) for out, into in layer_shapes(inputs, hidden, outputs)]

    @hyperfunction(hp_type=types[0], optimize_hparams=True)
    async def first(x, hp):
        return torch.tanh(hp.weight @ x)

    @hyperfunction(hp_type=types[1], optimize_hparams=True)
    async def second(x, hp):
        return torch.tanh(hp.weight @ x)

    @hyperfunction(hp_type=types[2], optimize_hparams=True)
    async def third(x, hp):
        return torch.tanh(hp.weight @ x)

    class Network(HyperSystem):
        async def run(self, x):
            return await third(await second(await first(x)))

    def metric(predictions, expected):
        return sum(-float(((p - e) ** 2).sum()) for p, e in zip(predictions, expected)) / len(predictions)

    torch.manual_seed(1)
    data = [Example({"x": torch.randn(inputs)}, torch.randn(outputs)) for _ in range(examples)]
    system = Network()

    async def timed():
        with torch.inference_mode():
            await system.evaluate(data, metric)  # registers the three
            base = system.get_hp_state()
            candidates = []
            for _ in range(POPULATION):
                noise = {k: torch.randn(w.shape[0], 1) @ torch.randn(1, w.shape[1]) for k, w in base.items()}
                candidates.append({k: w + SIGMA * noise[k] for k, w in base.items()})
            await system.evaluate_population(candidates[:64], data, metric)
            started = time.perf_counter()
            scores = await system.evaluate_population(candidates, data, metric)
            taken = time.perf_counter() - started
        if len(set(scores)) < POPULATION // 2:
            sys.exit("hyperfunc: the candidates' scores do not differ; they were not evaluated")
        return POPULATION / taken

    return asyncio.run(timed())


def vmap_rate(seconds):
    import torch

    inputs, hidden, outputs, examples = SIZES["vmap"]
    shapes = layer_shapes(inputs, hidden, outputs)
    torch.manual_seed(1)
    weights = [torch.randn(shape) / shape[1] ** 0.5 for shape in shapes]
    x, expected = torch.randn(examples, inputs), torch.randn(examples, outputs)

    def reward(*layers):
        y = x
        for weight in layers:
            y = torch.tanh(y @ weight.T)
        return -((y - expected) ** 2).sum(dim=1).mean()

    population = torch.func.vmap(reward)

    def run():
        formed = []
        for weight in weights:
            a, b = torch.randn(POPULATION, weight.shape[0], 1), torch.randn(POPULATION, 1, weight.shape[1])
            formed.append(torch.baddbmm(weight.expand(POPULATION, -1, -1), a, b, alpha=SIGMA))
        return population(*formed)

    with torch.inference_mode():
        member = [weight + SIGMA * torch.randn(weight.shape) for weight in weights]
        if not torch.allclose(population(*[w.expand(2, -1, -1) for w in member])[1], reward(*member), atol=1e-4):
            sys.exit("vmap: a member of the population has another reward than alone")
        return repeated(run, seconds)


def own_turn(side, seconds):
    rate = {"hyperfunc": hyperfunc_rate, "vmap": vmap_rate}[side](seconds)
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"rate": rate, "peak_memory_bytes": peak}))


def peer_turn(options, side):
    command = [sys.executable, __file__, "--turn", side, "--seconds", str(options.seconds)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if ran.returncode != 0:
        sys.exit(f"{side} ended with {ran.returncode}:\n{ran.stderr[-2000:]}")
    return json.loads(ran.stdout.splitlines()[-1])


def yolk_turn(options, side):
    """yolk_bench over this network; its rates by name, and its peak."""
    inputs, hidden, outputs, examples = SIZES[side]
    network = f"hyper_population/{inputs}-{hidden}-{hidden}-{outputs}x{examples}/"
    which = f"(.*{options.device}.*/population/chunk:{options.chunk}|.*/one_by_one)"
    command = [*options.yolk_bench.split(), f"--benchmark_filter={network}{which}", "--benchmark_format=json"]
    command += [f"--benchmark_min_time={options.seconds}"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)} ended with {status}")
    rows = json.loads(text)["benchmarks"]
    rates = {row["name"].removeprefix(network): row["items_per_second"] for row in rows if "items_per_second" in row}
    if not any("population" in name for name in rates):
        sys.exit(f"yolk_bench gave no population: {[row.get('error_message', row['name']) for row in rows]}")
    return {"rates": rates, "peak_memory_bytes": 1024 * usage.ru_maxrss}


def compare(options, side):
    turns = [(yolk_turn(options, side), peer_turn(options, side)) for _ in range(options.rounds)]
    rates = {name: statistics.median(yolk["rates"][name] for yolk, _ in turns) for name in turns[0][0]["rates"]}
    row = {
        "network": "-".join(map(str, (*SIZES[side][:2], *SIZES[side][1:3]))) + f" x {SIZES[side][3]}",
        "peer": side,
        "peer_candidates_per_second": statistics.median(peer["rate"] for _, peer in turns),
        "peer_peak_memory_bytes": max(peer["peak_memory_bytes"] for _, peer in turns),
        "yolk_candidates_per_second": rates,
        "yolk_peak_memory_bytes": max(yolk["peak_memory_bytes"] for yolk, _ in turns),
    }
    fastest = max(rate for name, rate in rates.items() if "population" in name)
    row["ratio"] = fastest / row["peer_candidates_per_second"]
    row["ratio_to_one_by_one"] = fastest / max(rate for name, rate in rates.items() if "one_by_one" in name)
    return row


def shown(row):
    print(f"{row['network']}, population {POPULATION}")
    for name, rate in row["yolk_candidates_per_second"].items():
        print(f"  yolk {name:60} {rate:12,.0f} candidates/s")
    print(f"  {row['peer']:65} {row['peer_candidates_per_second']:12,.0f} candidates/s")
    print(f"  yolk over {row['peer']}: {row['ratio']:.2f}; over its own one by one: {row['ratio_to_one_by_one']:.1f}")
    peaks = (row["yolk_peak_memory_bytes"] >> 20, row["peer_peak_memory_bytes"] >> 20)
    print(f"  peak memory: yolk {peaks[0]} MiB, {row['peer']} {peaks[1]} MiB", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    repository = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--yolk-bench", default=str(repository / "build/bench/bench/yolk_bench"), metavar="COMMAND")
    parser.add_argument("--sides", default="hyperfunc,vmap", help="comma-separated (default: both)")
    parser.add_argument("--device", default="llvmpipe", help="part of yolk's driver's name (default: llvmpipe)")
    parser.add_argument("--chunk", type=int, default=1024, choices=(128, 1024, 4096), help="candidates per chunk")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0, help="per rate")
    parser.add_argument("--json", action="store_true", help="one object per comparison")
    parser.add_argument("--turn", choices=SIZES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.turn:
        return own_turn(options.turn, options.seconds)
    for side in options.sides.split(","):
        row = compare(options, side)
        print(json.dumps(row), flush=True) if options.json else shown(row)


if __name__ == "__main__":
    main()
