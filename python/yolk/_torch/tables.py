# SPDX-License-Identifier: Apache-2.0
"""The supported functions, methods and attributes of torch, and what implements them here."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from .. import operations as ops
from . import activations, layers, losses, tensors
from .values import taken


def _ignoring(function: Callable[..., Any]) -> Callable[..., Any]:
    """Takes one operand, and ignores torch's keywords such as `out`."""
    return lambda x, **_: function(x)


ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "abs": abs, "absolute": abs, "neg": operator.neg, "negative": operator.neg, "sqrt": ops.sqrt, "rsqrt": ops.rsqrt,
    "sin": ops.sin, "cos": ops.cos, "exp": ops.exp, "log": ops.log, "floor": ops.floor, "round": ops.round,
    "relu": ops.relu, "tanh": ops.tanh, "sigmoid": ops.sigmoid, "square": lambda x: x * x, "erf": activations.erf,
    "reciprocal": lambda x: 1.0 / x, "trunc": tensors.truncated, "ceil": lambda x: -ops.floor(-x), "sign": tensors.sign,
    "logical_not": tensors.logical_not, "log1p": lambda x: ops.log(1.0 + x), "expm1": lambda x: ops.exp(x) - 1.0,
    "tan": lambda x: ops.sin(x) / ops.cos(x), "log2": lambda x: ops.log(x) * (1.0 / math.log(2.0)),
    "frac": lambda x: x - tensors.truncated(x), "deg2rad": lambda x: x * (math.pi / 180.0),
}
BINARY: dict[str, Callable[..., Any]] = {
    "mul": operator.mul, "multiply": operator.mul, "true_divide": operator.truediv, "matmul": operator.matmul,
    "mm": operator.matmul, "bmm": operator.matmul, "mv": operator.matmul, "dot": operator.matmul,
    "maximum": ops.maximum, "minimum": ops.minimum, "fmod": lambda a, b: a - b * tensors.truncated(a / b),
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "floor_divide": tensors.floor_divide, "remainder": tensors.remainder, "pow": tensors.power,
    "logical_and": tensors.logical_and, "logical_or": tensors.logical_or, "add": tensors.add, "sub": tensors.sub,
    "subtract": tensors.sub, "rsub": tensors.rsub, "div": tensors.div, "divide": tensors.div,
}
SHAPES: dict[str, Callable[..., Any]] = {
    "reshape": tensors.view, "flatten": tensors.flatten, "unflatten": tensors.unflatten, "squeeze": tensors.squeeze,
    "unsqueeze": tensors.unsqueeze, "permute": tensors.permute, "transpose": tensors.transpose,
    "swapaxes": tensors.transpose, "t": tensors.t, "movedim": tensors.movedim, "cat": tensors.cat,
    "concat": tensors.cat, "concatenate": tensors.cat, "stack": tensors.stack, "split": tensors.split,
    "chunk": tensors.chunk, "unbind": tensors.unbind, "select": tensors.select, "narrow": tensors.narrow,
    "flip": tensors.flip, "index_select": tensors.index_select, "broadcast_to": tensors.expand, "numel": tensors.numel,
    "tril": tensors.tril, "triu": tensors.triu, "zeros_like": tensors.like(torch.zeros),
    "ones_like": tensors.like(torch.ones), "full_like": tensors.full_like, "clone": tensors.same,
}
REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": tensors.sum_of, "mean": tensors.mean, "amax": tensors.amax, "amin": tensors.amin, "max": tensors.max_of,
    "min": tensors.min_of, "argmax": tensors.argmax, "argmin": tensors.argmin, "var": tensors.variance,
    "std": tensors.deviation, "norm": tensors.norm, "logsumexp": tensors.logsumexp, "cumsum": tensors.cumsum,
    "softmax": activations.softmax, "log_softmax": activations.log_softmax,
}
OTHERS: dict[str, Callable[..., Any]] = {"clamp": tensors.clamp, "clip": tensors.clamp, "masked_fill": tensors.masked_fill, "addmm": tensors.addmm}
# Methods without a function of the same name, or with other arguments.
METHODS: dict[str, Callable[..., Any]] = {
    "view": tensors.view, "expand": tensors.expand, "repeat": tensors.repeat, "size": tensors.size,
    "to": tensors.converted, "dim": lambda x: len(x.shape), "type_as": tensors.same, "contiguous": tensors.same,
    "detach": ops.stop_gradient, "float": tensors.same, "double": tensors.same, "half": tensors.same,
    "cpu": tensors.same, "long": tensors.whole, "int": tensors.whole, "bool": tensors.truth,
    "view_as": lambda x, y: tensors.view(x, *y.shape), "expand_as": lambda x, y: tensors.expand(x, *y.shape),
    "reshape_as": lambda x, y: tensors.view(x, *y.shape), "masked_fill_": tensors.masked_fill,
    "where": lambda a, condition, b: ops.where(condition, a, b),
}


