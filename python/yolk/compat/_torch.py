# SPDX-License-Identifier: Apache-2.0
"""torch's names for functions over `Tensor`, for programs that have `import torch` for little more than these."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import operations
from ._tensor import Tensor, is_traced, joined, raw
from ._tensor import split as _split

_draw = np.random.default_rng()


def manual_seed(seed: int) -> None:
    global _draw
    _draw = np.random.default_rng(seed)


def tensor(values: Any, **_: Any) -> Tensor:
    return Tensor(values)


as_tensor = from_numpy = tensor


def randn(*shape: int) -> Tensor:
    return Tensor(_draw.standard_normal(shape))


def rand(*shape: int) -> Tensor:
    return Tensor(_draw.random(shape))


def zeros(*shape: int) -> Tensor:
    return Tensor(np.zeros(shape))


def ones(*shape: int) -> Tensor:
    return Tensor(np.ones(shape))


def eye(size: int) -> Tensor:
    return Tensor(np.eye(size))


def cat(tensors: Sequence[Any], dim: int = 0) -> Tensor:
    return joined(tensors, dim, "concatenate")


def stack(tensors: Sequence[Any], dim: int = 0) -> Tensor:
    return joined(tensors, dim, "stack")


def split(x: Any, sizes: Any, dim: int = 0) -> tuple[Any, ...]:
    extent = Tensor(x).shape[dim]
    if isinstance(sizes, int):
        sizes = [builtins.min(sizes, extent - first) for first in range(0, extent, sizes)]
    return _split(Tensor(x), sizes, dim)


def where(condition: Any, a: Any, b: Any) -> Tensor:
    values = [raw(one) for one in (condition, a, b)]
    return Tensor(operations.where(*values) if any(is_traced(one) for one in values) else np.where(*values))


def maximum(a: Any, b: Any) -> Tensor:
    values = [raw(a), raw(b)]
    return Tensor(operations.maximum(*values) if any(is_traced(one) for one in values) else np.maximum(*values))


def minimum(a: Any, b: Any) -> Tensor:
    values = [raw(a), raw(b)]
    return Tensor(operations.minimum(*values) if any(is_traced(one) for one in values) else np.minimum(*values))


def linear(x: Any, weight: Any, bias: Any = None) -> Tensor:
    made = Tensor(x) @ Tensor(weight).T
    return made if bias is None else made + bias


def _method(name: str) -> Any:
    def function(x: Any, *arguments: Any, **keywords: Any) -> Any:
        return getattr(Tensor(x), name)(*arguments, **keywords)

    function.__name__ = name
    return function


relu, sigmoid, tanh, exp, log, sqrt, sin, cos, floor, gelu, silu = map(
    _method, ("relu", "sigmoid", "tanh", "exp", "log", "sqrt", "sin", "cos", "floor", "gelu", "silu"))
abs, pow, sum, mean, max, min, argmax, clamp, clip, softmax, log_softmax = map(
    _method, ("abs", "pow", "sum", "mean", "max", "min", "argmax", "clamp", "clip", "softmax", "log_softmax"))
matmul, mm, mv, dot, reshape, squeeze, unsqueeze, flatten, transpose = map(
    _method, ("matmul", "mm", "mv", "dot", "reshape", "squeeze", "unsqueeze", "flatten", "transpose"))
