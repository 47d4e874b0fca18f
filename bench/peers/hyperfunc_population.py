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
import sys
import time

import turns

POPULATION = 4096
SIGMA = 0.05
SIZES = {"hyperfunc": (8, 16, 4, 8), "vmap": (32, 64, 8, 64)}  # inputs, hidden, outputs, examples


def layer_shapes(inputs, hidden, outputs):
    return [(hidden, inputs), (hidden, hidden), (outputs, hidden)]


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
    torch = turns.torch_here()
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
        rewards = population(*formed)
        turns.torch_waits(torch)
        return rewards

    with torch.inference_mode():
        member = [weight + SIGMA * torch.randn(weight.shape) for weight in weights]
        if not torch.allclose(population(*[w.expand(2, -1, -1) for w in member])[1], reward(*member), atol=1e-4):
            sys.exit("vmap: a member of the population has another reward than alone")
        return turns.rate_for(run, seconds, POPULATION, least=1)


def network_of(side):
    inputs, hidden, outputs, examples = SIZES[side]
    return f"{inputs}-{hidden}-{hidden}-{outputs}x{examples}"


def yolk_turn(options, side):
    """yolk_bench over this network: populations in every chunk size that it has, and candidates one by one."""
    network = f"hyper_population/{network_of(side)}/"
    name = f"^{network}(.*{options.driver}.*/|host/one_by_one)"
    rows, peak = turns.yolk_rows(options, name, options.seconds)
    names = {row: row.removeprefix(network).removesuffix("/real_time") for row in rows}
    return {"rates": {names[row]: rows[row]["items_per_second"] for row in rows}, "peak_memory_bytes": peak}


def named(rates, part):
    return {name: rate for name, rate in rates.items() if part in name}


def compare(options, side):
    """Medians of both sides' turns, and the ratios that they are judged by; a side that failed has none."""
    sides = {"yolk": lambda: yolk_turn(options, side)}
    sides[side] = lambda: turns.own_turn(
        __file__, ["--turn", side, "--seconds", str(options.seconds)], dict(options.python).get(side, sys.executable))
    made, failed = turns.in_turns(sides, options.rounds)
    row = {"network": network_of(side), "population": POPULATION, "peer": side, "failed": failed}
    if side not in failed:
        row["peer_candidates_per_second"] = turns.spread(made[side], "rate")
        row["peer_peak_memory_bytes"] = max(turn["peak_memory_bytes"] for turn in made[side])
    if "yolk" in failed:
        return row
    rates = {name: turns.spread([turn["rates"] for turn in made["yolk"]], name) for name in made["yolk"][0]["rates"]}
    row["yolk_candidates_per_second"] = rates
    row["yolk_peak_memory_bytes"] = max(turn["peak_memory_bytes"] for turn in made["yolk"])
    middles = {name: rate[0] for name, rate in rates.items()}
    populations, one_by_one = named(middles, "population"), named(middles, "one_by_one")
    default = next(iter(named(populations, "chunk:default").values()))
    row["default_over_best_chunk"] = default / max(populations.values())
    row["default_over_fastest_one_by_one"] = default / max(one_by_one.values())
    if side not in failed:
        row[f"default_over_{side}"] = default / row["peer_candidates_per_second"][0]
    return row


def shown(row):
    print(f"{row['network']}, population {row['population']}: candidates/s, median (lowest to highest)")
    rates = {f"yolk {name}": rate for name, rate in row.get("yolk_candidates_per_second", {}).items()}
    if "peer_candidates_per_second" in row:
        rates[row["peer"]] = row["peer_candidates_per_second"]
    for name, (middle, lowest, highest) in rates.items():
        print(f"  {name:50} {middle:12,.0f} ({lowest:,.0f} to {highest:,.0f})")
    for name, why in row["failed"].items():
        print(f"  {name:50} {why}")
    for name, ratio in row.items():
        if name.startswith("default_over"):
            print(f"  {name.replace('_', ' '):50} {ratio:12.2f}")
    for name in ("yolk", "peer"):
        if f"{name}_peak_memory_bytes" in row:
            print(f"  {name + ' peak memory':50} {row[f'{name}_peak_memory_bytes'] >> 20:12,} MiB", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    turns.add_options(parser, seconds=2.0)
    parser.add_argument("--sides", default="hyperfunc,vmap", help="comma-separated (default: both)")
    parser.add_argument("--turn", choices=SIZES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.turn:
        rate = {"hyperfunc": hyperfunc_rate, "vmap": vmap_rate}[options.turn](options.seconds)
        return print(json.dumps({"rate": rate}))
    turns.prepare(options)
    for side in options.sides.split(","):
        row = compare(options, side)
        print(json.dumps(row), flush=True) if options.json else shown(row)
    return None


if __name__ == "__main__":
    main()
