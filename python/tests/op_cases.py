# SPDX-License-Identifier: Apache-2.0
"""Every function of yolk.ops with arguments of some size, and what NumPy gives for it in double precision."""

import evolution_cases
import numpy as np

import yolk

ops = yolk.ops


def numbers(*shape, seed=1):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype(np.float32)


def ids(count, below, seed=2):
    return np.random.default_rng([seed, count, below]).integers(0, max(1, below), size=count)


def blocks(n, count=3):
    x = numbers(count, n, n + 3).astype(np.float64)
    return (x @ x.transpose(0, 2, 1) / (n + 3) + np.eye(n)).astype(np.float32)


def _softmax(x, axis=-1):
    powers = np.exp(x - x.max(axis, keepdims=True, initial=0))
    return powers / powers.sum(axis, keepdims=True)


def _layer_norm(x, scale, shift):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * scale + shift


def _sqrt_inverse(x):
    values, vectors = np.linalg.eigh(x)
    return vectors / np.sqrt(values)[..., None, :] @ vectors.transpose(0, 2, 1)


def _scattered(x, at, values, axis, add):
    result = np.array(x)
    view, new = np.moveaxis(result, axis, 0), np.moveaxis(values, axis, 0)
    for index, row in zip(at, new):
        view[index] = view[index] + row if add else row
    return result


UNARY = {
    "relu": lambda x: np.maximum(x, 0), "silu": lambda x: x / (1 + np.exp(-x)), "tanh": np.tanh,
    "gelu": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "exp": np.exp, "negative": np.negative, "absolute": np.abs,
    "sin": np.sin, "cos": np.cos, "floor": np.floor, "round": np.round,
}
POSITIVE = {"log": np.log, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x)}
BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
    "less": np.less, "less_equal": np.less_equal, "greater": np.greater, "greater_equal": np.greater_equal,
    "equal": np.equal, "not_equal": np.not_equal,
}


def _arrays(n):
    """[n, 5] twice, [3, n, 4], and the same in double precision."""
    singles = numbers(n, 5), numbers(n, 5, seed=3), numbers(3, n, 4)
    return *singles, *(array.astype(np.float64) for array in singles)


def element_cases(n):
    x, y, z, d, e, f = _arrays(n)
    vector = numbers(5)
    found = {name: (lambda name=name: getattr(ops, name)(x), lambda want=want: want(d), 1e-5)
             for name, want in UNARY.items()}
    positive = np.abs(x) + np.float32(.1)
    found |= {name: (lambda name=name: getattr(ops, name)(positive), lambda want=want: want(positive), 1e-5)
              for name, want in POSITIVE.items()}
    found |= {name: (lambda name=name: getattr(ops, name)(x, y), lambda want=want: want(d, e), 1e-6)
              for name, want in BINARY.items()}
    return found | {
        "divide": (lambda: ops.divide(x, np.abs(y) + 1), lambda: d / (np.abs(e) + 1), 1e-6),
        "power": (lambda: ops.power(np.abs(x) + .5, y), lambda: (np.abs(d) + .5)**e, 1e-5),
        "clip": (lambda: ops.clip(x, -.5, 1), lambda: np.clip(d, -.5, 1), 1e-6),
        "where": (lambda: ops.where(x < y, x, 0.0), lambda: np.where(d < e, d, 0), 1e-6),
        "convert": (lambda: ops.convert(ops.convert(x, "float16"), "float32"), lambda: x.astype(np.float16), 0),
        "row": (lambda: yolk.array(x) - vector, lambda: d - vector, 1e-6),
        "column": (lambda: yolk.array(x) * y[:, :1], lambda: d * e[:, :1], 1e-6),
        "both": (lambda: yolk.array(x[:, :1]) + y[:1], lambda: d[:, :1] + e[:1], 1e-6),
        "member rows": (lambda: yolk.array(z) + z[:, :1], lambda: f + f[:, :1], 1e-6),
        "numbers": (lambda: (2 - yolk.array(x)) * 3 + 1 - 1e-3, lambda: (2 - d) * 3 + 1 - 1e-3, 1e-5),
    }


def product_cases(n):
    x, y, z, d, e, f = _arrays(n)
    symmetric, vector, small, wide = blocks(n), numbers(5), numbers(5, 7), numbers(n, n + 2)
    i8, j8 = (np.random.default_rng(n).integers(-128, 128, shape, dtype=np.int8) for shape in ((4, n), (6, n)))
    return {
        "matmul": (lambda: ops.matmul(x.T, wide), lambda: d.T @ wide.astype(np.float64), 1e-4),
        "matmul deep": (lambda: ops.matmul(x, x, transpose_a=True), lambda: d.T @ d, 1e-4),
        "matmul transposed": (lambda: ops.matmul(x, y, transpose_b=True), lambda: d @ e.T, 1e-5),
        "matmul batch": (lambda: ops.matmul(z, small[:4]), lambda: f @ small[:4].astype(np.float64), 1e-5),
        "matmul vector": (lambda: ops.matmul(x, vector), lambda: d @ vector.astype(np.float64), 1e-5),
        "matmul epilogue": (lambda: ops.matmul(x, small, bias=small[0], activation="relu", residual=np.ones((n, 7))),
                            lambda: np.maximum(d @ small + small[0], 0) + 1, 1e-5),
        "matmul half": (lambda: ops.matmul(x.astype(np.float16), small.astype(np.float16), dtype="float32"),
                        lambda: x.astype(np.float16).astype(np.float64) @ small.astype(np.float16), 1e-5),
        "matmul_i8": (lambda: ops.matmul_i8(i8, j8), lambda: i8.astype(np.int64) @ j8.T, 0),
        "block_inverse": (lambda: ops.block_inverse(symmetric).inverse,
                          lambda: np.linalg.inv(symmetric.astype(float)), 1e-4),
        "inverse_sqrt": (lambda: ops.inverse_sqrt(symmetric).inverse,
                         lambda: _sqrt_inverse(symmetric.astype(float)), 1e-4),
        "covariance": (lambda: ops.covariance(z), lambda: f.transpose(0, 2, 1) @ f / max(1, n), 1e-5),
    }


