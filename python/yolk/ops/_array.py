# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import _core
from .._devices import Chosen, request_of
from ..errors import BadInput
from . import _elementwise, _moves, _products, _rows

FLOAT32, FLOAT16, INT32, UINT32, INT8 = (np.dtype(name) for name in ("float32", "float16", "int32", "uint32", "int8"))
BFLOAT16 = "bfloat16"
_STORED: dict[np.dtype[Any], np.dtype[Any]] = {np.dtype("float64"): FLOAT32, np.dtype("bool"): FLOAT32, np.dtype("int64"): INT32, np.dtype("int16"): INT32,
           np.dtype("uint64"): UINT32, np.dtype("uint16"): UINT32, np.dtype("uint8"): UINT32}
DTypes = "float32, float16, bfloat16, int32, uint32 and int8"


_chosen: dict[_core.Place, Chosen] = {}


def place_of(device: Any = None) -> _core.Place:
    """The device that a request names, opened where it is not yet."""
    place = _core.Place.of(request_of(device))
    if place not in _chosen:
        _chosen[place] = Chosen(device)
    return place


def dtype_of(given: Any) -> Any:
    """One of the array's dtypes. Raises BadInput for others."""
    if str(given) == BFLOAT16 or getattr(given, "__name__", "") == BFLOAT16:
        return BFLOAT16
    try:
        dtype = np.dtype(given)
    except Exception as reason:
        raise BadInput(f"dtype is {given!r}, which is none; there are {DTypes}.") from reason
    if dtype not in (FLOAT32, FLOAT16, INT32, UINT32, INT8):
        raise BadInput(f"dtype is {dtype}; there are {DTypes}.")
    return dtype


def host_array(value: Any, name: str) -> np.ndarray:
    """A NumPy array of real numbers, of any layout, in the dtype that an Array of it has. Raises BadInput."""
    if isinstance(value, _core.Traced):
        raise BadInput(f"{name} is a traced value of a system, which kernels do not take; use yolk.operations there.")
    if type(value).__module__.partition(".")[0] == "torch":
        if value.device.type != "cpu":
            raise BadInput(f"{name} is a torch tensor on {value.device}; give it as .cpu().")
        value = value.detach()
        if str(value.dtype) == "torch.bfloat16":
            value = value.float()  # NumPy has no such dtype
    try:
        has_only_dlpack = hasattr(value, "__dlpack__") and not hasattr(value, "__array__")
        array = np.from_dlpack(value) if has_only_dlpack else np.asarray(value)
    except Exception as reason:
        raise BadInput(f"{name} is no array of numbers: {reason}") from reason
    if array.dtype in (FLOAT32, FLOAT16, INT32, UINT32, INT8) or str(array.dtype) == BFLOAT16:
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    native = array.dtype.newbyteorder("=")
    stored = native if native in (FLOAT32, FLOAT16, INT32, UINT32) else _STORED.get(native)
    if stored is None:
        raise BadInput(f"{name} has the dtype {array.dtype}; an array of real numbers is needed.")
    if stored.kind in "iu" and array.size and native.itemsize == 8:
        limits = np.iinfo(stored)
        if array.min() < limits.min or array.max() > limits.max:
            raise BadInput(f"{name} has whole numbers outside of {stored}; give it as float32, or within the range.")
    return array.astype(stored)


def _scalar_in(value: np.ndarray, kind: Callable[[Any], Any], shape: tuple[int, ...]) -> Any:
    if value.size != 1:
        raise TypeError(f"an array of the shape {shape} is no single number")
    return kind(value.reshape(())[()])


_Operator = Callable[["Array", Any], "Array"]


def _operators(function: str) -> tuple[_Operator, _Operator]:
    """Of a function by its name: with the array on the left, and on the right."""

    def forward(self: Array, other: Any) -> Array:
        return getattr(_elementwise, function)(self, other)

    def backward(self: Array, other: Any) -> Array:
        return getattr(_elementwise, function)(other, self)

    return forward, backward


