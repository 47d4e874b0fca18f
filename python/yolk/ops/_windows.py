# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

import numpy as np

from .. import operations
from ..errors import BadInput
from . import _array, _elementwise, _moves, _products

if TYPE_CHECKING:
    from ._array import Array

Sides = Optional[Sequence[int]]


class _Seen(NamedTuple):
    """The image in one axis, [..., image, channels], and which of its elements are where: [places, elements]."""
    flat: Any
    ids: np.ndarray
    places: tuple[int, ...]

    def elements(self, which: Any) -> Any:
        return _moves.gather(self.flat, self.ids[:, which], axis=self.flat.ndim - 2)


def _seen(x: Any, size: Sequence[int], sides: tuple[Sides, Sides, Sides], fill: float) -> _Seen:
    """By the operation of the graph, of an image that has its elements' numbers."""
    (value,) = _array.operands(x, names=("x",))
    axes = len(size)
    if axes < 1 or value.ndim < axes + 1:
        raise BadInput(f"A window of {axes} axes does not fit an array of the shape {value.shape}; it takes [..., image, "
                       "channels], with one axis or more of the image.")
    image, lead, channels = value.shape[-1 - axes:-1], value.shape[:-1 - axes], value.shape[-1]
    count = math.prod(image)
    numbers = np.arange(count, dtype=np.float32).reshape(*image, 1)
    stride, padding, dilation = sides
    found = np.asarray(operations.patches(numbers, list(size), stride, padding, dilation, float(count)))
    ids = found.reshape(-1, found.shape[-1]).astype(np.int64)
    flat = _moves.reshape(value, (*lead, count, channels))
    if ids.size and ids.max() == count:  # the padding is one more element behind the image
        none = [0] * flat.ndim
        flat = _moves.pad(flat, none, [*none[:-2], 1, 0], fill)
    return _Seen(flat, ids, (*lead, *found.shape[:-1]))


def patches(x: Any, size: Sequence[int], stride: Sides = None, padding: Sides = None, dilation: Sides = None,
            fill: float = 0.0) -> Array:
    """What a window sees at each of its places: [..., image, channels] to [..., places, elements * channels].

    size      of the window, a number for each axis of the image, such as (3, 3) for [..., height, width, channels]
    stride    from one place to the next (1); padding: elements around the image, of the value `fill` (0);
    dilation  from one element of the window to the next (1)

    float32. Raises BadInput for a window that does not fit."""
    seen = _seen(x, size, (stride, padding, dilation), fill)
    elements = seen.elements(slice(None))
    return _moves.reshape(elements, (*seen.places, elements.shape[-2] * elements.shape[-1]))


def convolution(weight: Any, x: Any, size: Sequence[int], stride: Sides = None, padding: Sides = None,
                dilation: Sides = None) -> Array:
    """The patches of x [..., image, channels] times a weight [out, elements * channels]: [..., places, out]."""
    rows = patches(x, size, stride, padding, dilation)
    flat = _products.matmul(_moves.reshape(rows, (math.prod(rows.shape[:-1]), rows.shape[-1])), weight,
                            transpose_b=True)
    return _moves.reshape(flat, (*rows.shape[:-1], flat.shape[-1]))


def _pooled(x: Any, size: Sequence[int], sides: tuple[Sides, Sides, Sides], fill: float, join: Any) -> Any:
    stride, padding, dilation = sides
    seen = _seen(x, size, (list(size) if stride is None else stride, padding, dilation), fill)
    result = seen.elements(0)
    for element in range(1, seen.ids.shape[1]):
        result = join(result, seen.elements(element))
    return _moves.reshape(result, (*seen.places, result.shape[-1]))


def max_pool(x: Any, size: Sequence[int], stride: Sides = None, padding: Sides = None,
             dilation: Sides = None) -> Array:
    """The largest element of each channel that a window sees; its stride is its size where none is given."""
    return _pooled(x, size, (stride, padding, dilation), float(np.finfo(np.float32).min), _elementwise.maximum)


def mean_pool(x: Any, size: Sequence[int], stride: Sides = None, padding: Sides = None,
              dilation: Sides = None) -> Array:
    """The mean of the elements likewise; padding counts as zeros."""
    return _pooled(x, size, (stride, padding, dilation), 0.0, _elementwise.add) * (1.0 / math.prod(size))
