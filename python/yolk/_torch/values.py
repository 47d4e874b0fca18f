# SPDX-License-Identifier: Apache-2.0
"""Between torch's tensors and arrays, and shapes as torch counts them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .. import _core
from .. import operations as ops
from .._trees import as_float32
from ..errors import BadInput, Unsupported

Traced = _core.Traced


def is_traced(value: Any) -> bool:
    return isinstance(value, Traced)


def has_traced(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(has_traced(item) for item in value)
    if isinstance(value, dict):
        return any(has_traced(item) for item in value.values())
    if isinstance(value, slice):
        return has_traced((value.start, value.stop, value.step))
    return is_traced(value)


def plain(value: Any) -> Any:
    """Tensors become arrays, or numbers if they have no axis; also inside lists and tuples."""
    if isinstance(value, torch.Tensor):
        array = as_float32(value, "A constant of the module")
        return float(array) if array.ndim == 0 else array
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        items = [plain(item) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    return value


def to_tensor(array: np.ndarray) -> torch.Tensor:
    return torch.from_dlpack(np.array(array, dtype=np.float32, order="C"))


def axis_of(axis: int, rank: int) -> int:
    return axis + rank if axis < 0 else axis


def extents(x: Any) -> tuple[int, ...]:
    return tuple(x.shape)


def reshape(x: Any, shape: Any) -> Any:
    """The shape may have one -1. A torch scalar becomes an array of one value."""
    shape = [int(extent) for extent in shape]
    if -1 in shape:
        known, size = -int(np.prod(shape, dtype=np.int64)), int(np.prod(extents(x), dtype=np.int64))
        if known < 1 or size % known:
            raise BadInput(f"the shape {extents(x)} cannot become {tuple(shape)}")
        shape[shape.index(-1)] = size // known
    return ops.reshape(x, shape or [1])


def moved(x: Any, axis: int, to: int) -> Any:
    """The axis at another place, as numpy.moveaxis has it."""
    rank = len(extents(x))
    axis, to = axis_of(axis, rank), axis_of(to, rank)
    if axis == to:
        return x
    order = [one for one in range(rank) if one != axis]
    order.insert(to, axis)
    return ops.transpose(x, order)


def taken(x: Any, key: Any) -> Any:
    """x[key] with numbers, slices, None, ... and ids; of tuples and dicts, too."""
    if not isinstance(x, (Traced, np.ndarray)):
        return x[key]
    parts = list(key) if isinstance(key, tuple) else [key]
    if any(isinstance(part, (bool, np.ndarray)) and np.asarray(part).dtype == bool for part in parts):
        raise Unsupported("the shape of x[mask] depends on data; use torch.where")
    arrays = [index for index, part in enumerate(parts) if is_traced(part) or isinstance(part, (np.ndarray, list))]
    if arrays:
        before = parts[:arrays[0]]
        if len(arrays) > 1 or len(parts) > arrays[0] + 1 or any(part != slice(None) for part in before):
            raise Unsupported(
                "only one index may be a tensor, and no other index may follow it; use torch.index_select")
        return ops.gather(x, parts[arrays[0]], len(before))
    result = ops_index(x, tuple(part for part in parts if part is not None))
    if None not in parts:
        return result
    shape = list(extents(result))
    at = 0
    rank = len(extents(x))
    given = sum(part is not None and part is not Ellipsis for part in parts)
    for part in parts:
        if part is None:
            shape.insert(at, 1)
            at += 1
        elif part is Ellipsis:
            at += rank - given
        elif isinstance(part, slice):
            at += 1
    return reshape(result, shape)


def ops_index(x: Any, parts: tuple) -> Any:
    return x[parts] if parts else x


def expanded(x: Any, shape: Any) -> Any:
    """torch's expand: -1 leaves an extent as it is."""
    have = extents(x)
    lead = len(shape) - len(have)
    wanted = [have[index - lead] if extent == -1 else int(extent) for index, extent in enumerate(shape)]
    return ops.broadcast_to(x, wanted)
