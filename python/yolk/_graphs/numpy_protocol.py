# SPDX-License-Identifier: Apache-2.0
"""NumPy's protocols for traced values: np.tanh(x), np.sum(x, axis=0), array + x become operations of the graph."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

from .._core import Traced, operations as ops
from ..errors import Untraceable

_UFUNCS: dict[str, Callable[..., Any]] = {
    "add": ops.add, "subtract": ops.subtract, "multiply": ops.multiply, "divide": ops.divide, "true_divide": ops.divide,
    "negative": ops.negative, "positive": lambda x: x, "power": ops.power, "float_power": ops.power, "matmul": ops.matmul,
    "maximum": ops.maximum, "minimum": ops.minimum, "less": ops.less, "less_equal": ops.less_equal,
    "greater": ops.greater, "greater_equal": ops.greater_equal, "equal": ops.equal, "not_equal": ops.not_equal,
    "absolute": ops.absolute, "fabs": ops.absolute, "sqrt": ops.sqrt, "exp": ops.exp, "log": ops.log, "sin": ops.sin,
    "cos": ops.cos, "tanh": ops.tanh, "floor": ops.floor, "rint": ops.round,
    "square": lambda x: x * x, "reciprocal": lambda x: 1.0 / x, "ceil": lambda x: -ops.floor(-x),
    "sign": lambda x: (x > 0.0) - (x < 0.0),
    "logical_and": lambda a, b: ops.minimum(_truth(a), _truth(b)),
    "logical_or": lambda a, b: ops.maximum(_truth(a), _truth(b)), "logical_not": lambda x: 1.0 - _truth(x),
}


def _truth(x: Any) -> Any:
    return ops.not_equal(x, 0.0)


def _axes(x: Any, axis: Any, keepdims: Any) -> dict[str, Any]:
    return {"axis": list(axis) if isinstance(axis, tuple) else axis, "keepdims": bool(keepdims)}


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, axis=None, keepdims=False: function(a, **_axes(a, axis, keepdims))


def _variance(a: Any, axis: Any = None, ddof: float = 0, keepdims: Any = False) -> Any:
    kept = {**_axes(a, axis, True)}
    away = a - ops.mean(a, **kept)
    mean = ops.mean(away * away, **_axes(a, axis, keepdims))
    if not ddof:
        return mean
    along = range(a.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    count = 1
    for one in along:
        count *= a.shape[one]
    return mean * (count / (count - ddof))


def _arg(largest: bool) -> Callable[..., Any]:
    def function(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
        if keepdims:
            raise Untraceable("np.argmax and np.argmin of a traced value take no keepdims; reshape the result.")
        flat = ops.reshape(a, [_size(a)]) if axis is None else a
        return ops.argmax(flat if largest else -flat, axis=-1 if axis is None else axis)
    return function


def _size(a: Any) -> int:
    size = 1
    for extent in a.shape:
        size *= extent
    return size


def _full(a: Any, value: float) -> Any:
    return ops.broadcast_to([float(value)], list(a.shape))


def _reshape(a: Any, shape: Any = None, newshape: Any = None) -> Any:
    wanted = shape if shape is not None else newshape
    wanted = [wanted] if isinstance(wanted, int) else list(wanted)
    if wanted.count(-1) == 1:
        known = 1
        for extent in wanted:
            known *= 1 if extent == -1 else extent
        wanted[wanted.index(-1)] = _size(a) // known if known else 0
    if any(extent < 0 for extent in wanted):
        raise Untraceable(f"A traced value cannot be given the shape {tuple(wanted)}; extents, and -1 once, are taken.")
    return ops.reshape(a, wanted)


def _transpose(a: Any, axes: Any = None) -> Any:
    return ops.transpose(a, list(axes) if axes is not None else list(reversed(range(a.ndim))))


def _swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    order = list(range(a.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return ops.transpose(a, order)


def _moveaxis(a: Any, source: int, destination: int) -> Any:
    order = list(range(a.ndim))
    order.insert(destination % a.ndim, order.pop(source))
    return ops.transpose(a, order)


def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None or y is None:
        raise Untraceable("np.where of a traced condition alone gives as many values as there are true ones, which is not "
                          "known while tracing. Use np.where(condition, a, b).")
    return ops.where(condition, x, y)


def _clip(a: Any, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None) -> Any:
    low, high = (a_min if a_min is not None else min), (a_max if a_max is not None else max)
    if low is not None:
        a = ops.maximum(a, low)
    return a if high is None else ops.minimum(a, high)


def _dot(a: Any, b: Any) -> Any:
    ranks = [getattr(value, "ndim", 0) for value in (a, b)]
    if 0 in ranks:
        return ops.multiply(a, b)
    if max(ranks) > 2:
        raise Untraceable("np.dot of traced values takes vectors and matrices; use np.matmul for stacks of matrices.")
    return ops.matmul(a, b)


def _outer(a: Any, b: Any) -> Any:
    return ops.multiply(_reshape(a, (-1, 1)), _reshape(b, (1, -1)) if hasattr(b, "shape") else b)


def _expand_dims(a: Any, axis: int) -> Any:
    shape = list(a.shape)
    shape.insert(axis if axis >= 0 else axis + a.ndim + 1, 1)
    return ops.reshape(a, shape)


def _squeeze(a: Any, axis: Any = None) -> Any:
    gone = [axis] if isinstance(axis, int) else list(axis) if axis is not None else None
    gone = [index for index, extent in enumerate(a.shape) if extent == 1] if gone is None else [one % a.ndim for one in gone]
    return ops.reshape(a, [extent for index, extent in enumerate(a.shape) if index not in gone] or [1])


def _joined(parts: Any, rank: int) -> list[Any]:
    return [part if getattr(part, "ndim", 0) >= rank else _reshape(part, (1, -1)) for part in parts]


def _split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    extent = ary.shape[axis]
    if isinstance(indices_or_sections, int):
        if extent % indices_or_sections:
            raise Untraceable(f"np.split of {extent} elements into {indices_or_sections} equal parts is not possible.")
        sizes = [extent // indices_or_sections] * indices_or_sections
    else:
        cuts = [0, *indices_or_sections, extent]
        sizes = [after - before for before, after in zip(cuts, cuts[1:])]
    return ops.split(ary, sizes, axis)


def _pad(array: Any, pad_width: Any, mode: str = "constant", constant_values: float = 0.0) -> Any:
    if mode != "constant":
        raise Untraceable(f"np.pad of a traced value takes mode='constant'; mode={mode!r} was given.")
    given = [pad_width] * array.ndim if isinstance(pad_width, int) else list(pad_width)
    pairs = [(pair, pair) if isinstance(pair, int) else pair for pair in given]
    pairs = pairs * array.ndim if len(pairs) == 1 else pairs
    return ops.pad(array, [pair[0] for pair in pairs], [pair[1] for pair in pairs], float(constant_values))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sum": _reduction(ops.sum), "mean": _reduction(ops.mean), "max": _reduction(ops.max), "amax": _reduction(ops.max),
    "min": _reduction(ops.min), "amin": _reduction(ops.min), "var": _variance,
    "std": lambda a, axis=None, ddof=0, keepdims=False: ops.sqrt(_variance(a, axis, ddof, keepdims)),
    "argmax": _arg(True), "argmin": _arg(False), "where": _where, "clip": _clip,
    "cumsum": lambda a, axis=None: ops.cumsum(_reshape(a, -1) if axis is None else a, axis=-1 if axis is None else axis),
    "reshape": _reshape, "ravel": lambda a: _reshape(a, -1), "transpose": _transpose, "swapaxes": _swapaxes,
    "moveaxis": _moveaxis, "expand_dims": _expand_dims, "squeeze": _squeeze, "dot": _dot, "outer": _outer,
    "vdot": lambda a, b: _dot(_reshape(a, -1), _reshape(b, -1)),
    "inner": lambda a, b: ops.linear(b, a) if getattr(b, "ndim", 0) == 2 else _dot(a, b),
    "broadcast_to": lambda array, shape: ops.broadcast_to(array, [shape] if isinstance(shape, int) else list(shape)),
    "concatenate": lambda arrays, axis=0: ops.concatenate(list(arrays), axis),
    "stack": lambda arrays, axis=0: ops.stack(list(arrays), axis),
    "vstack": lambda tup: ops.concatenate(_joined(tup, 2), 0),
    "hstack": lambda tup: ops.concatenate(list(tup), 0 if all(getattr(part, "ndim", 0) < 2 for part in tup) else 1),
    "split": _split, "pad": _pad,
    "take": lambda a, indices, axis=None: ops.gather(
        _reshape(a, -1) if axis is None else a, indices, 0 if axis is None else axis),
    "zeros_like": lambda a: _full(a, 0.0), "ones_like": lambda a: _full(a, 1.0),
    "full_like": lambda a, fill_value: _full(a, fill_value),
    "round": lambda a, decimals=0: ops.round(a) if decimals == 0 else ops.round(a * 10.0**decimals) / 10.0**decimals,
    "around": lambda a, decimals=0: ops.round(a) if decimals == 0 else ops.round(a * 10.0**decimals) / 10.0**decimals,
    "shape": lambda a: a.shape, "ndim": lambda a: a.ndim,
    "size": lambda a, axis=None: _size(a) if axis is None else a.shape[axis],
}

_INSTEAD = {
    "einsum": "Use `@`, np.transpose and np.sum.", "tensordot": "Use np.reshape and `@`.",
    "nonzero": "Use np.where(condition, a, b).", "log1p": "Use np.log(1.0 + x).", "expm1": "Use np.exp(x) - 1.0.",
    "log2": "Use np.log(x) * 1.4426950408889634.", "log10": "Use np.log(x) * 0.4342944819032518.",
    "tan": "Use np.sin(x) / np.cos(x).", "sinh": "Use (np.exp(x) - np.exp(-x)) / 2.0.",
    "cosh": "Use (np.exp(x) + np.exp(-x)) / 2.0.", "prod": "Use np.exp(np.sum(np.log(x))) where all are positive.",
    "hypot": "Use np.sqrt(a * a + b * b).", "mod": "Use a - np.floor(a / b) * b.",
    "remainder": "Use a - np.floor(a / b) * b.", "floor_divide": "Use np.floor(a / b).",
}


def _refused(name: str, why: str = "") -> Untraceable:
    instead = why or _INSTEAD.get(name, "Compose it of the functions of yolk.operations, or put it into a yolk.host_function.")
    return Untraceable(f"np.{name} of a traced value is not possible. {instead}")


def _ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **given: Any) -> Any:
    name = ufunc.__name__
    if method == "reduce" and name in ("add", "maximum", "minimum"):
        like = {"add": "sum", "maximum": "max", "minimum": "min"}[name]
        return _FUNCTIONS[like](*inputs, **{"axis": 0, **given})
    if method != "__call__":
        raise _refused(f"{name}.{method}", "Use np.sum, np.max and their like.")
    if given.get("out") is not None:
        raise _refused(name, "An array cannot take a traced value in place: write x = x + y for x += y, without out=.")
    if given:
        raise _refused(name, f"It takes no {', '.join(given)} there.")
    if name not in _UFUNCS:
        raise _refused(name)
    return _UFUNCS[name](*inputs)


def _function(self: Any, function: Any, types: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
    name = function.__name__.removesuffix("_")  # NumPy 1's np.round is round_
    if name not in _FUNCTIONS:
        raise _refused(name)
    try:
        return _FUNCTIONS[name](*positional, **named)
    except TypeError as reason:
        if "argument" not in str(reason) or isinstance(reason, Untraceable):
            raise
        raise _refused(name, f"There it takes fewer arguments than NumPy's: {reason}.") from None


def _method(name: str, function: Any, returned: Any = Traced) -> Any:
    """The function as Traced's own, by this name: tracebacks and stubs show it so."""
    own = types.FunctionType(function.__code__, function.__globals__, name, function.__defaults__, function.__closure__)
    own.__kwdefaults__, own.__doc__ = function.__kwdefaults__, function.__doc__
    own.__module__, own.__qualname__ = Traced.__module__, f"Traced.{name}"
    # Without them, programs that are checked strictly could not call it. The first is `self`.
    given = inspect.signature(function).parameters
    own.__annotations__ = {**{one: Any for one in list(given)[1:]}, "return": returned}
    return own


def _methods() -> None:
    methods: dict[str, Any] = {name: _FUNCTIONS[name] for name in (
        "sum", "mean", "max", "min", "var", "std", "argmax", "argmin", "cumsum", "clip", "squeeze", "dot", "ravel",
        "swapaxes")}
    methods["reshape"] = lambda self, *shape: _reshape(self, shape[0] if len(shape) == 1 else shape)
    methods["transpose"] = lambda self, *axes: _transpose(self, axes[0] if len(axes) == 1 else axes or None)
    methods["flatten"] = _FUNCTIONS["ravel"]
    methods["__array_ufunc__"] = _ufunc
    methods["__array_function__"] = _function
    for name, method in methods.items():
        setattr(Traced, name, _method(name, method, Any if name.startswith("__") else Traced))
    setattr(Traced, "size", property(_method("size", _size, int)))


_methods()
