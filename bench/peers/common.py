# SPDX-License-Identifier: Apache-2.0
"""What every peer does alike: the matrices, the check in double, the clock, and the lines that matmul_peers.py reads.

A peer is a class with `name`, `device` and `kernels(size)`, a list of Kernel. `build` is given A and B, [size, size]
in fp32, makes C full of NaN and compiles; `prepare(repetitions)` returns what the clock runs: submit and wait.
"""

import argparse
import json
import time
from dataclasses import dataclass
from typing import Callable

import numpy as np

TEXTBOOK = "textbook 16x16"


@dataclass
class Built:
    prepare: Callable  # repetitions -> callable that submits that many products and waits for the last
    result: Callable  # -> C as an array


@dataclass
class Kernel:
    name: str
    layout: str  # "AB" or "ABt": what B is
    build: Callable  # (a, b) -> Built


def matrices(size):
    draw = np.random.default_rng(size)
    return tuple(draw.standard_normal((size, size), dtype=np.float32) for _ in range(2))


def share_of_bound(a, b, c, layout):
    """The worst error over its bound n u |A||B|, u = 2^-24, for any order of the sum: over 1 is a wrong result."""
    a, b = (matrix.astype(np.float64) for matrix in (a, b.T if layout == "ABt" else b))
    error = np.abs(c.astype(np.float64) - a @ b)
    bound = 1.01 * a.shape[1] * 2.0**-24 * (np.abs(a) @ np.abs(b))
    return float("inf") if np.isnan(error).any() else float((error / bound).max())


def timed(run):
    wall, processor = time.perf_counter(), time.process_time()
    run()
    wall = time.perf_counter() - wall
    return wall, (time.process_time() - processor) / wall


def measure(kernel, size, seconds):
    """One row: checked, warmed up, then the median of three samples of some `seconds` each."""
    a, b = matrices(size)
    started = time.perf_counter()
    built = kernel.build(a, b)
    once = built.prepare(1)
    once()
    first = time.perf_counter() - started
    share = share_of_bound(a, b, built.result(), kernel.layout)
    row = {"kernel": kernel.name, "layout": kernel.layout, "size": size}
    row |= {"first_seconds": first, "share_of_bound": share}
    if not share <= 1.0:
        return {**row, "failed": "wrong result"}
    one = min(timed(once)[0] for _ in range(2))
    repetitions = max(1, round(seconds / one))
    run = built.prepare(repetitions)
    wall, cores = sorted(timed(run) for _ in range(3))[1]
    return {
        **row,
        "repetitions": repetitions,
        "seconds": wall / repetitions,
        "gflops": 2e-9 * size**3 * repetitions / wall,
        "cores": cores,
    }


def serve(peer_class):
    """The peer's own process: one JSON object per line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--kernel", action="append", help="only this one; may be said again")
    parser.add_argument("--seconds", type=float, default=0.5)
    options = parser.parse_args()
    peer = peer_class()
    print(json.dumps({"peer": peer.name, "device": peer.device}), flush=True)
    for kernel in peer.kernels(options.size):
        if options.kernel and kernel.name not in options.kernel:
            continue
        try:
            row = measure(kernel, options.size, options.seconds)
        except Exception as error:  # one kernel that a peer refuses is a row, not the end
            text = " ".join(str(error).split())
            row = {"kernel": kernel.name, "size": options.size, "failed": f"{type(error).__name__}: {text}"[:300]}
        print(json.dumps(row), flush=True)