def row_cases(n):
    x, _, z, d, _, f = _arrays(n)
    vector, small, at = numbers(5), numbers(5, 7), ids(n, 5)
    found = {
        "softmax": (lambda: ops.softmax(x), lambda: _softmax(d), 1e-6),
        "softmax axis": (lambda: ops.softmax(z, axis=1), lambda: _softmax(f, 1), 1e-6),
        "log_softmax": (lambda: ops.log_softmax(x), lambda: np.log(_softmax(d)), 1e-5),
        "layer_norm": (lambda: ops.layer_norm(x, vector, small[:, 0]),
                       lambda: _layer_norm(d, vector, small[:, 0]), 1e-4),
        "rms_norm": (lambda: ops.rms_norm(x, vector),
                     lambda: d / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5) * vector, 1e-5),
        "sum": (lambda: ops.sum(x), lambda: d.sum(), 1e-4),
        "sum axis": (lambda: ops.sum(z, axis=1, keepdims=True), lambda: f.sum(1, keepdims=True), 1e-4),
        "sum axes": (lambda: ops.sum(z, axis=(0, 2)), lambda: f.sum((0, 2)), 1e-5),
        "mean": (lambda: ops.mean(x, axis=-1), lambda: d.mean(-1), 1e-5),
        "max": (lambda: ops.max(x, axis=1), lambda: d.max(1), 0),
        "min": (lambda: ops.min(x, axis=1), lambda: d.min(1), 0),
        "argmax": (lambda: ops.argmax(z, axis=2), lambda: f.argmax(2), 0),
        "cumsum": (lambda: ops.cumsum(z, axis=1), lambda: f.cumsum(1), 1e-4),
        "cumsum all": (lambda: ops.cumsum(x), lambda: d.cumsum(), 1e-4),
    }
    if n > 0:
        found["cross_entropy"] = (lambda: ops.cross_entropy(x, at),
                                  lambda: -np.log(_softmax(d))[np.arange(n), at].mean(), 1e-5)
    return found


def move_cases(n):
    x, y, z = _arrays(n)[:3]
    at = ids(n, 5)
    return {
        "transpose": (lambda: ops.transpose(z, (1, 2, 0)), lambda: z.transpose(1, 2, 0), 0),
        "reshape": (lambda: ops.reshape(x, (5, n)), lambda: x.reshape(5, n), 0),
        "broadcast_to": (lambda: ops.broadcast_to(x[:, :1], (2, n, 5)),
                         lambda: np.broadcast_to(x[:, :1], (2, n, 5)), 0),
        "pad": (lambda: ops.pad(x, (1, 0), (2, -1), 7.0),
                lambda: np.pad(x[:, :-1], ((1, 2), (0, 0)), constant_values=7), 0),
        "flip": (lambda: ops.flip(z, (0, 1)), lambda: z[::-1, ::-1], 0),
        "index": (lambda: yolk.array(z)[1:, ::-2, None, 1], lambda: z[1:, ::-2, None, 1], 0),
        "gather": (lambda: ops.gather(numbers(5, 3), at), lambda: numbers(5, 3)[at], 0),
        "gather axis": (lambda: ops.gather(numbers(2, 5, 3), at - 5, axis=1), lambda: numbers(2, 5, 3)[:, at], 0),
        "scatter": (lambda: ops.scatter(numbers(5, 3), at, numbers(n, 3)),
                    lambda: _scattered(numbers(5, 3), at, numbers(n, 3), 0, False), 0),
        "scatter add": (lambda: ops.scatter(numbers(2, 5), at, numbers(2, n), axis=1, mode="add"),
                        lambda: _scattered(numbers(2, 5).astype(np.float64), at, numbers(2, n), 1, True), 1e-5),
        "concatenate": (lambda: ops.concatenate([z, z[:, :1], z], axis=1),
                        lambda: np.concatenate([z, z[:, :1], z], 1), 0),
        "stack": (lambda: ops.stack([x, y], axis=1), lambda: np.stack([x, y], 1), 0),
        "split": (lambda: ops.split(z, [1, 3], axis=2)[1], lambda: z[:, :, 1:], 0),
    }


def cases(n):
    """{name: (what yolk gives, what NumPy gives, tolerance)}, each to be called; n: the size of most axes."""
    return element_cases(n) | product_cases(n) | row_cases(n) | move_cases(n) | evolution_cases.cases(n)


def random_results(n):
    """Those whose results are draws: to be compared between devices."""
    return {
        "noise": ops.noise((n, 3), 7), "noise int": ops.noise(n, 7, dtype="int32", domain="vector", time=3),
        "perturbed_linear": ops.perturbed_linear(numbers(3, n), numbers(4, n), members=6, seed=5, sigma=.3, rank=2),
        "perturbed_vector": ops.perturbed_vector(numbers(n), members=4, seed=5, sigma=.3),
    }
