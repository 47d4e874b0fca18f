# SPDX-License-Identifier: Apache-2.0
"""A batched functional EGGROLL roll-out of CartPole in PyTorch: what `yolk bench rollout` is measured against.

The same work, from the same formulas: a 4-64-2 network with tanh, perturbed per member by
    y = (b + s sigma V) + x W^T + s (sigma / sqrt(r)) (x B) A^T
without forming A B^T; both sides s of a pair share one draw of A, B and V, made once per generation; the action is the
larger output; all members live for 500 forced steps, and an episode that ends starts again from its reset. fp32.

Arrays are [features, members]: then every elementwise operation runs over contiguous rows as long as the population,
and the state of the environment is the network's input without a copy. The members of a pair lie half a
population apart.
"""

import argparse
import functools
import json
import math
import os
import resource
import time
import warnings

import torch

STEPS = 500
WIDTHS = (4, 64, 2)
FEWEST_GENERATIONS = 3
SECONDS_TO_TIME = 1.0
FORMS = ("eager", "compiled", "graph")


def draw_noise(population, rank, sigma, device):
    """Per layer {"a": [r, out, members], "b": [r, in, members], "v": [out, members]}; a and v carry sign and scale."""
    both = lambda draw: torch.cat((draw, -draw), dim=-1)  # the side + of every pair, then the side -
    layers = []
    for inputs, outputs in zip(WIDTHS, WIDTHS[1:]):
        a = torch.randn(rank, outputs, population // 2, device=device).mul_(sigma / math.sqrt(rank))
        b = torch.randn(rank, inputs, population // 2, device=device)
        v = torch.randn(outputs, population // 2, device=device).mul_(sigma)
        layers.append({"a": both(a), "b": torch.cat((b, b), dim=-1), "v": both(v)})
    return layers


def forward(parameters, noise, x):
    """Outputs [2, members] for observations [4, members]. `noise` has the biases in v already (add_biases)."""
    for layer, ((weight, _), drawn) in enumerate(zip(parameters, noise)):
        y = torch.addmm(drawn["v"], weight, x)
        for a, b in zip(drawn["a"], drawn["b"]):
            y = torch.addcmul(y, (x * b).sum(0), a)
        x = torch.tanh(y) if layer == 0 else y
    return x


def add_biases(parameters, noise):
    """The perturbed biases, once per generation."""
    for (_, bias), drawn in zip(parameters, noise):
        drawn["v"] += bias[:, None]


def environment_step(state, push_right):
    """CartPole-v1's physics: the next state [4, members], and who has ended."""
    position, velocity, angle, spin = state.unbind(0)
    force = push_right.to(torch.float32) * 20.0 - 10.0
    cosine, sine = torch.cos(angle), torch.sin(angle)
    push = (force + 0.05 * spin * spin * sine) / 1.1
    turn = (9.8 * sine - cosine * push) / (0.5 * (4.0 / 3.0 - 0.1 * cosine * cosine / 1.1))
    acceleration = push - 0.05 * turn * cosine / 1.1
    state = torch.stack(
        (position + 0.02 * velocity, velocity + 0.02 * acceleration, angle + 0.02 * spin, spin + 0.02 * turn)
    )
    ended = (state[0].abs() > 2.4) | (state[2].abs() > 12.0 * 2.0 * math.pi / 360.0)
    return state, ended


def step(parameters, noise, start, state, total):
    """One evaluation of every member."""
    outputs = forward(parameters, noise, state)
    state, ended = environment_step(state, outputs[1] > outputs[0])
    return torch.where(ended, start, state), total + 1.0


def prepare(parameters, options, device):
    """What a generation begins with, drawn anew: noise, the reset [4, 1], the first state, returns of zero."""
    noise = draw_noise(options.population, options.rank, options.sigma, device)
    add_biases(parameters, noise)
    start = (torch.rand(WIDTHS[0], 1, device=device) - 0.5) * 0.1
    return (
        noise,
        start,
        start.expand(-1, options.population).contiguous(),
        torch.zeros(options.population, device=device),
    )


def generation(parameters, options, one_step, device):
    """The returns [members] of one generation."""
    noise, start, state, total = prepare(parameters, options, device)
    for _ in range(STEPS):
        state, total = one_step(parameters, noise, start, state, total)
    return total


class GraphedGeneration:
    """The same on a GPU, its steps captured as a CUDA graph: without the cost of launching each kernel."""

    STEPS_PER_GRAPH = 50

    def __init__(self, parameters, options, one_step, device):
        self.draw = functools.partial(prepare, parameters, options, device)
        self.noise, self.start, self.state, self.total = self.draw()
        advance = functools.partial(one_step, parameters, self.noise, self.start)
        side = torch.cuda.Stream()  # what is captured must have run before, on another stream
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                advance(self.state, self.total)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            state, total = self.state, self.total
            for _ in range(self.STEPS_PER_GRAPH):
                state, total = advance(state, total)
            self.state.copy_(state)
            self.total.copy_(total)

    def __call__(self):
        noise, start, state, total = self.draw()
        for mine, drawn in zip(self.noise, noise):
            for name in mine:
                mine[name].copy_(drawn[name])
        self.start.copy_(start)
        self.state.copy_(state)
        self.total.copy_(total)
        for _ in range(STEPS // self.STEPS_PER_GRAPH):
            self.graph.replay()
        return self.total


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


def time_generations(run, options, device):
    """Evaluations per second, and the generations that were timed. The warm-up compiles and fills the caches."""
    run()
    synchronize(device)
    seconds, timed = 0.0, 0
    while (
        timed < options.generations
        or not options.generations
        and (timed < FEWEST_GENERATIONS or seconds < SECONDS_TO_TIME)
    ):
        before = time.perf_counter()
        total = run()
        synchronize(device)
        seconds += time.perf_counter() - before
        timed += 1
        if total.sum().item() != options.population * STEPS:
            raise SystemExit("Not every member made all its steps, so the time means nothing.")
    return options.population * STEPS * timed / seconds, timed


def form_of(name, parameters, options, device):
    """What runs one generation: the operations one by one, fused by torch.compile, or that in a CUDA graph."""
    one_step = step if name == "eager" else torch.compile(step, dynamic=False)
    if name == "graph":
        return GraphedGeneration(parameters, options, one_step, device)
    return functools.partial(generation, parameters, options, one_step, device)


def check(options, device):
    """Holds the batched form against members whose weights are formed in full, in double precision."""
    noise = draw_noise(options.population, options.rank, options.sigma, device)
    parameters = make_parameters(device)
    x = torch.randn(WIDTHS[0], options.population, device=device) * 0.3
    formed = [(layer["a"].double(), layer["b"].double(), layer["v"].double().clone()) for layer in noise]
    add_biases(parameters, noise)
    outputs = forward(parameters, noise, x)
    worst = 0.0
    for member in range(options.population):
        value = x[:, member].double()
        for layer, ((weight, bias), (a, b, v)) in enumerate(zip(parameters, formed)):
            full = weight.double() + torch.einsum("ro,ri->oi", a[..., member], b[..., member])
            value = full @ value + bias.double() + v[:, member]
            value = torch.tanh(value) if layer == 0 else value
        worst = max(worst, (outputs[:, member].double() - value).abs().max().item())
        other = (member + options.population // 2) % options.population
        a, b = noise[0]["a"], noise[0]["b"]
        if not (torch.equal(a[..., member], -a[..., other]) and torch.equal(b[..., member], b[..., other])):
            raise SystemExit(f"Members {member} and {other} are no pair.")
    # Some 100 fp32 roundings of terms of a few units: 100 * 2^-24 * 4 is 2.4e-5.
    if not worst < 2.4e-5:
        raise SystemExit(f"The outputs are off by {worst}.")
    print(json.dumps({"check": "good", "largest_error": worst}))


def make_parameters(device):
    """No policy in particular, as in yolk's bench: the operations of a step do not depend on the values."""
    values = 0.3 * torch.sin(torch.arange(450, dtype=torch.float64) ** 2).to(torch.float32).to(device)
    parameters, at = [], 0
    for inputs, outputs in zip(WIDTHS, WIDTHS[1:]):
        weight = values[at : at + inputs * outputs].view(outputs, inputs)
        at += inputs * outputs
        parameters.append((weight.clone(), values[at : at + outputs].clone()))
        at += outputs
    return parameters


def peak_memory_bytes(device):
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return resident + (torch.cuda.max_memory_reserved() if device.type == "cuda" else 0)


def measure(options, device):
    """Rates by form; a form that this machine cannot run is told and left out."""
    parameters = make_parameters(device)
    rates, failures, timed = {}, {}, 0
    for name in FORMS if device.type == "cuda" else FORMS[:2]:
        if options.form not in (name, "all"):
            continue
        try:
            rates[name], timed = time_generations(form_of(name, parameters, options, device), options, device)
        except Exception as error:  # torch.compile fails in many ways where the compiler does not suit it
            if name == "eager":
                raise
            failures[name] = (str(error) or type(error).__name__).splitlines()[0]
        if not options.json and name in rates:
            print(f"{name}: {rates[name] / 1e6:.3f} million evaluations/s")
    if not rates:
        raise SystemExit(f"No form ran: {failures or 'graph needs --device cuda'}")
    return rates, failures, timed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--population", type=int, default=4096, help="members; even")
    parser.add_argument(
        "--generations", type=int, default=0, help="timed generations; 0: at least 3, at least a second"
    )
    parser.add_argument("--rank", type=int, default=1)
    parser.add_argument("--sigma", type=float, default=0.2)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: every core allowed")
    parser.add_argument("--form", choices=(*FORMS, "all"), default="all", help="all: the faster counts")
    parser.add_argument("--check", action="store_true", help="hold the batched form against formed weights, and stop")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.population < 2 or options.population % 2 or options.rank < 1 or options.generations < 0:
        parser.error("--population is an even number from 2 on, --rank is 1 or more, --generations 0 or more.")
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    device = torch.device(options.device)
    with torch.inference_mode(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if options.check:
            return check(options, device)
        rates, failures, timed = measure(options, device)
    fastest = max(rates, key=rates.get)
    outcome = {
        "bench": "rollout_pytorch",
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "population": options.population,
        "steps": STEPS,
        "repeats": timed,
        "evaluations_per_second": rates[fastest],
        "form": fastest,
        **{f"{name}_evaluations_per_second": rate for name, rate in rates.items()},
        **{f"{name}_failed": why for name, why in failures.items()},
        "peak_memory_bytes": peak_memory_bytes(device),
    }
    print(
        json.dumps(outcome)
        if options.json
        else f"fastest: {fastest}, peak memory {outcome['peak_memory_bytes'] / 2**20:.0f} MiB"
    )


if __name__ == "__main__":
    main()
