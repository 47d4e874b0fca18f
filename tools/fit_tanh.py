#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the coefficients of exact_tanh (shaders/include/yolk/exact/exact_math.h), and of fast_tanh
(shaders/rollout/policy_network.glsl): fit_tanh.py 5.5 2 2. Needs numpy and scipy; the build does not.

tanh(x) ~ x P(u) / Q(u), u = x^2, with the smallest absolute error on [0, LIMIT]: linear programming over a grid, the error
weighted by the last Q, repeated until Q settles. The reciprocal of Q is two Newton steps from START - bits(Q), whose centres and common
factor come out of the range of the start's error; the factor goes into P.
"""
import struct
import sys

import numpy as np
from scipy.optimize import linprog

LIMIT = float(sys.argv[1]) if len(sys.argv) > 1 else 7.0
P_DEGREE, Q_DEGREE = (int(a) for a in sys.argv[2:4]) if len(sys.argv) > 3 else (3, 3)  # in u
START = 0x7EB50800
f32 = np.float32


def bits(value):
    return f"0x{struct.unpack('<I', struct.pack('<f', f32(value)))[0]:08X}u"


def fit():
    x = LIMIT * np.concatenate([np.sin(np.linspace(0, np.pi / 2, 3000)), np.linspace(0, 1, 3000) ** 1.5])
    x = np.unique(x)[1:]
    t, u = np.tanh(x), x * x / (LIMIT * LIMIT)
    weight = 1 + 0.4 * x * x
    best = None
    for _ in range(30):
        columns = [x * u**i for i in range(P_DEGREE + 1)] + [-t * u**j for j in range(1, Q_DEGREE + 1)]
        a, b = np.stack(columns, 1) / weight[:, None], t / weight
        ones = np.ones((len(x), 1))
        solution = linprog(np.r_[np.zeros(a.shape[1]), 1], A_ub=np.r_[np.c_[a, -ones], np.c_[-a, -ones]],
                           b_ub=np.r_[b, -b], bounds=[(None, None)] * a.shape[1] + [(0, None)], method="highs").x
        p, q = solution[: P_DEGREE + 1], np.r_[1, solution[P_DEGREE + 1 : -1]]
        weight = sum(c * u**j for j, c in enumerate(q))
        error = np.max(np.abs(x * sum(c * u**i for i, c in enumerate(p)) / weight - t))
        if best is None or error < best[0]:
            best = (error, p / LIMIT ** (2 * np.arange(P_DEGREE + 1)), q / LIMIT ** (2 * np.arange(Q_DEGREE + 1)))
    return best


def reciprocal_steps():
    q = np.linspace(1, 4, 600001).astype(f32)
    t = q * (np.uint32(START) - q.view(np.uint32)).view(f32).astype(np.float64)
    first = f32(t.min() + t.max())
    t = t * (float(first) - t)
    second = f32(t.min() + t.max())
    t = t * (float(second) - t)
    return first, second, (t.min() + t.max()) / 2


error, p, q = fit()
if len(sys.argv) > 1:  # divided by the device: no reciprocal of our own
    print(f"error of the fit {error:.3g}, beyond the limit {error + 1 - np.tanh(LIMIT):.3g}")
    print("P", [f"{f32(c / q[-1]):.8g}" for c in p], "Q", [f"{f32(c / q[-1]):.8g}" for c in q])
    sys.exit()
first, second, factor = reciprocal_steps()
print(f"error of the fit {error:.3g}")
print("P", [bits(c / q[-1] / factor) for c in p])
print("Q", [bits(c / q[-1]) for c in q], "(the last one is 1)")
print("centres", bits(first), bits(second))
