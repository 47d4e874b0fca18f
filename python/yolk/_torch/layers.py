# SPDX-License-Identifier: Apache-2.0
"""torch.nn.functional's layers over traced values; weights have torch's shapes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import operations as ops
from ..errors import Unsupported
from .tensors import unsqueeze
from .values import extents, moved, reshape


def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    result = ops.linear(weight, x)
    return result if bias is None else result + bias


def bilinear(a: Any, b: Any, weight: Any, bias: Any = None) -> Any:
    weight, (out, left, right) = weight if isinstance(weight, tuple) else (weight, extents(weight))
    # [..., out * left] = b times the weight's last axis; then the sum over the left one.
    inner = reshape(ops.linear(reshape(weight, [out * left, right]), b), [*extents(b)[:-1], out, left])
    result = ops.sum(inner * unsqueeze(a, -2), -1)
    return result if bias is None else result + bias


def embedding(ids: Any,
              weight: Any,
              padding_idx: Any = None,
              max_norm: Any = None,
              norm_type: float = 2.0,
              scale_grad_by_freq: bool = False,
              sparse: bool = False) -> Any:
    if max_norm is not None:
        raise Unsupported("max_norm modifies the table in forward")
    shape = list(extents(ids))
    found = ops.embedding(weight, reshape(ids, [-1]) if len(shape) != 1 else ids)
    return found if len(shape) == 1 else reshape(found, [*shape, extents(weight)[1]])


def layer_norm(x: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    axes = len(normalized_shape)
    if axes == 1:
        return ops.layer_norm(x, weight, bias, eps)
    shape = list(extents(x))
    scale, shift = (reshape(one, [-1]) if one is not None else None for one in (weight, bias))
    flat = reshape(x, [*shape[:-axes], math.prod(normalized_shape)])
    return reshape(ops.layer_norm(flat, scale, shift, eps), shape)


def rms_norm(x: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    eps = float(np.finfo(np.float32).eps) if eps is None else eps
    axes = len(normalized_shape)
    if axes == 1:
        return ops.rms_norm(x, weight, eps)
    shape = list(extents(x))
    flat = reshape(weight, [-1]) if weight is not None else None
    return reshape(ops.rms_norm(reshape(x, [*shape[:-axes], math.prod(normalized_shape)]), flat, eps), shape)


def _per_channel(values: Any, rank: int) -> Any:
    return reshape(values, [extents(values)[0]] + [1] * (rank - 2))


def group_norm(x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    shape = list(extents(x))
    result = reshape(ops.layer_norm(reshape(x, [shape[0], num_groups, -1]), None, None, eps), shape)
    if weight is not None:
        result = result * _per_channel(weight, len(shape))
    return result if bias is None else result + _per_channel(bias, len(shape))


def batch_norm(x: Any,
               running_mean: Any,
               running_var: Any,
               weight: Any = None,
               bias: Any = None,
               training: bool = False,
               momentum: float = 0.1,
               eps: float = 1e-5) -> Any:
    if running_mean is None:
        raise Unsupported("BatchNorm without running statistics is not supported; use LayerNorm or GroupNorm")
    rank = max(2, len(extents(x)))
    scale = 1.0 / np.sqrt(np.asarray(running_var, np.float32) + np.float32(eps))
    result = (x - _constant(running_mean, rank)) * _constant(scale, rank)
    if weight is not None:
        result = result * _per_channel(weight, rank)
    return result if bias is None else result + _per_channel(bias, rank)


def _constant(values: Any, rank: int) -> Any:
    return np.asarray(values, np.float32).reshape([-1] + [1] * (rank - 2))


def dropout(x: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    return x


def attention(q: Any,
              k: Any,
              v: Any,
              attn_mask: Any = None,
              dropout_p: float = 0.0,
              is_causal: bool = False,
              scale: float | None = None,
              enable_gqa: bool = False) -> Any:
    if enable_gqa:
        raise Unsupported("enable_gqa is not supported; repeat the keys and values")
    if scale is not None:
        q = q * (scale * math.sqrt(extents(q)[-1]))
    rows, columns = extents(q)[-2], extents(k)[-2]
    if attn_mask is None and (not is_causal or rows == columns):
        return ops.attention(q, k, v, is_causal)
    # Torch aligns a causal mask that is not square to the first key, Yolk to the last.
    added = np.where(np.tril(np.ones((rows, columns))), 0.0, -np.inf).astype(np.float32) if is_causal else attn_mask
    return attention_weights(q, k, added) @ v


def attention_weights(q: Any, k: Any, added: Any) -> Any:
    """softmax(q k^T / sqrt(d) + what is added)."""
    scale = 1.0 / math.sqrt(extents(q)[-1])
    if added is None:
        return ops.softmax((q * scale) @ ops.transpose(k))
    return ops.softmax((q @ ops.transpose(k)) * scale + added)  # one kernel does both; the product reads q where it lies


def _each(value: Any, count: int) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (int(value), ) * count


def _padded(x: Any, before: Any, after: Any, value: float = 0.0) -> Any:
    """[N, C, *space] with elements of this value around its space, and channels as images of one channel."""
    if any(before) or any(after):
        x = ops.pad(x, [0, 0, *before], [0, 0, *after], value)
    return reshape(x, [*extents(x), 1])


def _padding(padding: Any, kernel: tuple, dilation: tuple) -> tuple:
    if padding == "valid":
        padding = 0
    if padding == "same":
        total = [dilation[i] * (kernel[i] - 1) for i in range(len(kernel))]
        return [one // 2 for one in total], [one - one // 2 for one in total]
    both = list(_each(padding, len(kernel)))
    return both, both


def convolution(x: Any,
                weight: Any,
                bias: Any = None,
                stride: Any = 1,
                padding: Any = 0,
                dilation: Any = 1,
                groups: int = 1) -> Any:
    """A linear layer over the windows. weight: [out, in / groups, *kernel], or (matrix, that shape)."""
    weight, shape = weight if isinstance(weight, tuple) else (weight, extents(weight))
    kernel = shape[2:]
    count = len(kernel)
    single = len(extents(x)) == count + 1
    x = unsqueeze(x, 0) if single else x
    steps, spread = _each(stride, count), _each(dilation, count)
    seen = ops.patches(_padded(x, *_padding(padding, kernel, spread)), kernel, steps, None, spread)
    batch, channels, *out, places = extents(seen)  # to [N, *out, groups, C / groups * places]
    columns = ops.transpose(seen, [0, *range(2, 2 + count), 1, 2 + count])
    wide = channels // groups * places
    flat = weight if len(extents(weight)) == 2 else reshape(weight, [shape[0], wide])
    if groups == 1:
        result = ops.linear(flat, reshape(columns, [batch, *out, wide]))
    else:
        columns = reshape(columns, [batch, *out, groups, wide, 1])
        result = reshape(reshape(flat, [groups, shape[0] // groups, wide]) @ columns, [batch, *out, shape[0]])
    if bias is not None:
        result = result + bias
    result = moved(result, -1, 1)
    return reshape(result, extents(result)[1:]) if single else result


def _pooled(pool: Any, x: Any, count: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
            value: float) -> Any:
    single = len(extents(x)) == count + 1
    kernel = _each(kernel_size, count)
    steps = kernel if stride is None or stride == [] else _each(stride, count)
    both = _each(padding, count)
    result = pool(_padded(unsqueeze(x, 0) if single else x, both, both, value), kernel, steps, None,
                  _each(dilation, count))
    return reshape(result, extents(result)[1 if single else 0:-1])


def max_pool(count: int) -> Any:
    def pool(x: Any,
             kernel_size: Any,
             stride: Any = None,
             padding: Any = 0,
             dilation: Any = 1,
             ceil_mode: bool = False,
             return_indices: bool = False) -> Any:
        if ceil_mode or return_indices:
            raise Unsupported("ceil_mode and return_indices are not supported")
        return _pooled(ops.max_pool, x, count, kernel_size, stride, padding, dilation, -3.0e38)

    return pool


def avg_pool(count: int) -> Any:
    def pool(x: Any,
             kernel_size: Any,
             stride: Any = None,
             padding: Any = 0,
             ceil_mode: bool = False,
             count_include_pad: bool = True,
             divisor_override: Any = None) -> Any:
        if ceil_mode or (not count_include_pad and any(_each(padding, count))):
            raise Unsupported("ceil_mode and count_include_pad=False are not supported")
        result = _pooled(ops.mean_pool, x, count, kernel_size, stride, padding, 1, 0.0)
        if divisor_override is None:
            return result
        return result * (math.prod(_each(kernel_size, count)) / divisor_override)

    return pool


def adaptive_avg_pool(count: int) -> Any:
    def pool(x: Any, output_size: Any) -> Any:
        space = extents(x)[-count:]
        wanted = [have if one is None else one for have, one in zip(space, _each(output_size, count))]
        if any(have % one for have, one in zip(space, wanted)):
            raise Unsupported(
                f"adaptive pooling from {space} to {tuple(wanted)} is not supported; the sizes must divide")
        kernel = tuple(have // one for have, one in zip(space, wanted))
        if all(one == 1 for one in wanted):
            return ops.mean(x, list(range(len(extents(x)) - count, len(extents(x)))), True)
        return avg_pool(count)(x, kernel)

    return pool
