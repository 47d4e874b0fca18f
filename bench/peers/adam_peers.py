# SPDX-License-Identifier: Apache-2.0
"""Adam steps per second of a 32-64-64-8 network with tanh over 64 examples: PyTorch, computeml, ferrotensor, yolk.

Each side takes turns in a process of its own, on the cores this process may use. Run it with the Python that has the
peers; a side that is missing is a row that says so.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

WIDTHS = (32, 64, 64, 8)
EXAMPLES = 64
RATE = 1e-3  # yolk's default; betas and epsilon are those of the paper on all sides
QUIET_LOAD = 0.25  # of the last minute


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
    import torch

    x, y, weights = data()
    x, y = torch.from_numpy(x), torch.from_numpy(y)
    weights = [torch.from_numpy(w).requires_grad_() for w in weights]
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

    return step, f"torch {torch.__version__}, {torch.get_num_threads()} threads"


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
    """One row: the first loss, the loss after 200 steps, then steps for some seconds."""
    step, device = SIDES[side]()
    losses = [step() for _ in range(201)]
    rates = []
    for _ in range(3):
        started, steps = time.perf_counter(), 0
        while time.perf_counter() - started < seconds / 3:
            step()
            steps += 1
        rates.append(steps / (time.perf_counter() - started))
    row = {"device": device, "steps_per_second": statistics.median(rates), "loss": losses[0], "loss_200": losses[200]}
    print(json.dumps(row))


def yolk_row(program, driver):
    name = f"^hyper_optimize/32-64-64-8x64/{driver}.*/adam"
    ran = subprocess.run(
        [program, f"--benchmark_filter={name}", "--benchmark_format=json"], stdout=subprocess.PIPE, text=True, check=True
    )
    rows = json.loads(ran.stdout)["benchmarks"]
    unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    times = [row["real_time"] * unit[row["time_unit"]] for row in rows]
    return {"device": driver, "steps_per_second": 1.0 / statistics.median(times)}


def row_of(side, options):
    if side == "yolk":
        return yolk_row(options.yolk, options.driver)
    ran = subprocess.run(
        [sys.executable, __file__, "--side", side, "--seconds", str(options.seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if ran.returncode != 0:
        lines = (ran.stderr.strip() or f"ended with {ran.returncode}").splitlines()
        return {"failed": lines[-1][:200]}
    return json.loads(ran.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--sides", default="torch,torch.compile,computeml,ferrotensor", help="separated by commas")
    parser.add_argument("--rounds", type=int, default=3, help="times that each side runs")
    parser.add_argument("--seconds", type=float, default=3.0, help="that a turn is timed")
    parser.add_argument("--yolk", help="build/bench/bench/yolk_bench; without it yolk has no row")
    parser.add_argument("--driver", default="lavapipe", help="yolk's, as its benches are named")
    parser.add_argument("--busy", action="store_true", help="only warn on a busy machine")
    options = parser.parse_args()
    if options.side:
        return serve(options.side, options.seconds)
    load = os.getloadavg()[0]
    if load > QUIET_LOAD:
        told = f"The load average of the last minute is {load:.2f}; a quiet machine has {QUIET_LOAD} at most."
        if not options.busy:
            sys.exit(f"{told} Wait a minute, or say --busy to go on.")
        print(f"warning: {told} These figures are no measurement.", file=sys.stderr)
    sides = (["yolk"] if options.yolk else []) + options.sides.split(",")
    rows = {side: [] for side in sides}
    for _ in range(options.rounds):
        for side in sides:
            rows[side].append(row_of(side, options))
    for side, turns in rows.items():
        failed = [turn["failed"] for turn in turns if "failed" in turn]
        if failed:
            print(f"{side:14} {failed[0]}")
            continue
        rates = sorted(turn["steps_per_second"] for turn in turns)
        losses = f"  loss {turns[0]['loss']:.4f}, after 200 steps {turns[0]['loss_200']:.4f}" if "loss" in turns[0] else ""
        print(
            f"{side:14} {statistics.median(rates):9.1f} steps/s ({rates[0]:.1f} to {rates[-1]:.1f}){losses}  "
            f"{turns[0]['device']}"
        )
    return None


if __name__ == "__main__":
    main()
