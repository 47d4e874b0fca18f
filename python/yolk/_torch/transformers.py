# SPDX-License-Identifier: Apache-2.0
"""torch's multi-head attention and encoder layers over traced values."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .. import operations as ops
from ..errors import Unsupported
from . import layers
from .values import extents, is_traced, plain, reshape


def refuse_attention(module: Any) -> str | None:
    if module.bias_k is not None or module.add_zero_attn:
        return "add_bias_kv and add_zero_attn are not supported"
    return None


def _projected(net: Any, module: Any, which: int, x: Any) -> Any:
    """Query, key or value of x: its third of in_proj_weight, or its own weight."""
    width = module.embed_dim
    bias = net.parameter(module.in_proj_bias)
    if bias is not None:
        bias = bias[which * width:(which + 1) * width]
    if module.in_proj_weight is None:
        weight = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)[which]
        return layers.linear(x, net.parameter(weight), bias)
    # The whole matrix is multiplied, so that its perturbation may stay in its factors.
    part = ops.linear(net.parameter(module.in_proj_weight), x)[..., which * width:(which + 1) * width]
    return part if bias is None else part + bias


def _all_projected(net: Any, module: Any, query: Any, key: Any, value: Any) -> list:
    if module.in_proj_weight is None or query is not key or key is not value:
        return [_projected(net, module, which, x) for which, x in enumerate((query, key, value))]
    return ops.split(layers.linear(query, net.parameter(module.in_proj_weight), net.parameter(module.in_proj_bias)),
                     [module.embed_dim] * 3, -1)


def _heads(x: Any, heads: int) -> Any:
    """[N, L, E] to [N, heads, L, E / heads]."""
    batch, length, width = extents(x)
    return ops.transpose(reshape(x, [batch, length, heads, width // heads]), [0, 2, 1, 3])


def _added(mask: Any) -> Any:
    """A mask in additive form: True becomes -inf. A traced mask is taken as numbers."""
    if isinstance(mask, torch.Tensor):
        if mask.dtype == torch.bool:
            return np.where(np.asarray(plain(mask)) != 0, -np.inf, 0.0).astype(np.float32)
        return plain(mask)
    if isinstance(mask, np.ndarray) and mask.dtype == bool:
        return np.where(mask, -np.inf, 0.0).astype(np.float32)
    return mask


def _mask(batch: int, rows: int, columns: int, heads: int, key_padding_mask: Any, attn_mask: Any) -> Any:
    added = _added(attn_mask)
    if added is not None and len(extents(added)) == 3:
        added = reshape(added, [batch, heads, rows, columns]) if is_traced(added) else added.reshape(
            batch, heads, rows, columns)
    if key_padding_mask is None:
        return added
    if is_traced(key_padding_mask):
        padding = reshape(ops.where(key_padding_mask, float("-inf"), 0.0), [batch, 1, 1, columns])
    else:
        padding = _added(key_padding_mask).reshape(batch, 1, 1, columns)
    return padding if added is None else padding + added


def multi_head(net: Any,
               module: Any,
               query: Any,
               key: Any,
               value: Any,
               key_padding_mask: Any = None,
               need_weights: bool = True,
               attn_mask: Any = None,
               average_attn_weights: bool = True,
               is_causal: bool = False) -> tuple:
    batched = len(extents(query)) == 3
    same = query is key and key is value
    first = getattr(module, "batch_first", False)

    def ordered(x: Any) -> Any:
        return reshape(x, [1, *extents(x)]) if not batched else x if first else ops.transpose(x, [1, 0, 2])

    query = ordered(query)
    key, value = (query, query) if same else (ordered(key), ordered(value))
    heads = module.num_heads
    q, k, v = (_heads(one, heads) for one in _all_projected(net, module, query, key, value))
    batch, rows, columns = extents(query)[0], extents(q)[2], extents(k)[2]
    if is_causal and attn_mask is None:
        raise Unsupported("is_causal=True needs attn_mask, as in torch")
    added = _mask(batch, rows, columns, heads, key_padding_mask, attn_mask)
    weights = None
    if need_weights or added is not None:
        weights = layers.attention_weights(q, k, added)
        mixed = weights @ v
    else:
        mixed = ops.attention(q, k, v)
    mixed = reshape(ops.transpose(mixed, [0, 2, 1, 3]), [batch, rows, module.embed_dim])
    result = layers.linear(mixed, net.parameter(module.out_proj.weight), net.parameter(module.out_proj.bias))
    if need_weights and average_attn_weights:
        weights = ops.mean(weights, 1)
    weights = weights if need_weights else None
    if not batched:
        return reshape(result, extents(result)[1:]), None if weights is None else reshape(weights, extents(weights)[1:])
    return result if first else ops.transpose(result, [1, 0, 2]), weights


def encoder_layer(net: Any,
                  module: Any,
                  src: Any,
                  src_mask: Any = None,
                  src_key_padding_mask: Any = None,
                  is_causal: bool = False) -> Any:
    def attend(x: Any) -> Any:
        return multi_head(net, module.self_attn, x, x, x, src_key_padding_mask, False, src_mask)[0]

    def forward(x: Any) -> Any:
        return net.call(module.linear2, net.activation(module.activation, net.call(module.linear1, x)))

    if module.norm_first:
        src = src + attend(net.call(module.norm1, src))
        return src + forward(net.call(module.norm2, src))
    src = net.call(module.norm1, src + attend(src))
    return net.call(module.norm2, src + forward(src))


def encoder(net: Any,
            module: Any,
            src: Any,
            mask: Any = None,
            src_key_padding_mask: Any = None,
            is_causal: Any = None) -> Any:
    for one in module.layers:
        src = net.call(one, src, mask, src_key_padding_mask)
    return src if module.norm is None else net.call(module.norm, src)
