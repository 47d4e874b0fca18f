# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import BadInput
from . import _array
from ._run import around, axes_of, axis_of, extents, filled, items, real, run, whole, word

if TYPE_CHECKING:
    from ._array import Array

_MOST_AXES = 5
_FAR = 2**31 - 1


def padded(columns: int) -> int:
    """Bytes of a row of int8, which takes whole words."""
    return (columns + 3) // 4 * 4


class _Axis(NamedTuple):
    """Index i of the result comes from the source's index start + step i, `stride` elements apart."""
    extent: int
    source: int
    start: int
    step: int
    stride: int


def _strides(shape: Sequence[int]) -> list[int]:
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return strides


def _merged(axes: list[_Axis]) -> list[_Axis]:
    """Fewer axes that move the same elements."""
    merged: list[_Axis] = []
    for axis in axes:
        if axis.extent == 1 and 0 <= axis.start < axis.source and len(axes) > 1 and axis.start == 0:
            continue
        last = merged[-1] if merged else None
        if last is not None:
            both_plain = all(one.start == 0 and one.step == 1 and one.extent == one.source for one in (last, axis))
            if both_plain and last.stride == axis.stride * axis.extent:
                extent = last.extent * axis.extent
                merged[-1] = _Axis(extent, extent, 0, 1, axis.stride)
                continue
            if all(one.start == 0 and one.step == 0 for one in (last, axis)):
                merged[-1] = _Axis(last.extent * axis.extent, 1, 0, 0, 1)
                continue
        merged.append(axis)
    return merged or [_Axis(1, 1, 0, 1, 1)]


def _rearranged(x: Any, axes: list[_Axis], shape: tuple[int, ...], fill: float = 0.0) -> Any:
    if x.dtype in ("float16", "bfloat16"):
        return _rearranged(x.astype("float32"), axes, shape, fill).astype(x.dtype)
    if x.dtype == "int8":
        raise BadInput("Arrays of int8 are not moved on the device; move them before yolk.array().")
    if x.size == 0:
        return filled(shape, fill, x.dtype, x._place)
    axes = _merged(axes)
    if len(axes) > _MOST_AXES:
        raise BadInput(f"That would move {len(axes)} axes at once; {_MOST_AXES} are the most. Do it in two steps.")
    fields = [f"members=1 extents={'-'.join(str(axis.extent) for axis in axes)} source_elements={x.size}"]
    for name, index in (("source_extents", 1), ("starts", 2), ("steps", 3), ("strides", 4)):
        fields.append(f"{name}={','.join(str(axis[index]) for axis in axes)}")
    return run("rearrange", " ".join(fields), [x], [(shape, x.dtype)], {"fill": fill} if fill else None)[0]


def _moved(x: Any, change: Callable[[list[_Axis]], list[_Axis]], fill: float = 0.0) -> Any:
    axes = change([_Axis(extent, extent, 0, 1, stride) for extent, stride in zip(x.shape, _strides(x.shape))])
    return _rearranged(x, axes, tuple(axis.extent for axis in axes), fill)


def _one(x: Any, name: str = "x") -> Any:
    return _array.operands(x, names=(name,), dtype=None)[0]


def reshape(x: Any, shape: Any) -> Array:
    """The same elements in another shape, of which one extent may be -1. The memory is shared, and nothing runs.

    Raises BadInput for a shape with another number of elements."""
    value = _one(x)
    wanted = list(extents(shape, least=-1))
    if value.dtype == "int8" and (wanted[-1:] or [1]) != list(value.shape[-1:] or (1,)):
        raise BadInput("Rows of int8 take whole words, so their last axis stays; reshape before yolk.array().")
    known = math.prod(extent for extent in wanted if extent != -1)
    if wanted.count(-1) == 1 and known > 0 and value.size % known == 0:
        wanted[wanted.index(-1)] = value.size // known
    if -1 in wanted or math.prod(wanted) != value.size:
        raise BadInput(f"An array of the shape {value.shape} has {value.size} elements, and does not take the shape "
                       f"{shape}.")
    return _array.Array(value.memory, value._place, tuple(wanted), value.dtype)


def transpose(x: Any, axes: Sequence[int] | None = None) -> Array:
    """Axes in another order; without `axes` in the reverse one. Elements of 32 or 16 bits."""
    value = _one(x)
    order = list(range(value.ndim))[::-1] if axes is None else [axis_of(axis, value.ndim, "axes")
                                                                        for axis in items(axes, "axes")]
    if sorted(order) != list(range(value.ndim)):
        raise BadInput(f"axes is {tuple(axes or ())}; each of the {value.ndim} axes is named once.")
    if order == sorted(order):
        return value
    return _moved(value, lambda all_: [all_[axis] for axis in order])


