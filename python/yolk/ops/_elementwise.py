# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import BadInput
from . import _array, _moves
from ._run import run

if TYPE_CHECKING:
    from ._array import Array

_MOST_AXES = 16
_MOST_RUNS = 5  # of axes that operands have, between axes that they lack
_MOST = float(np.finfo(np.float32).max)


def broadcast_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    if all(shape == shapes[0] for shape in shapes):
        return shapes[0]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as reason:
        raise BadInput(f"The shapes {' and '.join(map(str, shapes))} do not fit each other: from the last axis on, "
                       "extents are equal or 1.") from reason


def _is_number(value: Any) -> bool:
    """One that a kernel takes as it is, without an array."""
    is_one = isinstance(value, (int, float, np.floating, np.integer)) and not isinstance(value, np.ndarray)
    return is_one and abs(value) <= _MOST


def _axes(shape: tuple[int, ...], values: list[Any]) -> tuple[list[int], list[int]]:
    """The result's extents, and the bits of those that each value has. Neighbours that no value tells apart are one."""
    extents: list[int] = []
    kept: list[list[bool]] = []
    shapes = [(1,) * (len(shape) - value.ndim) + value.shape for value in values]
    for axis, extent in enumerate(shape):
        has = [one[axis] != 1 for one in shapes]
        if extent == 1:
            continue
        if kept and kept[-1] == has:
            extents[-1] *= extent
        else:
            extents.append(extent)
            kept.append(has)
    if not extents:
        return [1], [1] * len(values)
    return extents, [sum(1 << axis for axis, has in enumerate(kept) if has[i]) for i in range(len(values))]


def _applied(operation: str, *operands: Any, names: tuple[str, ...] = ()) -> Any:
    """One operation on arrays and numbers, repeated by NumPy's rule."""
    is_number = [any(isinstance(other, _array.Array) for other in operands) and _is_number(one) for one in operands]
    arrays = [one for one, number in zip(operands, is_number) if not number]
    values = _array.operands(*arrays, names=tuple(name for name, number in zip(names, is_number) if not number))
    shape = broadcast_shape(*(value.shape for value in values))
    extents, inputs = _axes(shape, values)
    runs = {run.span() for bits in inputs for run in re.finditer("1+", f"{bits:b}")}
    if len(extents) > _MOST_AXES or len(runs) > _MOST_RUNS:
        values = [_moves.broadcast_to(value, shape) for value in values]
        extents, inputs = _axes(shape, values)
    of_arrays, of_numbers = itertools.count(), itertools.count(len(values))
    step = ":".join([operation, *(str(next(of_numbers if number else of_arrays)) for number in is_number)])
    fields = (f"extents={'-'.join(map(str, extents))} inputs={','.join(map(str, inputs))} "
              f"numbers={sum(is_number)} steps={step}")
    given = (float(one) for one, number in zip(operands, is_number) if number)
    numbers = {f"number{index}": number for index, number in enumerate(given)}
    return run("elementwise", fields, values, [(shape, _array.FLOAT32)], numbers)[0]


def _make_unary(name: str, operation: str, words: str) -> Any:
    def function(x: Any) -> Array:
        return _applied(operation, x, names=("x",))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = words + " float32 of any shape; the same shape."
    return function


def _make_binary(name: str, operation: str, words: str) -> Any:
    def function(a: Any, b: Any) -> Array:
        return _applied(operation, a, b)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = words + " float32, with NumPy's broadcasting. Raises BadInput for shapes that do not fit."
    return function


relu = _make_unary("relu", "relu", "max(x, 0).")
gelu = _make_unary("gelu", "gelu", "The Gaussian error linear unit, in its tanh form.")
silu = _make_unary("silu", "silu", "x / (1 + exp(-x)).")
tanh = _make_unary("tanh", "tanh", "The hyperbolic tangent.")
sigmoid = _make_unary("sigmoid", "sigmoid", "1 / (1 + exp(-x)).")
exp = _make_unary("exp", "exp", "e^x; 0 below -69, and exp(88) above 88.")
log = _make_unary("log", "log", "The natural logarithm; log(2^-100) for all below 2^-100, negative numbers too.")
negative = _make_unary("negative", "negate", "-x.")
absolute = _make_unary("absolute", "absolute", "|x|.")
sqrt = _make_unary("sqrt", "sqrt", "The square root; NaN of negative numbers.")
rsqrt = _make_unary("rsqrt", "rsqrt", "1 / sqrt(x).")
sin = _make_unary("sin", "sin", "The sine, of radians.")
cos = _make_unary("cos", "cos", "The cosine, of radians.")
floor = _make_unary("floor", "floor", "The largest whole number not above x.")
round = _make_unary("round", "round", "The nearest whole number, half to even.")
add = _make_binary("add", "add", "a + b.")
subtract = _make_binary("subtract", "subtract", "a - b.")
multiply = _make_binary("multiply", "multiply", "a * b; products below 2^-100 in size become 0.")
divide = _make_binary("divide", "divide", "a / b.")
power = _make_binary("power", "power", "a to the power of b.")
maximum = _make_binary("maximum", "maximum", "The larger of the two; NaN where one is NaN.")
minimum = _make_binary("minimum", "minimum", "The smaller of the two; NaN where one is NaN.")
less = _make_binary("less", "less_than", "1 where a < b, else 0.")
less_equal = _make_binary("less_equal", "less_or_equal", "1 where a <= b, else 0.")
greater = _make_binary("greater", "greater_than", "1 where a > b, else 0.")
greater_equal = _make_binary("greater_equal", "greater_or_equal", "1 where a >= b, else 0.")
equal = _make_binary("equal", "equal_to", "1 where a == b, else 0.")
not_equal = _make_binary("not_equal", "not_equal_to", "1 where a != b or one is NaN, else 0.")


def clip(x: Any, low: Any = None, high: Any = None) -> Array:
    """x within [low, high], of which either may be None. float32, with NumPy's broadcasting."""
    result = x if low is None else maximum(x, low)
    return _array.operands(result)[0] if high is None else minimum(result, high)


def where(condition: Any, a: Any, b: Any) -> Array:
    """a where the condition is not 0, else b: float32, with NumPy's broadcasting. NaN is not 0.

    Raises BadInput for shapes that do not fit."""
    return _applied("where", condition, a, b, names=("condition", "a", "b"))


_FORMATS = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}


def convert(x: Any, dtype: Any) -> Array:
    """x in another dtype. float32 to 16 bits is rounded to the nearest, half to even; back it is exact.

    Whole numbers are converted on the host, so this waits and copies. Raises BadInput for what the dtype cannot hold.
    """
    (value,) = _array.operands(x, names=("x",), dtype=None)
    wanted = _array.dtype_of(dtype)
    if value.dtype == wanted:
        return value
    source, to = _FORMATS.get(str(value.dtype)), _FORMATS.get(str(wanted))
    if source is None or to is None:
        if wanted is _array.BFLOAT16:
            return convert(convert(value, "float32"), wanted)
        return _array.upload(_array.stored_as(value.numpy(), wanted), value._place)
    if "f32" not in (source, to):
        return convert(convert(value, "float32"), wanted)
    return run("convert", f"count={value.size} from={source} to={to}", [value], [(value.shape, wanted)])[0]
