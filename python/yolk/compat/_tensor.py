# SPDX-License-Identifier: Apache-2.0
"""One tensor for both places: traced, where what is done becomes equations, and on the host, where it is NumPy's."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _core, operations
from ..errors import BadInput, Untraceable


def is_traced(value: Any) -> bool:
    return isinstance(value, _core.Traced)


def raw(value: Any) -> Any:
    """What a Tensor holds; anything else as it is."""
    if isinstance(value, Tensor):
        return value.value
    if type(value).__module__.partition(".")[0] == "torch":
        return value.detach().cpu().numpy()
    return value


def wrapped(value: Any) -> Any:
    """Arrays and traced values as a Tensor, in nests of lists and tuples, too."""
    if isinstance(value, (np.ndarray, _core.Traced)):
        return Tensor(value)
    if isinstance(value, (list, tuple)):
        return type(value)(wrapped(one) for one in value)
    return value


def _sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def _softmax(x: Any, axis: int = -1) -> Any:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


_HOST: dict[str, Callable[..., Any]] = {
    "relu": lambda x: np.maximum(x, 0), "sigmoid": _sigmoid, "tanh": np.tanh, "exp": np.exp, "log": np.log, "sqrt": np.sqrt,
    "sin": np.sin, "cos": np.cos, "absolute": np.abs, "softmax": _softmax, "silu": lambda x: x * _sigmoid(x),
    "log_softmax": lambda x, axis=-1: np.log(_softmax(x, axis)), "floor": np.floor, "round": np.round,
    "gelu": lambda x: x * 0.5 * (1.0 + np.vectorize(math.erf)(x / math.sqrt(2.0))),
}


class Tensor:
    """A tensor with torch's methods. `number`: it stands for a Python number."""

    __array_ufunc__ = None

    def __init__(self, value: Any, number: bool = False, transpose_of: Any = None) -> None:
        if isinstance(value, Tensor):
            value = value.value
        self.value: Any = value if is_traced(value) else np.asarray(raw(value), dtype=np.float32)
        self.number, self._transpose_of = number, transpose_of

    def _apply(self, name: str, *arguments: Any, **keywords: Any) -> Tensor:
        function = getattr(operations, name) if is_traced(self.value) else _HOST[name]
        return Tensor(function(self.value, *arguments, **keywords), self.number)

    def _with(self, other: Any, apply: Callable[[Any, Any], Any]) -> Any:
        if not isinstance(other, Tensor) and not isinstance(other, (int, float, np.ndarray, _core.Traced, list)):
            if type(other).__module__.partition(".")[0] != "torch":
                return NotImplemented
        number = self.number and (isinstance(other, (int, float)) or getattr(other, "number", False))
        return Tensor(apply(self.value, raw(other)), number)

    def _reduced(self, name: str, dim: Any, keepdim: bool) -> Tensor:
        if is_traced(self.value):
            return Tensor(getattr(operations, name)(self.value, axis=dim, keepdims=keepdim), dim is None)
        return Tensor(getattr(np, name)(self.value, axis=dim, keepdims=keepdim), dim is None)

    # Numbers and truth: of the host alone.
    def __float__(self) -> float:
        if is_traced(self.value):
            return float(self.value)
        if self.value.size != 1:
            raise BadInput(f"A float of a tensor of the shape {self.shape} is not possible; one value is needed.")
        return float(self.value.reshape(-1)[0])

    def __int__(self) -> int:
        return int(self.value) if is_traced(self.value) else int(float(self))

    def __bool__(self) -> bool:
        return bool(self.value) if is_traced(self.value) else bool(float(self))

    def __round__(self, digits: int | None = None) -> Any:
        return round(float(self), digits)

    def __format__(self, how: str) -> str:
        return format(self.value, how) if is_traced(self.value) else format(float(self), how) if how else str(self)

    def __str__(self) -> str:
        return str(self.value)

    def __repr__(self) -> str:
        return f"Tensor({self.value!r})"

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.value, dtype=dtype)

    def item(self) -> Any:
        return Tensor(self.value, True) if is_traced(self.value) else float(self)

    def tolist(self) -> Any:
        if is_traced(self.value):
            raise Untraceable("A list of a traced value is not possible. Keep it a tensor.")
        return self.value.tolist()

    def numpy(self) -> Any:
        return np.asarray(self.value)

    def detach(self) -> Tensor:
        return self

    cpu = clone = contiguous = float_ = detach

    def float(self) -> Tensor:
        return self

    # Shapes.
    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.value.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def dim(self) -> int:
        return len(self.shape)

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def numel(self) -> int:
        return math.prod(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Tensor:
        key = tuple(raw(one) for one in key) if isinstance(key, tuple) else raw(key)
        return Tensor(self.value[key])

    @property
    def T(self) -> Tensor:
        return Tensor(self.value.T, transpose_of=self)

    def t(self) -> Tensor:
        return self.T

    def transpose(self, first: int, second: int) -> Tensor:
        axes = list(range(self.ndim))
        axes[first], axes[second] = axes[second], axes[first]
        return Tensor(operations.transpose(self.value, axes) if is_traced(self.value) else self.value.transpose(axes))

    def reshape(self, *shape: Any) -> Tensor:
        extents = list(shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)
        if -1 in extents:
            rest = math.prod(one for one in extents if one != -1)
            extents[extents.index(-1)] = self.numel() // max(1, rest)
        return Tensor(operations.reshape(self.value, extents) if is_traced(self.value) else self.value.reshape(extents))

    view = reshape

    def flatten(self) -> Tensor:
        return self.reshape(self.numel())

    def squeeze(self, dim: int | None = None) -> Tensor:
        kept = [n for i, n in enumerate(self.shape) if n != 1 or (dim is not None and i != dim % self.ndim)]
        # A traced value keeps one axis; as a number it has none.
        return Tensor(self.reshape(kept or [1]).value, not kept) if is_traced(self.value) else self.reshape(kept)

    def unsqueeze(self, dim: int) -> Tensor:
        extents = list(self.shape)
        extents.insert(dim % (self.ndim + 1), 1)
        return self.reshape(extents)

    # Arithmetic.
    def __add__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a + b)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a * b)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a / b)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b / a)

    def __pow__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a * a if b == 2 else a**b)

    def __neg__(self) -> Tensor:
        return Tensor(-self.value, self.number)

    def __abs__(self) -> Tensor:
        return self._apply("absolute")

    def __lt__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a < b)

    def __le__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a <= b)

    def __gt__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a > b)

    def __ge__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a >= b)

    def __eq__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a == b)

    __hash__ = None  # type: ignore[assignment]

    def __matmul__(self, other: Any) -> Any:
        return product(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return product(Tensor(other), self)

    matmul = mm = mv = dot = __matmul__

    def sum(self, dim: Any = None, keepdim: bool = False) -> Tensor:
        return self._reduced("sum", dim, keepdim)

    def mean(self, dim: Any = None, keepdim: bool = False) -> Tensor:
        return self._reduced("mean", dim, keepdim)

    def max(self, dim: Any = None) -> Tensor:
        return self._reduced("max", dim, False)

    def min(self, dim: Any = None) -> Tensor:
        return self._reduced("min", dim, False)

    def argmax(self, dim: int = -1) -> Tensor:
        return Tensor(operations.argmax(self.value, axis=dim) if is_traced(self.value) else self.value.argmax(axis=dim))

    def clamp(self, min: Any = -3e38, max: Any = 3e38) -> Tensor:
        low, high = raw(min), raw(max)
        return Tensor(operations.clip(self.value, low, high) if is_traced(self.value) else np.clip(self.value, low, high),
                      self.number)

    clip = clamp

    def softmax(self, dim: int = -1) -> Tensor:
        return self._apply("softmax", axis=dim)

    def log_softmax(self, dim: int = -1) -> Tensor:
        return self._apply("log_softmax", axis=dim)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """torch.tanh(x) of a Tensor, where torch itself is in use."""
        from . import _torch
        own = getattr(_torch, getattr(function, "__name__", ""), None)
        if own is None:
            raise Untraceable(f"torch's {getattr(function, '__name__', function)} is not among the operations that are traced.")
        return own(*args, **(kwargs or {}))


def _unary(name: str) -> Callable[[Tensor], Tensor]:
    return lambda self: self._apply(name)


for _name in ("relu", "sigmoid", "tanh", "exp", "log", "sqrt", "sin", "cos", "floor", "gelu", "silu"):
    setattr(Tensor, _name, _unary(_name))
Tensor.abs = Tensor.__abs__  # type: ignore[attr-defined]
Tensor.pow = Tensor.__pow__  # type: ignore[attr-defined]


def product(a: Tensor, b: Any) -> Tensor:
    b = b if isinstance(b, Tensor) else Tensor(b)
    if not is_traced(a.value) and not is_traced(b.value):
        return Tensor(a.value @ b.value)
    # x W^T is what the library perturbs without forming W.
    if b._transpose_of is not None and b.ndim == 2:
        return Tensor(operations.linear(b._transpose_of.value, a.value))
    return Tensor(operations.matmul(a.value, b.value))


def joined(parts: Sequence[Any], dim: int, name: str) -> Tensor:
    values = [raw(one) for one in parts]
    if any(is_traced(one) for one in values):
        return Tensor(getattr(operations, name)(values, axis=dim))
    return Tensor((np.concatenate if name == "concatenate" else np.stack)([np.asarray(one) for one in values], axis=dim))


def combine(tensors: Sequence[Any], dim: int = -1) -> Any:
    """The tensors one after the other along `dim`. Of torch's tensors alone: one of torch's."""
    if all(type(one).__module__.partition(".")[0] == "torch" for one in tensors) and len(tensors):
        return sys.modules["torch"].cat(list(tensors), dim=dim)
    return joined(tensors, dim, "concatenate")


def split(tensor: Any, sizes: Sequence[int], dim: int = -1) -> tuple[Any, ...]:
    """The parts of these sizes along `dim`."""
    if type(tensor).__module__.partition(".")[0] == "torch":
        return tuple(sys.modules["torch"].split(tensor, list(sizes), dim=dim))
    value = Tensor(tensor).value
    if is_traced(value):
        return tuple(Tensor(one) for one in operations.split(value, list(sizes), axis=dim))
    if sum(sizes) != value.shape[dim]:
        raise BadInput(f"The sizes {list(sizes)} come to {sum(sizes)}; the axis has {value.shape[dim]}.")
    return tuple(Tensor(one) for one in np.split(value, np.cumsum(sizes)[:-1], axis=dim))