class Array:
    """An array on a device, as `yolk.array` and `yolk.ops` return it. It is read by `numpy()` and what calls it.

        a = yolk.array(np.eye(3))
        b = yolk.ops.softmax(a @ a + 1.0)   # nothing is copied to the host
        b.numpy()                           # waits, and copies

    Operators and indexing are NumPy's, and run on the device; comparisons give float32 ones and zeros. Arrays are not
    changed in place. Their kernels run in order behind the caller, and keep the memory that they use. All copies go
    to the host through `numpy()`: `np.asarray`, DLPack (on the CPU), `tolist`, `item`, `float` and `bool`.
    """

    __slots__ = ("_memory", "_place", "shape", "dtype", "__weakref__")
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, memory: _core.Memory, place: _core.Place, shape: tuple[int, ...], dtype: Any) -> None:
        self._memory: _core.Memory | None = memory
        self._place = place
        self.shape = shape
        self.dtype = dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def device(self) -> str:
        """The name of the device that it lies on."""
        return self._place.name

    @property
    def why_device(self) -> str:
        """Which device, and why: asked for, the only one, or the best one and what the others lack."""
        chosen = _chosen.get(self._place)
        return f"{self.device}, which was closed" if chosen is None else str(chosen)

    @property
    def memory(self) -> _core.Memory:
        """For kernels. Raises BadInput where the array was closed."""
        if self._memory is None:
            raise BadInput("This array was closed; its memory is gone.")
        return self._memory

    def close(self) -> None:
        """Frees the device's memory now, unless a reshaped array shares it. The array cannot be used afterwards."""
        self._memory = None

    def numpy(self) -> np.ndarray:
        """A copy on the host, after waiting for what computes it. bfloat16 comes as float32, which holds it exactly."""
        raw = self.memory.read()
        if self.dtype == INT8:
            rows = (*self.shape[:-1], _moves.padded(self.shape[-1])) if self.shape else (4,)
            values = raw.view(np.int8).reshape(rows)[..., :(self.shape or (1,))[-1]]
            return np.ascontiguousarray(values).reshape(self.shape)
        if self.dtype is BFLOAT16:
            words = raw.view(np.uint16)[:self.size].astype(np.uint32)
            return (words << np.uint32(16)).view(np.float32).reshape(self.shape)
        return raw.view(self.dtype)[:self.size].reshape(self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("An array on a device can only be read as a copy.")
        array = self.numpy()
        return array if dtype is None else array.astype(np.dtype(dtype), copy=False)

    def __dlpack__(self, **how: Any) -> Any:
        """A copy on the host (CPU), for `np.from_dlpack`, `torch.from_dlpack` and `jax.dlpack.from_dlpack`."""
        if how.get("copy") is False:
            raise BufferError("An array on a device can only be read as a copy.")
        how.pop("copy", None)
        if how.get("dl_device") not in (None, (1, 0)):
            raise BufferError("Arrays go out on the CPU only: dl_device=(1, 0).")
        return self.numpy().__dlpack__(stream=how.get("stream"))

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def tolist(self) -> Any:
        return self.numpy().tolist()

    def item(self) -> Any:
        """The number of an array that has one."""
        return _scalar_in(self.numpy(), lambda value: value.item(), self.shape)

    def __float__(self) -> float:
        return _scalar_in(self.numpy(), float, self.shape)

    def __int__(self) -> int:
        return _scalar_in(self.numpy(), int, self.shape)

    def __bool__(self) -> bool:
        return _scalar_in(self.numpy(), bool, self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __iter__(self) -> Iterator[Array]:
        return (self[index] for index in range(len(self)))

    def __getitem__(self, key: Any) -> Array:
        return _moves.index(self, key)

    def __repr__(self) -> str:
        state = "closed" if self._memory is None else f"on {self.device}"
        return f"<yolk.Array {list(self.shape)} {self.dtype}, {state}>"

    def __copy__(self) -> Array:
        return self

    def __deepcopy__(self, known: Any) -> Array:
        return self

    def __reduce__(self) -> Any:
        raise TypeError("A yolk.Array cannot be pickled, as it lies on a device. Pickle its numpy().")

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError("A yolk.Array is not changed in place; yolk.ops.scatter and yolk.ops.where make new ones.")

    def astype(self, dtype: Any) -> Array:
        return _elementwise.convert(self, dtype)

    def reshape(self, *shape: Any) -> Array:
        return _moves.reshape(self, shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)

    def transpose(self, *axes: Any) -> Array:
        if not axes or axes == (None,):
            return _moves.transpose(self)
        return _moves.transpose(self, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes)

    @property
    def T(self) -> Array:
        return _moves.transpose(self)

    def sum(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
        return _rows.sum(self, axis, keepdims)

    def mean(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
        return _rows.mean(self, axis, keepdims)

    def max(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
        return _rows.max(self, axis, keepdims)

    def min(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
        return _rows.min(self, axis, keepdims)

    def argmax(self, axis: int | None = None) -> Array:
        return _rows.argmax(self, axis)

    __add__, __radd__ = _operators("add")
    __sub__, __rsub__ = _operators("subtract")
    __mul__, __rmul__ = _operators("multiply")
    __truediv__, __rtruediv__ = _operators("divide")
    __pow__, __rpow__ = _operators("power")
    __lt__, __gt__ = _operators("less")[0], _operators("greater")[0]
    __le__, __ge__ = _operators("less_equal")[0], _operators("greater_equal")[0]
    __eq__ = _operators("equal")[0]  # type: ignore[assignment]
    __ne__ = _operators("not_equal")[0]  # type: ignore[assignment]

    def __matmul__(self, other: Any) -> Array:
        return _products.matmul(self, other)

    def __rmatmul__(self, other: Any) -> Array:
        return _products.matmul(other, self)

    def __neg__(self) -> Array:
        return _elementwise.negative(self)

    def __pos__(self) -> Array:
        return self

    def __abs__(self) -> Array:
        return _elementwise.absolute(self)



def upload(values: np.ndarray, place: _core.Place) -> Array:
    """Of what host_array gives."""
    shape, dtype = values.shape, values.dtype
    if dtype == INT8:
        last = shape[-1] if shape else 1
        values = np.pad(values.reshape(*shape[:-1], last), [(0, 0)] * max(0, len(shape) - 1) + [(0, -last % 4)])
    flat = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    if flat.size % 4:
        flat = np.pad(flat, (0, 2))
    return Array(place.upload(flat), place, shape, BFLOAT16 if str(dtype) == BFLOAT16 else dtype)


_numbers: dict[tuple[_core.Place, float, float], Array] = {}
_MOST_NUMBERS = 256


def _number(value: float, place: _core.Place) -> Array:
    """Python's numbers, of which programs use a few again and again."""
    key = (place, value, math.copysign(1.0, value))
    known = _numbers.get(key)
    if known is None:
        if len(_numbers) >= _MOST_NUMBERS:
            _numbers.clear()
        known = _numbers[key] = upload(np.full((), value, np.float32), place)
    return known


def forget() -> None:
    """What would keep devices open."""
    _numbers.clear()
    _chosen.clear()


def stored_as(host: np.ndarray, wanted: Any) -> np.ndarray:
    """Numbers of the host in a dtype of NumPy's. Raises BadInput for those that whole numbers cannot hold."""
    if wanted.kind in "iu" and host.size:
        if host.dtype.kind == "f" and not (np.isfinite(host).all() and (host == np.trunc(host)).all()):
            raise BadInput(f"There are numbers that are not whole; {wanted} holds whole numbers.")
        limits = np.iinfo(wanted)
        if host.min() < limits.min or host.max() > limits.max:
            raise BadInput(f"There are numbers outside of {wanted}, which holds {limits.min} to {limits.max}.")
    with np.errstate(over="ignore"):
        return host.astype(wanted, copy=False)


def array(values: Any, device: Any = None, dtype: Any = None) -> Array:
    """Copies numbers to a device: NumPy, JAX, torch on the CPU, DLPack, lists; an Array comes back as it is if it fits.

    values  float64, bool become float32; int64, int16 int32; uint64, uint16, uint8 uint32
    device  what `yolk.devices()` lists: index, part of a name, UUID; without it $YOLK_DEVICE, else the best one
    dtype   float32, float16, bfloat16, int32, uint32 or int8; that of the values otherwise

    Arrays on one device share it: it is opened once, and closed by `yolk.ops.close()`.
    Raises BadInput for what is no array of real numbers, whole numbers outside of 32 bits, an unknown device or dtype.
    """
    wanted = None if dtype is None else dtype_of(dtype)
    if isinstance(values, Array):
        if device is None or place_of(device) is values._place:
            return values if wanted is None or wanted == values.dtype else _elementwise.convert(values, wanted)
        wanted = values.dtype if wanted is None else wanted
    host = host_array(values, "values")
    place = place_of(device)
    if wanted is None:
        return upload(host, place)
    if wanted is BFLOAT16:
        if str(host.dtype) == BFLOAT16:
            return upload(host, place)
        return _elementwise.convert(upload(host.astype(np.float32), place), wanted)
    return upload(stored_as(host, wanted), place)


def operands(*values: Any, names: Sequence[str] = (), dtype: Any = FLOAT32) -> list[Array]:
    """All on the device of the first Array among them; what the host has is uploaded as `dtype` (None: its own)."""
    place = None
    for value in values:
        if isinstance(value, Array):
            if place is None:
                place = value._place
            elif value._place is not place:
                raise BadInput(f"The arrays lie on two devices, {place.name} and {value._place.name}; copy one with "
                               "yolk.array(x, device=...).")
    found = []
    for index, value in enumerate(values):
        name = names[index] if index < len(names) else f"Operand {index + 1}"
        if isinstance(value, Array):
            if dtype is not None and value.dtype != dtype:
                raise BadInput(f"{name} has the dtype {value.dtype}; {dtype} is needed: x.astype('{dtype}').")
            found.append(value)
            continue
        host = host_array(value, name)
        if place is None:
            place = place_of()
        if host.size == 1 and isinstance(value, (int, float)) and dtype == FLOAT32:
            found.append(_number(float(host), place))
            continue
        found.append(upload(host if dtype is None else host.astype(dtype, copy=False), place))
    return found
