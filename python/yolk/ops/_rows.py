# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import BadInput
from . import _array, _elementwise, _moves
from ._run import around, axes_of, axis_of, filled, flag, real, run

if TYPE_CHECKING:
    from ._array import Array


def _last(x: Any, axis: int, function: Any) -> Any:
    """A kernel of the last axis, along another one."""
    at = axis_of(axis, x.ndim)
    if at == x.ndim - 1:
        return function(x)
    order = [one for one in range(x.ndim) if one != at] + [at]
    back = [order.index(one) for one in range(x.ndim)]
    return _moves.transpose(function(_moves.transpose(x, order)), back)


def _softmax(x: Any, axis: int, is_logarithm: bool) -> Any:
    (value,) = _array.operands(x, names=("x",))

    def rows(array: Any) -> Any:
        columns = array.shape[-1]
        count = array.size // columns if columns else 0
        fields = f"rows={count} columns={columns} log={int(is_logarithm)}"
        return run("softmax", fields, [array], [(array.shape, array.dtype)])[0]

    return _last(value, axis, rows)


def softmax(x: Any, axis: int = -1) -> Array:
    """exp(x) over its sum along an axis, without overflow. float32 of any shape with at least one axis."""
    return _softmax(x, axis, False)


def log_softmax(x: Any, axis: int = -1) -> Array:
    """The logarithm of the softmax along an axis. float32 of any shape with at least one axis."""
    return _softmax(x, axis, True)


def _normalized(x: Any, scale: Any, shift: Any, epsilon: float, rule: str) -> Any:
    given = [value for value in (scale, shift) if value is not None]
    value, *vectors = _array.operands(x, *given, names=("x", "scale" if scale is not None else "shift", "shift"))
    if value.ndim == 0:
        raise BadInput("x has no axes; at least one is needed.")
    columns = value.shape[-1]
    for vector in vectors:
        if vector.shape != (columns,):
            raise BadInput(f"scale and shift have one number for each of the {columns} columns; one has the shape "
                           f"{vector.shape}.")
    count = value.size // columns if columns else 0
    fields = (f"rows={count} columns={columns} rule={rule} scale={'none' if scale is None else 'shared'} "
              f"bias={'none' if shift is None else 'shared'}")
    return run("normalize", fields, [value, *vectors], [(value.shape, value.dtype)],
               {"epsilon": real(epsilon, "epsilon")})[0]


def layer_norm(x: Any, scale: Any = None, shift: Any = None, epsilon: float = 1e-5) -> Array:
    """(x - mean) / sqrt(variance + epsilon) over the last axis, times scale, plus shift, [columns] each. float32."""
    return _normalized(x, scale, shift, epsilon, "layer")


def rms_norm(x: Any, scale: Any = None, epsilon: float = 1e-5) -> Array:
    """x / sqrt(mean(x^2) + epsilon) over the last axis, times scale [columns]. float32."""
    return _normalized(x, scale, None, epsilon, "root_mean_square")


def _of_nothing(operation: str, shape: tuple[int, ...], value: Any) -> Any:
    if operation in ("sum", "mean"):
        return filled(shape, 0.0 if operation == "sum" else math.nan, value.dtype, value._place)
    raise BadInput(f"The {operation} of no elements is not defined; the shape is {value.shape}.")


def _reduced(operation: str, x: Any, axis: Any, keepdims: bool) -> Any:
    (value,) = _array.operands(x, names=("x",))
    keepdims = flag(keepdims, "keepdims")
    axes = axes_of(axis, value.ndim)
    kept = tuple(1 if one in axes else extent for one, extent in enumerate(value.shape))
    shape = kept if keepdims else tuple(extent for one, extent in enumerate(value.shape) if one not in axes)
    dtype = _array.UINT32 if operation == "argmax" else value.dtype
    if axes and axes != list(range(axes[0], axes[-1] + 1)):
        order = [one for one in range(value.ndim) if one not in axes] + axes
        value = _moves.transpose(value, order)
        axes = list(range(value.ndim - len(axes), value.ndim))
    first = axes[0] if axes else 0
    outer = math.prod(value.shape[:first])
    columns = math.prod(value.shape[one] for one in axes)
    inner = value.size // (outer * columns) if outer * columns else math.prod(value.shape[first + len(axes):])
    if columns == 0:
        return _of_nothing(operation, shape, value)
    fields = f"outer={outer} columns={columns} inner={inner} operation={operation}"
    return run("reduce", fields, [value], [(shape, dtype)])[0]


def sum(x: Any, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """The sum over an axis, several, or all, in an order that depends on their sizes alone. float32."""
    return _reduced("sum", x, axis, keepdims)


def mean(x: Any, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """The mean over an axis, several, or all; NaN of no elements. float32."""
    return _reduced("mean", x, axis, keepdims)


def max(x: Any, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """The largest over an axis, several, or all; NaN where there is one. Raises BadInput for no elements."""
    return _reduced("max", x, axis, keepdims)


def min(x: Any, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """The smallest over an axis, several, or all; NaN where there is one. Raises BadInput for no elements."""
    return _reduced("min", x, axis, keepdims)


def argmax(x: Any, axis: int | None = None, keepdims: bool = False) -> Array:
    """The first index of the largest, or of a NaN, along an axis or in all elements. uint32."""
    return _reduced("argmax", x, axis, keepdims)


def cumsum(x: Any, axis: int | None = None) -> Array:
    """Running sums along an axis; without one along all elements, flattened. float32."""
    (value,) = _array.operands(x, names=("x",))
    if axis is None:
        value, axis = _moves.reshape(value, (-1,) if value.size else (0,)), 0
    outer, columns, inner = around(value.shape, axis_of(axis, value.ndim))
    fields = f"outer={outer} columns={columns} inner={inner}"
    return run("cumulative_sum", fields, [value], [(value.shape, value.dtype)])[0]


cumulative_sum = cumsum


def cross_entropy(logits: Any, labels: Any) -> Array:
    """The mean of -log_softmax(logits)[row, labels[row]]: logits [rows, classes] float32, labels [rows] whole numbers.

    Raises BadInput for other shapes, and for labels of the host that are not classes."""
    (value,) = _array.operands(logits, names=("logits",))
    if value.ndim != 2:
        raise BadInput(f"logits has the shape {value.shape}; [rows, classes] is needed.")
    rows, classes = value.shape
    chosen = _moves._ids_of(labels, classes, value)
    if chosen.shape != (rows,):
        raise BadInput(f"labels has the shape {chosen.shape}; ({rows},) is needed.")
    fields = f"members={rows} table_rows={classes} columns=1 ids=1"
    picked = run("gather", fields, [log_softmax(value), chosen, None], [((rows,), value.dtype), None])[0]
    return _elementwise.negative(mean(picked))
