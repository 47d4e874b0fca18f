# SPDX-License-Identifier: Apache-2.0
"""Activations as torch defines them, over traced values."""

from __future__ import annotations

import math
from typing import Any

from .. import operations as ops
from ..errors import Unsupported


def erf(x: Any) -> Any:
    """Abramowitz and Stegun 7.1.26: within 1.5e-7."""
    size = abs(x)
    t = 1.0 / (1.0 + 0.3275911 * size)
    series = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t
    value = 1.0 - series * ops.exp(-(x * x))
    return ops.where(x < 0.0, -value, value)


def gelu(x: Any, approximate: str = "none") -> Any:
    return ops.gelu(x) if approximate == "tanh" else 0.5 * x * (1.0 + erf(x * math.sqrt(0.5)))


def softplus(x: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    scaled = x * beta
    # log(1 + exp(y)) by its larger part, so that nothing overflows.
    value = (ops.maximum(scaled, 0.0) + ops.log(1.0 + ops.exp(-abs(scaled)))) / beta
    return ops.where(scaled > threshold, x, value)


def relu(x: Any, inplace: bool = False) -> Any:
    return ops.relu(x)


def relu6(x: Any, inplace: bool = False) -> Any:
    return ops.clip(x, 0.0, 6.0)


def silu(x: Any, inplace: bool = False) -> Any:
    return ops.silu(x)


def leaky_relu(x: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    return ops.where(x > 0.0, x, negative_slope * x)


def prelu(x: Any, weight: Any) -> Any:
    channels = weight.shape[0]
    if channels > 1 and x.ndim > 1:
        weight = ops.reshape(weight, [channels] + [1] * (x.ndim - 2))
    return ops.where(x > 0.0, x, weight * x)


def elu(x: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    return ops.where(x > 0.0, x, alpha * (ops.exp(ops.minimum(x, 0.0)) - 1.0))


def celu(x: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    return ops.where(x > 0.0, x, alpha * (ops.exp(ops.minimum(x, 0.0) / alpha) - 1.0))


def selu(x: Any, inplace: bool = False) -> Any:
    return 1.0507009873554804934 * elu(x, 1.6732632423543772848)


def hardtanh(x: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    return ops.clip(x, min_val, max_val)


def hardsigmoid(x: Any, inplace: bool = False) -> Any:
    return ops.clip(x + 3.0, 0.0, 6.0) / 6.0


def hardswish(x: Any, inplace: bool = False) -> Any:
    return x * hardsigmoid(x)


def mish(x: Any, inplace: bool = False) -> Any:
    return x * ops.tanh(softplus(x))


def softsign(x: Any) -> Any:
    return x / (1.0 + abs(x))


def tanhshrink(x: Any) -> Any:
    return x - ops.tanh(x)


def logsigmoid(x: Any) -> Any:
    return ops.minimum(x, 0.0) - ops.log(1.0 + ops.exp(-abs(x)))


def threshold(x: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    return ops.where(x > threshold, x, value)


def glu(x: Any, dim: int = -1) -> Any:
    half = x.shape[dim] // 2
    if 2 * half != x.shape[dim]:
        raise Unsupported(f"glu needs an even extent; it is {x.shape[dim]}")
    first, second = ops.split(x, [half, half], dim)
    return first * ops.sigmoid(second)


def softmax(x: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    if dim is None:  # torch's rule for a missing dim
        dim = 0 if x.ndim in (1, 3) else 1
    return ops.softmax(x, dim)


def log_softmax(x: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    if dim is None:
        dim = 0 if x.ndim in (1, 3) else 1
    return ops.log_softmax(x, dim)
