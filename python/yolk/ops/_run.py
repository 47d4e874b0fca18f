# SPDX-License-Identifier: Apache-2.0
"""One kernel of the library, by its name and the text of its description (docs/kernels)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _core
from ..errors import BadInput
from . import _array

_MOST = 2**32 - 1
_NEVER = _core.When.of()


def run(operation: str, fields: str, inputs: list[Any], shapes: list[Any], numbers: dict[str, float] | None = None,
        when: Any = _NEVER) -> list[Any]:
    """Inputs are arrays on one device in the order of the kernel's views; None: not used, or zeros that it adds to.

    `shapes` has (shape, dtype) of each array that it writes; None for one that nobody wants."""
    place = next(value._place for value in inputs if value is not None)
    return run_on(place, operation, fields, inputs, shapes, numbers, when)


def run_on(place: _core.Place, operation: str, fields: str, inputs: list[Any], shapes: list[Any],
           numbers: dict[str, float] | None = None, when: Any = _NEVER) -> list[Any]:
    if shapes and all(0 in wanted[0] for wanted in shapes if wanted is not None):
        return [filled(wanted[0], 0, wanted[1], place) for wanted in shapes if wanted is not None]
    written = place.run(operation, fields, [None if value is None else value.memory for value in inputs], numbers or {},
                        when)
    return [_array.Array(memory, place, wanted[0], wanted[1])
            for memory, wanted in zip(written, shapes) if wanted is not None]


def filled(shape: tuple[int, ...], value: float, dtype: Any, place: _core.Place) -> Any:
    """An array of one value: what kernels of no elements would give."""
    host = np.full(shape, value, np.float32 if dtype is _array.BFLOAT16 else dtype)
    made = _array.upload(host, place)
    if dtype is _array.BFLOAT16 and host.size:
        return made.astype(dtype)
    return _array.Array(made.memory, place, shape, dtype)


def axis_of(axis: Any, rank: int, name: str = "axis") -> int:
    """From 0 on. Raises BadInput."""
    try:
        index = axis.__index__()
    except (AttributeError, TypeError) as reason:
        raise BadInput(f"{name} is {axis!r}; a whole number is needed.") from reason
    if not -rank <= index < rank:
        raise BadInput(f"{name} is {index}; the array has {rank} axes.")
    return index % rank


def axes_of(axis: Any, rank: int) -> list[int]:
    """One axis, several, or with None all, in their order."""
    if axis is None:
        return list(range(rank))
    given = items(axis, "axis") if isinstance(axis, (tuple, list)) else [axis]
    return sorted({axis_of(one, rank) for one in given})


def around(shape: tuple[int, ...], axis: int) -> tuple[int, int, int]:
    """Elements before an axis, along it and after it."""
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1:])


def whole(value: Any, name: str, least: int = 0, most: int = _MOST) -> int:
    try:
        number = value.__index__()
    except (AttributeError, TypeError) as reason:
        raise BadInput(f"{name} is {value!r}; a whole number is needed.") from reason
    if isinstance(value, bool) or not least <= number <= most:
        raise BadInput(f"{name} is {value}; {least} to {most} are allowed.")
    return number


def items(value: Any, name: str) -> list[Any]:
    if isinstance(value, (str, bytes, _array.Array)) or not hasattr(value, "__iter__"):
        raise BadInput(f"{name} is {value!r}; a list or a tuple is needed.")
    return list(value)


def extents(value: Any, name: str = "shape", least: int = 0) -> tuple[int, ...]:
    """A shape, of which one axis may be given as a number."""
    given = [value] if hasattr(value, "__index__") and not isinstance(value, np.ndarray) else items(value, name)
    return tuple(whole(one, f"an extent of {name}", least) for one in given)


def flag(value: Any, name: str) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise BadInput(f"{name} is {value!r}; True or False is needed.")
    return bool(value)


def real(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError) as reason:
        raise BadInput(f"{name} is {value!r}; a number is needed.") from reason
    if not math.isfinite(number):
        raise BadInput(f"{name} is {number}; a finite number is needed.")
    return number


def word(value: Any, name: str, words: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in words:
        raise BadInput(f"{name} is {value!r}; there are {', '.join(words)}.")
    return value
