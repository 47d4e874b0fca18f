# SPDX-License-Identifier: Apache-2.0
"""Writes answers.json: what operations give, in float64 and by NumPy, for stored_answers_test.cpp.

Formulas are one source for the twins and the bounds of kernels; these answers are the other source. They are written
from docs/kernels/ as NumPy would say it, with whole arrays, and know nothing of places in memory, of orders of sums or
of flushes. Inputs are multiples of 1/64, which JSON and fp32 have exactly.

Usage: make.py [--check]    (--check: compare with the stored file and write nothing)
"""

import argparse
import json
import math
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parents[2] / "bench/peers"))
from eggroll_formulas import noise  # noqa: E402  Philox in NumPy

f32 = np.float32
UNIT = 1.0 / math.sqrt(85)  # a noise integer's share of its deviation
SEED, TIME, SIGMA = 7, 4, float(f32(0.25))


def drawn(stream, *shape):
    """Multiples of 1/64 in [-2, 2]."""
    return np.random.default_rng(stream).integers(-128, 129, shape) / 64.0


def scattered(size, places, values):
    """A buffer with `values` at `places`, and 1e6 elsewhere: what reads there is seen."""
    buffer = np.full(size, 1e6)
    buffer[np.asarray(places).ravel()] = np.asarray(values).ravel()
    return buffer


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


# Products


def matmul_strided():
    """relu(A B^T + bias) + residual; two matrices, rows of A seven apart from place 2 on, a bias of each matrix."""
    a, b = drawn(1, 2, 3, 5), drawn(2, 2, 4, 5)
    bias, residual = drawn(3, 2, 4), drawn(4, 2, 3, 4)
    z, row, k = np.indices(a.shape)
    out = np.maximum(a @ b.transpose(0, 2, 1) + bias[:, None, :], 0.0) + residual
    return [scattered(60, 2 + 30 * z + 7 * row + k, a), b, bias, residual], [out]


def matmul_inner_batch():
    """Heads: of four matrices two share a batch, whose rows hold both."""
    x, y = drawn(5, 2, 3, 2, 5), drawn(6, 2, 5, 2, 4)  # [batch, row, head, k], [batch, k, head, column]
    return [x, y], [np.einsum("brhk,bkhc->bhrc", x, y)]


def covariance():
    """.75 C + .25 X^T X / samples, then relative damping; two blocks with four columns of which three are used."""
    x, old = drawn(7, 2, 5, 3), np.zeros((2, 3, 3))
    old[:] = [[2, 0.5, 0], [0.5, 1, -0.25], [0, -0.25, 3]]
    block, sample, column = np.indices(x.shape)
    new = 0.75 * old + 0.25 * np.einsum("bsi,bsj->bij", x, x) / 5
    damped = new + 0.125 * np.trace(new, axis1=1, axis2=2)[:, None, None] / 3 * np.eye(3)
    return [scattered(45, 1 + 23 * block + 4 * sample + column, x), old], [new, damped]


def natural_gradient():
    """-rate (I - 1/n) P (I - 1/n) g."""
    p, g = drawn(8, 2, 5, 5), drawn(9, 2, 5)
    centred = np.eye(5) - 1.0 / 5
    made = np.einsum("ij,bjk,kl,bl->bi", centred, p, centred, g)
    return [p, g], [-0.125 * made, made]


# Elements and rows


def sgd():
    gradient, parameters = drawn(10, 6), drawn(11, 6)
    return [gradient, parameters], [parameters + 0.125 * gradient]


def momentum():
    gradient, parameters, m = drawn(10, 6), drawn(11, 6), drawn(12, 6)
    moved = 0.75 * m + gradient
    return [gradient, parameters, m], [parameters + 0.125 * moved, moved]


def adam():
    """Kingma and Ba 2015, Algorithm 1, upwards, the fourth step."""
    gradient, parameters, m, v = drawn(10, 6), drawn(11, 6), drawn(12, 6), drawn(13, 6) ** 2
    beta1, beta2, epsilon = float(f32(0.9)), float(f32(0.999)), float(f32(1e-8))
    m_new, v_new = beta1 * m + (1 - beta1) * gradient, beta2 * v + (1 - beta2) * gradient**2
    direction = m_new / (1 - beta1**4) / (np.sqrt(v_new / (1 - beta2**4)) + epsilon)
    return [gradient, parameters, np.stack([m, v])], [parameters + 0.125 * direction, np.stack([m_new, v_new])]


def cumulative_sum():
    x = drawn(14, 2, 37, 3)
    return [x], [np.cumsum(x, axis=1)]


def elementwise():
    """silu(x y + z), y of rows and z of columns."""
    x, y, z = drawn(15, 3, 4), drawn(16, 3), drawn(17, 4)
    t = x * y[:, None] + z
    return [x, y, z], [t * sigmoid(t)]


def row_program():
    """x - max over the first dimension, times y, along a space of [5, 2, 3]."""
    x, y = drawn(18, 5, 2, 3), drawn(19, 2, 3)
    return [x, y], [(x - x.max(0)) * y]


def softmax_rows():
    x = drawn(20, 2, 3, 7)
    return [x], [softmax(x)]


def log_softmax_rows():
    x = drawn(20, 2, 3, 7)
    return [x], [np.log(softmax(x))]


