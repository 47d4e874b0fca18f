# SPDX-License-Identifier: Apache-2.0
"""Rules for the modules of torch.nn. A rule takes the net, the module, and the arguments of forward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import nn

from .. import operations as ops
from . import activations as a
from . import layers, losses, recurrent, tensors, transformers


class Rule(NamedTuple):
    apply: Callable[..., Any]
    refuse: Callable[[Any], str | None] = lambda module: None  # why this module is not supported
    note: str = ""  # how it differs from training


def _of(function: Callable[..., Any], *names: str, **fixed: Any) -> Rule:
    """An activation: the function with some of the module's attributes."""
    return Rule(lambda net, module, x: function(x, *(getattr(module, name) for name in names), **fixed))


def _linear(net: Any, module: Any, x: Any) -> Any:
    return layers.linear(x, net.parameter(module.weight), net.parameter(module.bias))


def _bilinear(net: Any, module: Any, x: Any, y: Any) -> Any:
    return layers.bilinear(x, y, net.matrix(module.weight), net.parameter(module.bias))


def _embedding(net: Any, module: Any, ids: Any) -> Any:
    return layers.embedding(ids, net.parameter(module.weight))


def _layer_norm(net: Any, module: Any, x: Any) -> Any:
    return layers.layer_norm(x, module.normalized_shape, net.parameter(module.weight), net.parameter(module.bias),
                             module.eps)


def _rms_norm(net: Any, module: Any, x: Any) -> Any:
    return layers.rms_norm(x, module.normalized_shape, net.parameter(module.weight), module.eps)


def _group_norm(net: Any, module: Any, x: Any) -> Any:
    return layers.group_norm(x, module.num_groups, net.parameter(module.weight), net.parameter(module.bias), module.eps)


def _batch_norm(net: Any, module: Any, x: Any) -> Any:
    return layers.batch_norm(x,
                             net.constant(module.running_mean),
                             net.constant(module.running_var),
                             net.parameter(module.weight),
                             net.parameter(module.bias),
                             eps=module.eps)


def _convolution(net: Any, module: Any, x: Any) -> Any:
    return layers.convolution(x, net.matrix(module.weight), net.parameter(module.bias), module.stride, module.padding,
                              module.dilation, module.groups)


def _prelu(net: Any, module: Any, x: Any) -> Any:
    return a.prelu(x, net.parameter(module.weight))


def _max_pool(count: int) -> Rule:
    return Rule(lambda net, m, x: layers.max_pool(count)(x, m.kernel_size, m.stride, m.padding, m.dilation),
                lambda m: "ceil_mode and return_indices are not supported" if m.ceil_mode or m.return_indices else None)


def _avg_pool(count: int) -> Rule:
    return Rule(
        lambda net, m, x: layers.avg_pool(count)
        (x, m.kernel_size, m.stride, m.padding, m.ceil_mode, m.count_include_pad, getattr(m, "divisor_override", None)),
        lambda m: "ceil_mode is not supported" if m.ceil_mode else None)


def _refuse_embedding(module: Any) -> str | None:
    return None if module.max_norm is None else "max_norm modifies the table in forward"


def _refuse_batch_norm(module: Any) -> str | None:
    if module.running_mean is None:
        return "without running statistics an output depends on the rest of the batch; use LayerNorm or GroupNorm"
    return None


def _refuse_convolution(module: Any) -> str | None:
    mode = module.padding_mode
    return None if mode == "zeros" else f"padding_mode={mode!r} is not supported; use \"zeros\""


def _activations() -> dict[str, Rule]:
    return {
        "ReLU": _of(a.relu), "ReLU6": _of(a.relu6), "SiLU": _of(a.silu), "Tanh": _of(ops.tanh),
        "Sigmoid": _of(ops.sigmoid), "Mish": _of(a.mish), "Hardswish": _of(a.hardswish),
        "Hardsigmoid": _of(a.hardsigmoid), "LogSigmoid": _of(a.logsigmoid), "Softsign": _of(a.softsign),
        "Tanhshrink": _of(a.tanhshrink), "SELU": _of(a.selu), "GELU": _of(a.gelu, "approximate"),
        "LeakyReLU": _of(a.leaky_relu, "negative_slope"), "ELU": _of(a.elu, "alpha"), "CELU": _of(a.celu, "alpha"),
        "Hardtanh": _of(a.hardtanh, "min_val",
                        "max_val"), "GLU": _of(a.glu, "dim"), "Softplus": _of(a.softplus, "beta", "threshold"),
        "Threshold": _of(a.threshold, "threshold",
                         "value"), "Softmax": _of(a.softmax, "dim"), "LogSoftmax": _of(a.log_softmax,
                                                                                       "dim"), "PReLU": Rule(_prelu),
        "Identity": _of(tensors.same), "Flatten": _of(tensors.flatten, "start_dim",
                                                      "end_dim"), "Unflatten": _of(tensors.unflatten, "dim",
                                                                                   "unflattened_size"),
    }


def _rules() -> dict[type, Rule]:
    dropout = Rule(lambda net, module, x: x, note="does nothing, as in eval()")
    norm = Rule(_batch_norm, _refuse_batch_norm, "uses its running statistics, as in eval()")
    named = {
        **_activations(), "Linear": Rule(_linear), "Bilinear": Rule(_bilinear),
        "Embedding": Rule(_embedding, _refuse_embedding), "LayerNorm": Rule(_layer_norm), "RMSNorm": Rule(_rms_norm),
        "GroupNorm": Rule(_group_norm), "GRUCell": Rule(recurrent.cell), "LSTMCell": Rule(recurrent.cell),
        "RNNCell": Rule(recurrent.cell), "GRU": Rule(recurrent.layer, recurrent.refuse_layer),
        "LSTM": Rule(recurrent.layer, recurrent.refuse_layer), "RNN": Rule(recurrent.layer, recurrent.refuse_layer),
        "MultiheadAttention": Rule(transformers.multi_head, transformers.refuse_attention),
        "TransformerEncoderLayer": Rule(transformers.encoder_layer), "TransformerEncoder": Rule(transformers.encoder),
        "Dropout": dropout, "Dropout1d": dropout, "Dropout2d": dropout, "Dropout3d": dropout, "AlphaDropout": dropout,
    }
    for count in (1, 2, 3):
        named |= {
            f"Conv{count}d": Rule(_convolution, _refuse_convolution), f"BatchNorm{count}d": norm,
            f"MaxPool{count}d": _max_pool(count), f"AvgPool{count}d": _avg_pool(count),
            f"AdaptiveAvgPool{count}d": _of(layers.adaptive_avg_pool(count), "output_size")
        }
    table = {getattr(nn, name): rule for name, rule in named.items() if hasattr(nn, name)}
    return table | {kind: Rule(*parts) for kind, parts in losses.modules().items()}


RULES = _rules()


def rule_of(module: Any) -> Rule | None:
    """The rule of its class, or of a base class whose forward it inherits."""
    for kind in type(module).__mro__:
        if kind in RULES:
            return RULES[kind] if type(module).forward is getattr(kind, "forward", None) else None
    return None