def broadcast_to(x: Any, shape: Sequence[int]) -> Array:
    """Repeated by NumPy's rules to this shape, which takes memory. Raises BadInput where it does not fit."""
    value = _one(x)
    target = extents(shape)
    if value.shape == target:
        return value
    own = (1,) * (len(target) - value.ndim) + value.shape
    if len(own) != len(target) or any(one not in (1, all_) for one, all_ in zip(own, target)):
        raise BadInput(f"An array of the shape {value.shape} cannot be repeated to {target}.")
    axes = [_Axis(all_, 1, 0, 0, 1) if one != all_ else _Axis(all_, one, 0, 1, stride)
            for one, all_, stride in zip(own, target, _strides(own))]
    return _rearranged(value, axes, target)


def pad(x: Any, before: Sequence[int], after: Sequence[int], value: float = 0.0) -> Array:
    """More elements of one value around it: so many before and after each axis. Negative numbers cut off."""
    array = _one(x)
    before, after = items(before, "before"), items(after, "after")
    if len(before) != array.ndim or len(after) != array.ndim:
        raise BadInput(f"before and after have {len(before)} and {len(after)} numbers; the array has {array.ndim} "
                       "axes.")

    def widen(axes: list[_Axis]) -> list[_Axis]:
        numbers = [(whole(low, "before", -_FAR, _FAR), whole(high, "after", -_FAR, _FAR))
                   for low, high in zip(before, after)]
        return [axis._replace(extent=whole(axis.extent + low + high, "an extent"), start=-low)
                for axis, (low, high) in zip(axes, numbers)]

    return _moved(array, widen, real(value, "value"))


def flip(x: Any, axis: int | Sequence[int] | None = None) -> Array:
    """The reverse order along an axis, several, or all."""
    value = _one(x)
    turned = axes_of(axis, value.ndim)
    return _moved(value, lambda axes: [axis._replace(start=axis.extent - 1, step=-1) if index in turned else axis
                                       for index, axis in enumerate(axes)])


def index(x: Any, key: Any) -> Array:
    """x[key] by NumPy's rules for whole numbers, slices, ... and None; an array of whole numbers takes rows."""
    parts = list(key) if isinstance(key, tuple) else [key]
    if len(parts) == 1 and (isinstance(parts[0], (list, np.ndarray, _array.Array))):
        return gather(x, parts[0], 0)
    given = sum(part is not None and part is not Ellipsis for part in parts)
    if given > x.ndim:
        raise BadInput(f"{given} indices for an array of {x.ndim} axes.")
    if sum(part is Ellipsis for part in parts) == 0:
        parts.append(Ellipsis)
    axes: list[_Axis] = []
    shape: list[int] = []
    rest = [_Axis(extent, extent, 0, 1, stride) for extent, stride in zip(x.shape, _strides(x.shape))]
    left = x.ndim - given
    for part in parts:
        if part is None:
            shape.append(1)
        elif part is Ellipsis:
            axes += rest[:left]
            shape += [axis.extent for axis in rest[:left]]
            rest, left = rest[left:], 0
        elif isinstance(part, slice):
            axis = rest.pop(0)
            start, stop, step = part.indices(axis.extent)
            axes.append(axis._replace(extent=len(range(start, stop, step)), start=start, step=step))
            shape.append(axes[-1].extent)
        elif hasattr(part, "__index__") and not isinstance(part, bool) and not isinstance(part, _array.Array):
            axis = rest.pop(0)
            if not -axis.extent <= part.__index__() < axis.extent:
                raise IndexError(f"index {part} of an axis of {axis.extent}")
            axes.append(axis._replace(extent=1, start=part.__index__() % axis.extent, step=1))
        else:
            raise BadInput("An array is indexed by whole numbers, slices, ... and None, or by one array of whole "
                           f"numbers, and not by {part!r}.")
    if all(axis.start == 0 and axis.step == 1 and axis.extent == axis.source for axis in axes):
        return reshape(x, tuple(shape))
    return _rearranged(x, axes, tuple(shape))


def _ids_of(value: Any, rows: int, place_by: Any) -> Any:
    """Whole numbers on the device. Ids of the host may count from the end, and are checked; others are not read."""
    if isinstance(value, _array.Array):
        if value.dtype not in ("uint32", "int32"):
            raise BadInput(f"ids has the dtype {value.dtype}; whole numbers are needed.")
        _array.operands(place_by, value, dtype=None)
        return value
    host = _array.host_array(value, "ids")
    if host.size == 0:
        host = host.astype(np.int32)
    if host.dtype.kind not in "iu":
        raise BadInput(f"ids has the dtype {np.asarray(value).dtype}; whole numbers are needed.")
    host = host.astype(np.int64)
    if host.size and (host.min() < -rows or host.max() >= rows):
        raise BadInput(f"ids has {int(host.min())} to {int(host.max())}; the axis has {rows}.")
    return _array.upload(np.where(host < 0, host + rows, host).astype(np.uint32), place_by._place)


def gather(x: Any, ids: Any, axis: int = 0) -> Array:
    """The slices of an axis that ids name, as numpy.take: [..., ids' shape, ...]. 32-bit elements.

    ids of the host are checked, and negative ones count from the end. Ids that are on the device already are not read:
    one that is out of range gives zeros. Raises BadInput for ids that are not whole numbers or not in the axis."""
    value = _one(x)
    if value.dtype in ("float16", "bfloat16"):
        return gather(value.astype("float32"), ids, axis).astype(value.dtype)
    at = axis_of(axis, value.ndim)
    outer, rows, inner = around(value.shape, at)
    chosen = _ids_of(ids, rows, value)
    shape = value.shape[:at] + chosen.shape + value.shape[at + 1:]
    fields = f"members={outer} table_rows={rows} columns={inner} ids={chosen.size} shared_ids=1"
    return run("gather", fields, [value, chosen, None], [(shape, value.dtype), None])[0]


