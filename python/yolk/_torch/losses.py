# SPDX-License-Identifier: Apache-2.0
"""torch's losses over traced values. A metric is the negative of a loss, since higher is better."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch.nn.functional as F
from torch import nn

from .. import operations as ops
from ..errors import Unsupported
from .activations import log_softmax
from .values import axis_of, extents, moved


def _reduced(x: Any, reduction: str) -> Any:
    if reduction not in ("mean", "sum"):
        raise Unsupported(f"reduction={reduction!r} does not give one number; use \"mean\" or \"sum\"")
    axes = list(range(len(extents(x))))
    return ops.mean(x, axes) if reduction == "mean" else ops.sum(x, axes)


def _check(*given: Any) -> None:
    if any(one is not None for one in given):
        raise Unsupported("weight, pos_weight, size_average and reduce are not supported; use reduction")


def _simple(each: Callable[..., Any]) -> Callable[..., Any]:
    """A loss of two tensors of one shape, element by element."""
    def loss(prediction: Any,
             target: Any,
             size_average: Any = None,
             reduce: Any = None,
             reduction: str = "mean",
             weight: Any = None,
             pos_weight: Any = None,
             **settings: Any) -> Any:
        _check(weight, pos_weight, size_average, reduce)
        if extents(prediction) != extents(target):
            raise Unsupported(f"the prediction has the shape {extents(prediction)}, and the target {extents(target)}")
        return _reduced(each(prediction, target, **settings), reduction)

    return loss


def _huber(x: Any, y: Any, delta: float = 1.0) -> Any:
    size = abs(x - y)
    return ops.where(size < delta, 0.5 * size * size, delta * (size - 0.5 * delta))


def _smooth_l1(x: Any, y: Any, beta: float = 1.0) -> Any:
    return abs(x - y) if beta == 0.0 else _huber(x, y, beta) / beta


def _bce(x: Any, y: Any) -> Any:
    # As in torch the logarithms are at least -100.
    return -(y * ops.maximum(ops.log(x), -100.0) + (1.0 - y) * ops.maximum(ops.log(1.0 - x), -100.0))


def _bce_with_logits(x: Any, y: Any) -> Any:
    return ops.maximum(x, 0.0) - x * y + ops.log(1.0 + ops.exp(-abs(x)))


mse_loss = _simple(lambda x, y: (x - y) * (x - y))
l1_loss = _simple(lambda x, y: abs(x - y))
huber_loss = _simple(_huber)
smooth_l1_loss = _simple(_smooth_l1)
binary_cross_entropy = _simple(_bce)
binary_cross_entropy_with_logits = _simple(_bce_with_logits)


def nll_loss(log_probabilities: Any,
             target: Any,
             weight: Any = None,
             size_average: Any = None,
             ignore_index: int = -100,
             reduce: Any = None,
             reduction: str = "mean",
             label_smoothing: float = 0.0) -> Any:
    """log_probabilities: [C] or [N, C, ...]; target: classes [] or [N, ...], or the shape of log_probabilities."""
    _check(weight, size_average, reduce)
    rank = len(extents(log_probabilities))
    axis = 0 if rank == 1 else 1
    logs = moved(log_probabilities, axis_of(axis, rank), -1)
    classes = extents(logs)[-1]
    if extents(target) == extents(log_probabilities) and rank > 1:
        wanted, counted = moved(target, axis, -1), None
    else:
        if int(np.prod(extents(target))) * classes != int(np.prod(extents(logs))):
            raise Unsupported(
                f"the prediction has the shape {extents(log_probabilities)}, and the classes {extents(target)}")
        ids = ops.reshape(target, [*extents(logs)[:-1], 1])
        wanted, counted = ids == np.arange(classes, dtype=np.float32), ids != float(ignore_index)
    if label_smoothing:
        wanted = wanted * (1.0 - label_smoothing) + label_smoothing / classes
    if counted is not None:
        wanted = wanted * counted
    total = -ops.sum(wanted * logs, list(range(rank)))
    if reduction == "sum":
        return total
    if reduction != "mean":
        raise Unsupported(f"reduction={reduction!r} does not give one number; use \"mean\" or \"sum\"")
    if counted is None:
        return total / float(int(np.prod(extents(logs)[:-1])))
    return total / ops.sum(counted, list(range(rank)))


def cross_entropy(x: Any,
                  target: Any,
                  weight: Any = None,
                  size_average: Any = None,
                  ignore_index: int = -100,
                  reduce: Any = None,
                  reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Any:
    _check(weight, size_average, reduce)
    logs = log_softmax(x, 0 if len(extents(x)) == 1 else 1)
    return nll_loss(logs, target, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing)


_NAMED = {
    "MSELoss": (mse_loss, "mse_loss", ()), "L1Loss": (l1_loss, "l1_loss", ()),
    "HuberLoss": (huber_loss, "huber_loss", ("delta", )),
    "SmoothL1Loss": (smooth_l1_loss, "smooth_l1_loss", ("beta", )), "BCELoss": (binary_cross_entropy,
                                                                                "binary_cross_entropy", ()),
    "BCEWithLogitsLoss": (binary_cross_entropy_with_logits, "binary_cross_entropy_with_logits", ()),
    "NLLLoss": (nll_loss, "nll_loss", ("ignore_index", )), "CrossEntropyLoss": (cross_entropy, "cross_entropy",
                                                                                ("ignore_index", "label_smoothing")),
}


def functions() -> dict[Any, Callable[..., Any]]:
    return {getattr(F, name): function for function, name, _ in _NAMED.values()}


def _apply(function: Callable[..., Any], names: tuple[str, ...]) -> Callable[..., Any]:
    return lambda net, module, x, y: function(
        x, y, reduction=module.reduction, **{name: getattr(module, name)
                                             for name in names})


def _refuse(module: Any) -> str | None:
    if module.reduction not in ("mean", "sum"):
        return f"reduction={module.reduction!r} does not give one number; use \"mean\" or \"sum\""
    if getattr(module, "weight", None) is not None or getattr(module, "pos_weight", None) is not None:
        return "class weights are not supported"
    return None


def modules() -> dict[type, tuple]:
    return {getattr(nn, name): (_apply(function, names), _refuse) for name, (function, _, names) in _NAMED.items()}