def _functionals() -> dict[Any, Callable[..., Any]]:
    a, n = activations, layers
    named: dict[str, Callable[..., Any]] = {
        "linear": n.linear, "bilinear": n.bilinear, "embedding": n.embedding, "layer_norm": n.layer_norm,
        "rms_norm": n.rms_norm, "group_norm": n.group_norm, "batch_norm": n.batch_norm, "dropout": n.dropout,
        "dropout1d": n.dropout, "dropout2d": n.dropout, "dropout3d": n.dropout, "alpha_dropout": n.dropout,
        "scaled_dot_product_attention": n.attention, "conv1d": n.convolution, "conv2d": n.convolution,
        "conv3d": n.convolution, "pad": tensors.pad, "normalize": tensors.normalize, "relu": a.relu, "relu_": a.relu,
        "relu6": a.relu6, "gelu": a.gelu, "silu": a.silu, "leaky_relu": a.leaky_relu, "prelu": a.prelu, "elu": a.elu,
        "celu": a.celu, "selu": a.selu, "hardtanh": a.hardtanh, "hardsigmoid": a.hardsigmoid, "hardswish": a.hardswish,
        "mish": a.mish, "softplus": a.softplus, "softsign": a.softsign, "tanhshrink": a.tanhshrink,
        "logsigmoid": a.logsigmoid, "threshold": a.threshold, "glu": a.glu, "softmax": a.softmax,
        "log_softmax": a.log_softmax, "tanh": ops.tanh, "sigmoid": ops.sigmoid,
    }
    for count in (1, 2, 3):
        named[f"max_pool{count}d"] = n.max_pool(count)
        named[f"avg_pool{count}d"] = n.avg_pool(count)
        named[f"adaptive_avg_pool{count}d"] = n.adaptive_avg_pool(count)
    return {getattr(F, name): function for name, function in named.items() if hasattr(F, name)}


def _functions() -> dict[Any, Callable[..., Any]]:
    table: dict[Any, Callable[..., Any]] = {
        getattr(torch, name): _ignoring(function)
        for name, function in ELEMENTWISE.items() if hasattr(torch, name)
    }
    for group in (BINARY, SHAPES, REDUCTIONS, OTHERS):
        table |= {getattr(torch, name): function for name, function in group.items() if hasattr(torch, name)}
    table |= _functionals() | losses.functions()
    table[torch.where] = tensors.where
    for name in ("add", "sub", "mul", "truediv", "matmul", "neg", "abs", "eq", "ne", "lt", "le", "gt", "ge"):
        table[getattr(operator, name)] = getattr(operator, name)
    table |= {
        operator.pow: tensors.power, operator.floordiv: tensors.floor_divide, operator.mod: tensors.remainder,
        operator.iadd: operator.add, operator.isub: operator.sub, operator.imul: operator.mul,
        operator.itruediv: operator.truediv, operator.getitem: taken, operator.and_: tensors.logical_and,
        operator.or_: tensors.logical_or, operator.invert: tensors.logical_not, operator.pos: tensors.same
    }
    return table


FUNCTIONS = _functions()
METHODS = {
    **ELEMENTWISE, **BINARY, **SHAPES, **REDUCTIONS, **OTHERS, **METHODS,
    **{f"{name}_": BINARY[name]
       for name in ("add", "sub", "mul", "div")}
}
ATTRIBUTES: dict[str, Callable[[Any], Any]] = {
    "shape": lambda x: torch.Size(x.shape), "ndim": lambda x: len(x.shape), "T": tensors.t,
    "mT": lambda x: tensors.transpose(x, -1, -2), "dtype": lambda x: torch.float32,
    "device": lambda x: torch.device("cpu"), "is_cuda": lambda x: False
}
