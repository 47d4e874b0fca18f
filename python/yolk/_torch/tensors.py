# SPDX-License-Identifier: Apache-2.0
"""torch's arithmetic, shape functions and reductions over traced values. Arguments have torch's names."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from .. import operations as ops
from ..errors import Unsupported
from .values import axis_of, expanded, extents, is_traced, moved, reshape


def several(first: Any, rest: tuple) -> tuple:
    """f(x, (1, 2)) and f(x, 1, 2)."""
    return tuple(first) if isinstance(first, (tuple, list)) else (first, *rest)


def add(a: Any, b: Any, *, alpha: float = 1) -> Any:
    return a + (b if alpha == 1 else b * alpha)


def sub(a: Any, b: Any, *, alpha: float = 1) -> Any:
    return a - (b if alpha == 1 else b * alpha)


def rsub(a: Any, b: Any) -> Any:
    return b - a


def truncated(x: Any) -> Any:
    return ops.where(x < 0.0, -ops.floor(-x), ops.floor(x))


def div(a: Any, b: Any, *, rounding_mode: str | None = None) -> Any:
    quotient = a / b
    return quotient if rounding_mode is None else ops.floor(quotient) if rounding_mode == "floor" else truncated(
        quotient)


def floor_divide(a: Any, b: Any) -> Any:
    return ops.floor(a / b)


def remainder(a: Any, b: Any) -> Any:
    return a - b * ops.floor(a / b)


def power(x: Any, exponent: Any) -> Any:
    """Small integer exponents become products, which are right for negative bases."""
    if isinstance(exponent, (int, float)) and exponent in (1, 2, 3, 4):
        result = x
        for _ in range(int(exponent) - 1):
            result = result * x
        return result
    if isinstance(exponent, (int, float)) and exponent in (0.5, -0.5):
        return ops.sqrt(x) if exponent > 0 else ops.rsqrt(x)
    return x**exponent


def clamp(x: Any, min: Any = None, max: Any = None) -> Any:
    x = x if min is None else ops.maximum(x, min)
    return x if max is None else ops.minimum(x, max)


def sign(x: Any) -> Any:
    return (x > 0.0) - (x < 0.0)


def logical_not(x: Any) -> Any:
    return x == 0.0


def logical_and(a: Any, b: Any) -> Any:
    return (a != 0.0) * (b != 0.0)


def logical_or(a: Any, b: Any) -> Any:
    return ops.maximum(a != 0.0, b != 0.0)


def where(condition: Any, a: Any = None, b: Any = None) -> Any:
    if a is None:
        raise Unsupported("the shape of torch.where(condition) depends on data")
    return ops.where(condition, a, b)


def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    return ops.where(mask, value, x)


def addmm(bias: Any, a: Any, b: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    product = a @ b
    return (bias if beta == 1 else bias * beta) + (product if alpha == 1 else product * alpha)


def dot(a: Any, b: Any) -> Any:
    return a @ b


def _axes(x: Any, dim: Any) -> list[int]:
    rank = len(extents(x))
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return list(range(rank))
    return [axis_of(one, rank) for one in (dim if isinstance(dim, (tuple, list)) else [dim])]


def sum_of(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    return ops.sum(x, _axes(x, dim), keepdim)


def mean(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    return ops.mean(x, _axes(x, dim), keepdim)


def amax(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return ops.max(x, _axes(x, dim), keepdim)


def amin(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return ops.min(x, _axes(x, dim), keepdim)


def argmax(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    if dim is None:
        x, dim = reshape(x, [-1]), 0
    found = ops.argmax(x, dim)
    return unsqueeze(found, axis_of(dim, len(extents(x)))) if keepdim and len(extents(x)) > 1 else found


def argmin(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return argmax(-x, dim, keepdim)


def max_of(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    if dim is None:
        return amax(x)
    if not isinstance(dim, int):
        return ops.maximum(x, dim)
    return amax(x, dim, keepdim), argmax(x, dim, keepdim)


def min_of(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    if dim is None:
        return amin(x)
    if not isinstance(dim, int):
        return ops.minimum(x, dim)
    return amin(x, dim, keepdim), argmin(x, dim, keepdim)


def variance(x: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> Any:
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    axes = _axes(x, dim)
    count = math.prod(extents(x)[axis] for axis in axes)
    taken_off = correction if correction is not None else 0 if unbiased is False else 1
    centered = x - ops.mean(x, axes, True)
    return ops.sum(centered * centered, axes, keepdim) / float(count - taken_off)


def deviation(x: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> Any:
    return ops.sqrt(variance(x, dim, unbiased, keepdim, correction=correction))


def norm(x: Any, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    axes = _axes(x, dim)
    if p in (1, 1.0):
        return ops.sum(abs(x), axes, keepdim)
    if p not in (2, 2.0, "fro", None):
        raise Unsupported(f"the norm with p={p!r} is not supported; use 1 or 2")
    return ops.sqrt(ops.sum(x * x, axes, keepdim))


def normalize(x: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Any:
    return x / ops.maximum(norm(x, p, dim, True), eps)


def logsumexp(x: Any, dim: Any, keepdim: bool = False) -> Any:
    axes = _axes(x, dim)
    top = ops.max(x, axes, True)
    found = top + ops.log(ops.sum(ops.exp(x - top), axes, True))
    return found if keepdim else squeeze(found, axes)


def size(x: Any, dim: Any = None) -> Any:
    return torch.Size(extents(x)) if dim is None else extents(x)[dim]


def numel(x: Any) -> int:
    return math.prod(extents(x))


def view(x: Any, *shape: Any) -> Any:
    return reshape(x, several(shape[0], shape[1:]))


def flatten(x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    shape = extents(x)
    start, end = axis_of(start_dim, len(shape)), axis_of(end_dim, len(shape))
    return reshape(x, [*shape[:start], math.prod(shape[start:end + 1]), *shape[end + 1:]])


def unflatten(x: Any, dim: int, sizes: Any) -> Any:
    shape = extents(x)
    dim = axis_of(dim, len(shape))
    sizes = list(sizes)
    if -1 in sizes:
        sizes[sizes.index(-1)] = shape[dim] // -math.prod(sizes)
    return reshape(x, [*shape[:dim], *sizes, *shape[dim + 1:]])


def squeeze(x: Any, dim: Any = None) -> Any:
    shape = extents(x)
    axes = _axes(x, dim)
    return reshape(x, [extent for axis, extent in enumerate(shape) if axis not in axes or extent != 1])


def unsqueeze(x: Any, dim: int) -> Any:
    shape = list(extents(x))
    shape.insert(dim if dim >= 0 else dim + len(shape) + 1, 1)
    return reshape(x, shape)


def permute(x: Any, *order: Any) -> Any:
    rank = len(extents(x))
    return ops.transpose(x, [axis_of(one, rank) for one in several(order[0], order[1:])])


def transpose(x: Any, dim0: int, dim1: int) -> Any:
    rank = len(extents(x))
    order = list(range(rank))
    a, b = axis_of(dim0, rank), axis_of(dim1, rank)
    order[a], order[b] = order[b], order[a]
    return ops.transpose(x, order)


def t(x: Any) -> Any:
    return x if len(extents(x)) < 2 else ops.transpose(x)


def movedim(x: Any, source: int, destination: int) -> Any:
    return moved(x, source, destination)


def expand(x: Any, *shape: Any) -> Any:
    return expanded(x, several(shape[0], shape[1:]))


def repeat(x: Any, *times: Any) -> Any:
    times = several(times[0], times[1:])
    x = reshape(x, [1] * (len(times) - len(extents(x))) + list(extents(x)))
    for axis, count in enumerate(times):
        x = x if count == 1 else ops.concatenate([x] * count, axis)
    return x


def cat(tensors: Any, dim: int = 0, *, axis: Any = None) -> Any:
    return ops.concatenate(list(tensors), dim if axis is None else axis)


def stack(tensors: Any, dim: int = 0) -> Any:
    return ops.stack(list(tensors), dim)


def split(x: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
    extent = extents(x)[dim]
    sizes = split_size_or_sections
    if isinstance(sizes, int):
        sizes = [min(sizes, extent - first) for first in range(0, extent, sizes)]
    return tuple(ops.split(x, list(sizes), dim))


def chunk(x: Any, chunks: int, dim: int = 0) -> Any:
    return split(x, -(-extents(x)[dim] // chunks), dim)


def unbind(x: Any, dim: int = 0) -> Any:
    return tuple(ops_index_axis(x, index, dim) for index in range(extents(x)[dim]))


def ops_index_axis(x: Any, index: int, dim: int) -> Any:
    return x[(slice(None), ) * axis_of(dim, len(extents(x))) + (index, )]


def select(x: Any, dim: int, index: int) -> Any:
    return ops_index_axis(x, index, dim)


def narrow(x: Any, dim: int, start: int, length: int) -> Any:
    return x[(slice(None), ) * axis_of(dim, len(extents(x))) + (slice(start, start + length), )]


def flip(x: Any, *dims: Any) -> Any:
    for dim in several(dims[0], dims[1:]):
        x = ops.gather(x, np.arange(extents(x)[dim])[::-1].astype(np.float32), axis_of(dim, len(extents(x))))
    return x


def index_select(x: Any, dim: int, index: Any) -> Any:
    return ops.gather(x, index, axis_of(dim, len(extents(x))))


def pad(x: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    if mode != "constant":
        raise Unsupported(f"mode={mode!r} is not supported; use \"constant\"")
    rank = len(extents(x))
    before, after = [0] * rank, [0] * rank
    for index in range(len(pad) // 2):
        before[rank - 1 - index], after[rank - 1 - index] = pad[2 * index], pad[2 * index + 1]
    if min(before + after) < 0:
        raise Unsupported("negative padding is not supported; use a slice")
    return ops.pad(x, before, after, 0.0 if value is None else float(value))


def cumsum(x: Any, dim: int, *, dtype: Any = None) -> Any:
    return ops.cumsum(x, dim)


def converted(x: Any, *to: Any, **named: Any) -> Any:
    """x.to(dtype or device): values are fp32, so only truth values and whole numbers change."""
    dtype = next((one for one in (*to, *named.values()) if isinstance(one, torch.dtype)), None)
    if dtype is None or dtype.is_floating_point:
        return x
    return x != 0.0 if dtype == torch.bool else truncated(x)


def whole(x: Any) -> Any:
    return truncated(x)


def truth(x: Any) -> Any:
    return x != 0.0


def same(x: Any, *_: Any, **__: Any) -> Any:
    return x


def like(make: Any) -> Any:
    """zeros_like and its kind, whose values do not depend on x."""
    return lambda x, *_, **__: make(extents(x))


def full_like(x: Any, fill_value: Any, **_: Any) -> Any:
    return expanded(fill_value, extents(x)) if is_traced(fill_value) else torch.full(extents(x), fill_value)


def tril(x: Any, diagonal: int = 0) -> Any:
    return ops.where(np.tril(np.ones(extents(x)[-2:], np.float32), diagonal), x, 0.0)


def triu(x: Any, diagonal: int = 0) -> Any:
    return ops.where(np.triu(np.ones(extents(x)[-2:], np.float32), diagonal), x, 0.0)