def normalized(x, centre):
    factor = float(f32(1.0) / f32(x.shape[-1]))  # docs/kernels/normalize.md: the nearest to 1 / columns
    d = x - x.sum(-1, keepdims=True) * factor * centre
    return d / np.sqrt((d * d).sum(-1, keepdims=True) * factor + float(f32(1e-5)))


def layer_norm():
    """A scale of each member, one bias."""
    x, scale, bias = drawn(21, 2, 3, 7), drawn(22, 2, 7), drawn(23, 7)
    return [x, scale, bias], [normalized(x, 1) * scale[:, None] + bias]


def root_mean_square_norm():
    x = drawn(21, 2, 3, 7)
    return [x], [normalized(x, 0)]


def reduce(operation):
    def make():
        x = drawn(24, 2, 35, 3)
        return [x], [operation(x)]

    return make


# Perturbed operations: members from -1, the mean, on


def sides(members):
    """0 for the mean, then + and - in turns; and the pair of each member."""
    number = np.arange(-1, members - 1)
    return np.where(number < 0, 0.0, np.where(number % 2 == 0, 1.0, -1.0)), np.maximum(number, 0) // 2


def low_rank(parameter, rows, columns, rank, members):
    """side sigma / sqrt(r) A B^T of each member."""
    side, pair = sides(members)
    a = noise(SEED, parameter, "A", pair, rows * rank, TIME).reshape(members, rows, rank) * UNIT
    b = noise(SEED, parameter, "B", pair, columns * rank, TIME).reshape(members, columns, rank) * UNIT
    return side[:, None, None] * SIGMA / math.sqrt(rank) * a @ b.transpose(0, 2, 1)


def full_noise(parameter, count, members):
    side, pair = sides(members)
    return side[:, None] * SIGMA * UNIT * noise(SEED, parameter, "V", pair, count, TIME)


def perturbed_linear():
    """tanh(x (W + E)^T), a shared x of two rows."""
    weights, x = drawn(25, 4, 5), drawn(26, 2, 5)
    return [weights, x], [np.tanh(x @ (weights + low_rank(3, 4, 5, 2, 4)).transpose(0, 2, 1))]


def perturbed_linear_transposed():
    weights, x = drawn(25, 4, 5), drawn(27, 4, 2, 4)
    return [weights, x], [x @ (weights + low_rank(3, 4, 5, 3, 4))]


def perturbed_vector():
    v = drawn(28, 11)
    return [v], [v + full_noise(5, 11, 4)]


def perturbed_embedding():
    """The third id is out of range; how many are is added to the last input."""
    table, ids = drawn(29, 4, 5), np.array([3, 0, 9, 1])
    members = table + low_rank(6, 4, 5, 2, 3)
    out = np.where((ids < 4)[None, :, None], members[:, np.minimum(ids, 3)], 0.0)
    return [table, ids, np.zeros(1)], [out]


def perturbed_network():
    """5-4-3: tanh and a bias, then sigmoid without one."""
    first, second, bias, x = drawn(30, 4, 5), drawn(31, 3, 4), drawn(32, 4), drawn(33, 2, 5)
    hidden = x @ (first + low_rank(1, 4, 5, 2, 3)).transpose(0, 2, 1) + (bias + full_noise(2, 4, 3))[:, None]
    return [first, second, bias, x], [sigmoid(np.tanh(hidden) @ (second + low_rank(4, 3, 4, 2, 3)).transpose(0, 2, 1))]


CASES = {
    "matmul_strided": matmul_strided,
    "matmul_inner_batch": matmul_inner_batch,
    "covariance": covariance,
    "natural_gradient": natural_gradient,
    "optimizer_sgd": sgd,
    "optimizer_momentum": momentum,
    "optimizer_adam": adam,
    "cumulative_sum": cumulative_sum,
    "elementwise": elementwise,
    "row_program": row_program,
    "softmax": softmax_rows,
    "log_softmax": log_softmax_rows,
    "layer_norm": layer_norm,
    "root_mean_square_norm": root_mean_square_norm,
    "reduce_sum": reduce(lambda x: x.sum(1)),
    "reduce_mean": reduce(lambda x: x.sum(1) * float(f32(1.0) / f32(x.shape[1]))),
    "reduce_max": reduce(lambda x: x.max(1)),
    "reduce_min": reduce(lambda x: x.min(1)),
    "reduce_argmax": reduce(lambda x: x.argmax(1)),
    "perturbed_linear": perturbed_linear,
    "perturbed_linear_transposed": perturbed_linear_transposed,
    "perturbed_vector": perturbed_vector,
    "perturbed_embedding": perturbed_embedding,
    "perturbed_network": perturbed_network,
}


def line_of(name, case):
    given, made = case()
    flat = [[np.asarray(array, dtype=float).ravel().tolist() for array in arrays] for arrays in (given, made)]
    return json.dumps({"name": name, "inputs": flat[0], "outputs": flat[1]})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    lines = [line_of(name, case) for name, case in CASES.items()]
    file = HERE / "answers.json"
    if not options.check:
        file.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
        return 0
    stored = json.loads(file.read_text(encoding="utf-8"))
    for known, line in zip(stored, map(json.loads, lines), strict=True):
        pairs = zip(known["inputs"] + known["outputs"], line["inputs"] + line["outputs"], strict=True)
        if known["name"] != line["name"] or not all(np.allclose(a, b, rtol=1e-13, atol=1e-13) for a, b in pairs):
            print(f"{known['name']} is not what the script makes now", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
