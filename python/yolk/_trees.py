# SPDX-License-Identifier: Apache-2.0
"""Nested dicts, lists and tuples of arrays, as one list of named NumPy arrays and back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .errors import BadInput

_MOST_DIMENSIONS = 32  # of NumPy's arrays

Convert = Callable[[np.ndarray], Any]


def _same(array: np.ndarray) -> np.ndarray:
    return array


def _converter(leaf: Any) -> Convert:
    """From NumPy to the kind of array that the leaf is. Torch's share memory; JAX's are copies."""
    module = type(leaf).__module__.partition(".")[0]
    if module == "torch":
        return sys.modules["torch"].from_dlpack
    if module in ("jax", "jaxlib"):
        return sys.modules["jax"].numpy.asarray
    return _same


def as_float32(value: Any, name: str, truths: bool = False) -> np.ndarray:
    """A C-contiguous float32 array of what has numbers: arrays, DLPack, buffers, lists. Raises BadInput.

    truths: booleans are taken, too, as ones and zeros.
    """
    if type(value).__module__.partition(".")[0] == "torch":
        if value.device.type != "cpu":
            raise BadInput(f"{name} is a torch tensor on {value.device}; give it as {name}.cpu().")
    try:
        if type(value).__module__.partition(".")[0] == "torch" and not value.is_complex():
            # By DLPack, since torch and NumPy may have been built for different versions of each other.
            value = np.from_dlpack(value.detach().double() if value.element_size() != 4 else value.detach().float())
        array = np.asarray(value)
    except Exception as reason:
        raise BadInput(f"{name} is no array of numbers: {reason}") from reason
    if array.dtype.kind not in ("bfiu" if truths else "fiu") and str(array.dtype) != "bfloat16":
        raise BadInput(f"{name} has the dtype {array.dtype}; an array of real numbers is needed.")
    return np.asarray(array, dtype=np.float32, order="C")


class Tree:
    """The structure of a nest of arrays, and the names, shapes and places of its leaves in one flat array."""

    def __init__(self, nest: Any) -> None:
        self.names: list[str] = []
        self.shapes: list[tuple[int, ...]] = []
        self.first: list[int] = []
        self._converters: list[Convert] = []
        self._values: list[np.ndarray] = []
        self.size = 0
        self._rebuild = self._take(nest, "")
        if not self.names:
            raise BadInput("There are no parameters: a dict, a list or an array with at least one value is needed.")

    def _take(self, nest: Any, path: str) -> Callable[[list[Any]], Any]:
        if isinstance(nest, dict):
            for key in nest:
                if not isinstance(key, str) or not key:
                    raise BadInput(f"The key {key!r} of the parameters is no text that is not empty.")
            parts = {key: self._take(value, f"{path}.{key}" if path else key) for key, value in nest.items()}
            kind = type(nest)
            return lambda leaves: kind((key, part(leaves)) for key, part in parts.items())
        if isinstance(nest, tuple) and hasattr(nest, "_fields"):
            fields = [self._take(value, f"{path}.{key}" if path else key) for key, value in zip(nest._fields, nest)]
            return lambda leaves: type(nest)(*(part(leaves) for part in fields))
        if isinstance(nest, (list, tuple)) and not _is_numbers(nest):
            items = [self._take(value, f"{path}.{index}" if path else str(index)) for index, value in enumerate(nest)]
            return lambda leaves: type(nest)(part(leaves) for part in items)
        return self._leaf(nest, path or "parameters")

    def _leaf(self, value: Any, name: str) -> Callable[[list[Any]], Any]:
        array = as_float32(value, name)
        if array.size == 0:
            raise BadInput(f"{name} has the shape {array.shape}, which has no values.")
        if not np.isfinite(array).all():
            raise BadInput(f"{name} has values that are not finite.")
        index = len(self.names)
        self.names.append(name)
        self.shapes.append(array.shape)
        self.first.append(self.size)
        self._converters.append(_converter(value))
        self._values.append(array)
        self.size += array.size
        return lambda leaves: leaves[index]

    def flat(self) -> np.ndarray:
        """The values that the tree was made of, float32 [size]; they are kept until then and no longer."""
        values = np.concatenate([value.ravel() for value in self._values])
        self._values = []
        return values

    def nest(self, values: np.ndarray) -> Any:
        """Of an array [..., size]: the nest, whose leaves have [..., their shape]; views of NumPy's memory."""
        leading = values.shape[:-1]
        leaves = []
        for first, shape, convert in zip(self.first, self.shapes, self._converters):
            count = int(np.prod(shape, dtype=np.int64))
            leaves.append(convert(values[..., first:first + count].reshape(leading + shape)))
        return self._rebuild(leaves)


def _is_numbers(nest: Any) -> bool:
    return len(nest) > 0 and all(isinstance(item, (int, float)) and not isinstance(item, bool) for item in nest)


def array_or_none(items: Any) -> Any:
    """A list of numbers, or of lists of equally many, as a float32 array; None for any other list."""

    def shape_of(value: Any, dimensions: int) -> tuple[int, ...] | None:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return ()
        if not isinstance(value, (list, tuple)) or not value or dimensions == _MOST_DIMENSIONS:
            return None
        shapes = {shape_of(item, dimensions + 1) for item in value}
        inner = shapes.pop()
        return None if shapes or inner is None else (len(value), *inner)

    return None if shape_of(items, 0) is None else np.asarray(items, dtype=np.float32)