def scatter(x: Any, ids: Any, values: Any, axis: int = 0, mode: str = "assign") -> Array:
    """A copy of x in which values [..., ids' shape, ...] are written to, or added to, the slices that ids name.

    mode: "assign" (the last of equal ids stays) or "add" (float32; equal ids add up in their order). ids as for gather;
    those on the device that are out of range are left out. Raises BadInput for shapes that do not fit."""
    needed_dtype = _array.FLOAT32 if word(mode, "mode", ("assign", "add")) == "add" else None
    value, new = _array.operands(x, values, names=("x", "values"), dtype=needed_dtype)
    at = axis_of(axis, value.ndim)
    outer, rows, inner = around(value.shape, at)
    chosen = _ids_of(ids, rows, value)
    needed = value.shape[:at] + chosen.shape + value.shape[at + 1:]
    if new.dtype != value.dtype or value.dtype not in ("float32", "int32", "uint32"):
        raise BadInput(f"x is {value.dtype} and values are {new.dtype}; both are float32, int32 or uint32.")
    if new.shape != needed:
        new = broadcast_to(new, needed)
    if new.size == 0:
        return value
    fields = f"members={outer} target_rows={rows} columns={inner} ids={chosen.size} mode={mode} shared_ids=1"
    return run("scatter", fields, [value, chosen, new, None], [(value.shape, value.dtype), None])[0]


def concatenate(parts: Sequence[Any], axis: int = 0) -> Array:
    """Arrays of one dtype side by side along an axis. Raises BadInput where the other axes differ."""
    values = _array.operands(*items(parts, "parts"), dtype=None)
    if not values:
        raise BadInput("There are no arrays to join; give at least one.")
    if any(value.dtype != values[0].dtype for value in values):
        raise BadInput(f"The arrays have the dtypes {', '.join(str(value.dtype) for value in values)}; one is needed.")
    at = axis_of(axis, values[0].ndim)
    rests = {value.shape[:at] + value.shape[at + 1:] for value in values}
    if len(rests) != 1:
        raise BadInput(f"The shapes {', '.join(str(value.shape) for value in values)} do not fit along axis {at}.")
    if values[0].dtype in ("float16", "bfloat16"):
        return concatenate([value.astype("float32") for value in values], at).astype(values[0].dtype)
    if values[0].dtype == "int8":
        raise BadInput("Arrays of int8 are not joined on the device; join them before yolk.array().")
    sizes = [value.shape[at] for value in values]
    outer, _, inner = around(values[0].shape, at)
    shape = values[0].shape[:at] + (sum(sizes),) + values[0].shape[at + 1:]
    fields = f"members=1 outer={outer} inner={inner} parts={'-'.join(map(str, sizes))}"
    return run("concat", fields, values, [(shape, values[0].dtype)])[0]


def stack(parts: Sequence[Any], axis: int = 0) -> Array:
    """Arrays of one shape along a new axis."""
    values = _array.operands(*items(parts, "parts"), dtype=None)
    if not values:
        raise BadInput("There are no arrays to join; give at least one.")
    at = axis_of(axis, values[0].ndim + 1)
    if any(value.shape != values[0].shape for value in values):
        raise BadInput(f"The shapes {', '.join(str(value.shape) for value in values)} are not one.")
    longer = values[0].shape[:at] + (1,) + values[0].shape[at:]
    return concatenate([reshape(value, longer) for value in values], at)


def split(whole_: Any, sizes: Any, axis: int = 0) -> list[Array]:
    """Parts of these sizes along an axis, or so many equal ones. Raises BadInput where the sizes do not add up."""
    value = _one(whole_, "whole")
    at = axis_of(axis, value.ndim)
    extent = value.shape[at]
    if isinstance(sizes, int) and not isinstance(sizes, bool):
        count = whole(sizes, "sizes", 1)
        if extent % count:
            raise BadInput(f"An axis of {extent} has no {count} equal parts.")
        sizes = [extent // count] * count
    parts = [whole(size, "a size") for size in items(sizes, "sizes")]
    if not parts or sum(parts) != extent:
        raise BadInput(f"The sizes {parts} add up to {sum(parts)}; the axis has {extent}.")
    if value.dtype in ("float16", "bfloat16"):
        return [part.astype(value.dtype) for part in split(value.astype("float32"), parts, at)]
    outer, _, inner = around(value.shape, at)
    fields = f"members=1 outer={outer} inner={inner} parts={'-'.join(map(str, parts))} split=1"
    shapes = [(value.shape[:at] + (size,) + value.shape[at + 1:], value.dtype) for size in parts]
    return run("concat", fields, [value], shapes)
