# SPDX-License-Identifier: Apache-2.0
"""Adam steps per second of a 32-64-64-8 network with tanh over 64 examples: PyTorch, computeml, ferrotensor, yolk.

Each side takes turns in a process of its own, on the cores this process may use. Run it with the Python that has the
peers; a side that is missing is a row that says so.
"""

import argparse
import json
import statistics
import sys

import turns

WIDTHS = (32, 64, 64, 8)
EXAMPLES = 64
RATE = 1e-3  # yolk's default; betas and epsilon are those of the paper on all sides
STEPS = 200  # after which losses are compared


def data():
    import numpy as np

    draw = np.random.default_rng(42)
    x = draw.standard_normal((EXAMPLES, WIDTHS[0]), dtype=np.float32)
    y = np.tanh(draw.standard_normal((EXAMPLES, WIDTHS[-1]), dtype=np.float32))
    weights = [
        draw.standard_normal((out, fan), dtype=np.float32) / np.float32(fan) ** 0.5
        for fan, out in zip(WIDTHS, WIDTHS[1:])
    ]
    return x, y, weights


def torch_side(compiled):
    torch = turns.torch_here()
    place = torch.get_default_device()
    x, y, weights = data()
    x, y = torch.from_numpy(x).to(place), torch.from_numpy(y).to(place)
    weights = [torch.from_numpy(w).to(place).requires_grad_() for w in weights]
    optimizer = torch.optim.Adam(weights, lr=RATE)

    def loss_of(h):
        for w in weights:
            h = torch.tanh(h @ w.T)
        return ((h - y) ** 2).sum() / EXAMPLES

    if compiled:
        loss_of = torch.compile(loss_of)

    def step():
        optimizer.zero_grad()
        loss = loss_of(x)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, turns.torch_device_name(torch)


def computeml_side():
    import computeml

    x, y, weights = data()
    context = computeml.Context()
    x, y = context.from_numpy(x), context.from_numpy(y)
    weights = [context.from_numpy(w).requires_grad_() for w in weights]
    optimizer = computeml.optim.AdamW(weights, lr=RATE, weight_decay=0.0)

    def step():
        optimizer.zero_grad()
        h = x
        for w in weights:
            h = computeml.ops.tanh(computeml.ops.matmul(h, w, transpose_b=True))
        loss = computeml.ops.mse_loss(h, y)
        loss.backward()
        optimizer.step()
        # The mean over elements; the others sum over outputs. Adam's steps are the same but for epsilon.
        value = float(loss.numpy().reshape(-1)[0]) * WIDTHS[-1]
        context.clear_tape()
        return value

    return step, f"computeml {computeml.version('computeml')}, {context.device_name}"


def ferrotensor_side():
    import ferrotensor
    from ferrotensor import optim

    x, y, weights = data()
    device = "gpu"
    x, y = (ferrotensor.tensor(each.tolist(), device=device) for each in (x, y))
    weights = [ferrotensor.tensor(w.T.tolist(), device=device, requires_grad=True) for w in weights]
    optimizer = optim.AdamW(weights, lr=RATE, weight_decay=0.0)

    def step():
        optimizer.zero_grad()
        h = x
        for w in weights:
            h = (h @ w).tanh()
        d = h - y
        loss = (d * d).sum() / EXAMPLES
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, "ferrotensor on its gpu"


SIDES = {
    "torch": lambda: torch_side(False),
    "torch.compile": lambda: torch_side(True),
    "computeml": computeml_side,
    "ferrotensor": ferrotensor_side,
}


def serve(side, seconds):
    """One row: the first loss, the loss after some steps, then steps for some seconds."""
    step, device = SIDES[side]()
    losses = [step() for _ in range(STEPS + 1)]
    rate = statistics.median(turns.rate_for(step, seconds / 3) for _ in range(3))
    print(json.dumps({"steps_per_second": rate, "loss_before": losses[0], "loss": losses[-1], "how": device}))


def yolk_row(options):
    row, peak = turns.yolk_row(options, f"^hyper_optimize/32-64-64-8x64/.*{options.driver}.*/adam/iterations")
    time = row["real_time"] * turns.SECONDS[row["time_unit"]]
    return {"steps_per_second": 1.0 / time, "how": "System::optimize", "peak_memory_bytes": peak}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    turns.add_options(parser)
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--sides", default=",".join(SIDES), help="separated by commas")
    options = parser.parse_args()
    if options.side:
        return serve(options.side, options.seconds)
    turns.prepare(options)
    sides = {"yolk": lambda: yolk_row(options)}
    for side in filter(None, options.sides.split(",")):
        arguments = ["--side", side, "--seconds", str(options.seconds)]
        python = dict(options.python).get(side, sys.executable)
        sides[side] = lambda arguments=arguments, python=python: turns.own_turn(__file__, arguments, python)
    made, failed = turns.in_turns(sides, options.rounds)
    turns.show_sides(made, failed, "steps_per_second", options, ("loss_before", "loss", "how"))
    return None


if __name__ == "__main__":
    main()
