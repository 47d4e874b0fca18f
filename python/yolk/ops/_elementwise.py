# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import BadInput
from . import _array, _moves
from ._run import run

if TYPE_CHECKING:
    from ._array import Array

_SMALLEST_SCALE = 2.0**-100
_COMMUTATIVE = {"add", "multiply", "maximum", "minimum", "equal_to", "not_equal_to"}


def broadcast_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    if all(shape == shapes[0] for shape in shapes):
        return shapes[0]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as reason:
        raise BadInput(f"The shapes {' and '.join(map(str, shapes))} do not fit each other: from the last axis on, "
                       "extents are equal or 1.") from reason


def repeated(small: tuple[int, ...], whole: tuple[int, ...]) -> tuple[int, int, int] | None:
    """[members, rows, columns] of the whole, if the small one is its [members, columns]; None otherwise."""
    padded = (1,) * (len(whole) - len(small)) + small
    axes = [(one, all_) for one, all_ in zip(padded, whole) if all_ != 1]
    first = 0
    while first < len(axes) and axes[first][0] == axes[first][1]:
        first += 1
    last = len(axes)
    while last > first and axes[last - 1][0] == axes[last - 1][1]:
        last -= 1
    if any(one != 1 for one, _ in axes[first:last]):
        return None
    sizes = [size for _, size in axes]
    return math.prod(sizes[:first]), math.prod(sizes[first:last]), math.prod(sizes[last:])


def layout(small: tuple[int, ...], whole: tuple[int, ...]) -> tuple[str, int, int, int] | None:
    """How the kernels name it: full, row or member_rows, with members, rows and columns."""
    if small == whole:
        return "full", 1, 1, math.prod(whole)
    found = repeated(small, whole)
    if found is None:
        return None
    members, rows, columns = found
    if rows == 1:
        return "full", 1, 1, math.prod(whole)
    return ("row" if members == 1 else "member_rows"), members, rows, columns


def _unary(operation: str, x: Any, numbers: dict[str, float] | None = None) -> Any:
    (value,) = _array.operands(x, names=("x",))
    return run("elementwise", f"rows=1 columns={value.size} operation={operation}", [value],
               [(value.shape, value.dtype)], numbers)[0]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.floating, np.integer)) and not isinstance(value, np.ndarray)


def _affine(x: Any, scale: float, shift: float) -> Any:
    """None where the kernel does not take the two constants."""
    for number in (scale, shift):
        if not math.isfinite(number) or abs(number) > 3e38 or (number != 0.0 and abs(number) < _SMALLEST_SCALE):
            return None
    return _unary("scale_shift", x, {"scale": scale, "shift": shift})


def _with_number(operation: str, a: Any, b: Any) -> Any:
    """An array and a Python number, in one kernel without another array; None where there is no such kernel."""
    if operation == "add":
        return _affine(b, 1.0, float(a)) if _is_number(a) else _affine(a, 1.0, float(b))
    if operation == "multiply":
        return _affine(b, float(a), 0.0) if _is_number(a) else _affine(a, float(b), 0.0)
    if operation == "subtract":
        return _affine(b, -1.0, float(a)) if _is_number(a) else _affine(a, 1.0, -float(b))
    return None


def _binary(operation: str, a: Any, b: Any) -> Any:
    if isinstance(a, _array.Array) != isinstance(b, _array.Array) and (_is_number(a) or _is_number(b)):
        result = _with_number(operation, a, b)
        if result is not None:
            return result
    first, second = _array.operands(a, b)
    shape = broadcast_shape(first.shape, second.shape)
    if first.shape != shape and second.shape == shape and operation in _COMMUTATIVE:
        first, second = second, first
    if first.shape != shape:
        first = _moves.broadcast_to(first, shape)
    lies = layout(second.shape, shape)
    if lies is None:
        second = _moves.broadcast_to(second, shape)
        lies = layout(shape, shape)
    assert lies is not None
    kind, members, rows, columns = lies
    return run("elementwise", f"members={members} rows={rows} columns={columns} operation={operation} second={kind}",
               [first, second], [(shape, first.dtype)])[0]


def _make_unary(name: str, operation: str, words: str) -> Any:
    def function(x: Any) -> Array:
        return _unary(operation, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = words + " float32 of any shape; the same shape."
    return function


def _make_binary(name: str, operation: str, words: str) -> Any:
    def function(a: Any, b: Any) -> Array:
        return _binary(operation, a, b)

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
    values = _array.operands(condition, a, b, names=("condition", "a", "b"))
    shape = broadcast_shape(*(value.shape for value in values))
    found = [layout(value.shape, shape) for value in values]
    split = {(lies[1], lies[2], lies[3]) for lies in found if lies is not None and lies[0] != "full"}
    members, rows, columns = split.pop() if len(split) == 1 else (1, 1, math.prod(shape))
    kinds = []
    for index, lies in enumerate(found):
        if lies is not None and (lies[0] == "full" or (members, rows, columns) == lies[1:]):
            kinds.append(lies[0])
        else:
            values[index] = _moves.broadcast_to(values[index], shape)
            kinds.append("full")
    fields = (f"members={members} rows={rows} columns={columns} condition={kinds[0]} first={kinds[1]} "
              f"second={kinds[2]}")
    return run("where", fields, values, [(shape, values[1].dtype)])[0]


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
