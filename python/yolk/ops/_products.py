# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import BadInput
from . import _array, _elementwise, _moves
from ._run import filled, flag, real, run, whole, word

if TYPE_CHECKING:
    from ._array import Array

ACTIVATIONS = ("identity", "relu", "gelu", "silu", "tanh", "sigmoid")
# By what Array.dtype is; texts of dtypes would take most of a call's time.
_FORMATS = {np.dtype("float32"): "f32", np.dtype("float16"): "f16", "bfloat16": "bf16"}


class _Batch(NamedTuple):
    """Two lists of matrices that are multiplied one by one, or one of them with all of the others."""
    a: Any
    b: Any
    shape: tuple[int, ...]
    numbers: dict[str, float]


def _batched(a: Any, b: Any) -> _Batch:
    left, right = a.shape[:-2], b.shape[:-2]
    if left == right:
        return _Batch(a, b, left, {})
    shape = _elementwise.broadcast_shape(left, right)
    numbers: dict[str, float] = {}
    for name, own, count in (("shared_a", left, math.prod(left)), ("shared_b", right, math.prod(right))):
        if own == shape:
            continue
        if count == 1:
            numbers[name] = 1.0
        elif name == "shared_a":
            a = _moves.broadcast_to(a, shape + a.shape[-2:])
        else:
            b = _moves.broadcast_to(b, shape + b.shape[-2:])
    return _Batch(a, b, shape, numbers)


def _matrix(x: Any, name: str, is_left: bool) -> Any:
    if x.ndim == 0:
        raise BadInput(f"{name} has no axes; a matrix or a vector is needed.")
    if x.ndim > 1:
        return x
    return _moves.reshape(x, (1, x.shape[0]) if is_left else (x.shape[0], 1))


def _out_dtype(a: Any, b: Any, dtype: Any) -> Any:
    wanted = (a.dtype if a.dtype == b.dtype else _array.FLOAT32) if dtype is None else _array.dtype_of(dtype)
    if wanted not in _FORMATS:
        raise BadInput(f"dtype is {wanted}; float32, float16 and bfloat16 are products' dtypes.")
    return wanted


def _floats(value: Any, given: Any, name: str) -> Any:
    """Whole numbers that the host has given are multiplied as float32; those of an Array are somebody's choice."""
    if isinstance(given, _array.Array):
        raise BadInput(f"{name} has the dtype {value.dtype}; float32, float16 and bfloat16 are multiplied, and int8 by "
                       "yolk.ops.matmul_i8.")
    return _array.upload(_array.host_array(given, name).astype(np.float32), value._place)


def _of_no_products(shape: tuple[int, ...], place: Any, bias: Any, activation: str, residual: Any,
                    dtype: Any) -> Any:
    result = filled(shape, 0.0, _array.FLOAT32, place)
    if bias is not None:
        result = _elementwise.add(result, bias)
    if activation != "identity":
        result = getattr(_elementwise, activation)(result)
    return (result if residual is None else _elementwise.add(result, residual)).astype(dtype)


def matmul(a: Any, b: Any, *, transpose_a: bool = False, transpose_b: bool = False, bias: Any = None,
           activation: str = "identity", residual: Any = None, dtype: Any = None, determinism: str = "exact") -> Array:
    """activation(a @ b + bias) + residual by NumPy's rules for matrices, vectors and lists of matrices, in one kernel.

    a, b         [..., m, k] and [..., k, n]: float32, float16 or bfloat16; [..., k, m] and [..., n, k] where transposed
    bias         float32 [n]; residual float32 [..., m, n]; activation identity, relu, gelu, silu, tanh or sigmoid
    dtype        of the result: that of the operands, float32 where they differ. Sums are float32 in any case
    determinism  "exact": the same bits on every device; "fast": in any order, on matrix units where there are such

    Raises BadInput for shapes or dtypes that do not fit.
    """
    transpose_a, transpose_b = flag(transpose_a, "transpose_a"), flag(transpose_b, "transpose_b")
    first, second = _array.operands(a, b, names=("a", "b"), dtype=None)
    if first.dtype not in _FORMATS:
        first = _floats(first, a, "a")
    if second.dtype not in _FORMATS:
        second = _floats(second, b, "b")
    left, right = _matrix(first, "a", not transpose_a), _matrix(second, "b", transpose_b)
    m, k = left.shape[-2:][::-1] if transpose_a else left.shape[-2:]
    inner, n = right.shape[-2:][::-1] if transpose_b else right.shape[-2:]
    if k != inner:
        raise BadInput(f"a {first.shape} and b {second.shape} do not fit: {k} columns of a, {inner} rows of b.")
    batch = _batched(left, right)
    shape = batch.shape + (m, n)
    out = _out_dtype(first, second, dtype)
    inputs = [batch.a, batch.b]
    numbers = dict(batch.numbers, activation=float(ACTIVATIONS.index(word(activation, "activation", ACTIVATIONS))))
    for name, value, needed in (("bias", bias, (n,)), ("residual", residual, shape)):
        if value is None:
            inputs.append(None)
            continue
        given = _array.operands(first, value, names=("a", name), dtype=None)[1]
        if given.shape != needed or given.dtype != _array.FLOAT32:
            raise BadInput(f"{name} is {given.dtype} of the shape {given.shape}; float32 of {needed} is needed.")
        inputs.append(given)
    if bias is not None:
        numbers["bias"] = 1.0
    fields = (f"m={m} n={n} k={k} batch={math.prod(batch.shape)} a_transposed={int(transpose_a)} "
              f"transposed={int(transpose_b)} a_format={_FORMATS[first.dtype]} "
              f"b_format={_FORMATS[second.dtype]} out_format={_FORMATS[out]} residual={int(residual is not None)} "
              f"determinism={word(determinism, 'determinism', ('exact', 'fast'))}")
    if k == 0 and 0 not in shape:
        return _of_no_products(shape, first._place, bias, activation, residual, out)
    result = run("matmul", fields, inputs, [(shape, out)], numbers)[0]
    if first.ndim > 1 and second.ndim > 1:
        return result
    flat = batch.shape + ((m,) if first.ndim > 1 else ()) + ((n,) if second.ndim > 1 else ())
    return _moves.reshape(result, flat)


def matmul_i8(a: Any, b: Any) -> Array:
    """The products of rows: out[..., i, j] = sum of a[..., i, :] b[..., j, :].

    a and b are int8 [..., m, k] and [..., n, k] (as a layer's weights [out, in]), the result is int32.
    k is 131,071 at most. Raises BadInput for shapes that do not fit."""
    first, second = _array.operands(a, b, names=("a", "b"), dtype=None)
    for name, value in (("a", first), ("b", second)):
        if value.dtype != _array.INT8 or value.ndim < 2:
            raise BadInput(f"{name} is {value.dtype} of the shape {value.shape}; int8 [..., rows, k] is needed.")
    if first.shape[-1] != second.shape[-1]:
        raise BadInput(f"The rows of a have {first.shape[-1]} elements, those of b {second.shape[-1]}.")
    batch = _batched(first, second)
    m, n, k = first.shape[-2], second.shape[-2], first.shape[-1]
    fields = f"m={m} n={n} k={k} batch={math.prod(batch.shape)}"
    if k == 0:
        return filled(batch.shape + (m, n), 0, _array.INT32, first._place)
    return run("matmul_i8", fields, [batch.a, batch.b], [(batch.shape + (m, n), _array.INT32)], batch.numbers)[0]


class Inverse(NamedTuple):
    """What block_inverse and inverse_sqrt return.

    inverse   float32 [..., n, n]; zeros where there is none
    status    uint32 [...]; 0: as it should be. The low byte says what else, see the function
    residual  float32 [...]: how far block times inverse is from the identity
    """
    inverse: Any
    status: Any
    residual: Any


def _blocks(x: Any) -> tuple[Any, int, tuple[int, ...]]:
    (value,) = _array.operands(x, names=("x",))
    if value.ndim < 2 or value.shape[-1] != value.shape[-2]:
        raise BadInput(f"x has the shape {value.shape}; square blocks [..., n, n] are needed.")
    return value, value.shape[-1], value.shape[:-2]


def _inverse(operation: str, fields: str, inputs: list[Any], numbers: dict[str, float]) -> Inverse:
    value = inputs[0]
    shape = value.shape[:-2]
    results = [(value.shape, value.dtype), (shape, _array.UINT32), (shape, value.dtype)]
    if value.size == 0:
        return Inverse(*(filled(extents, 0, dtype, value._place) for extents, dtype in results))
    return Inverse(*run(operation, fields, inputs, results, numbers))


def block_inverse(x: Any, *, mode: str = "spd", damping: Any = 0.0, retries: int = 4) -> Inverse:
    """The inverses of symmetric blocks [..., n, n], n up to 1,024, of which the lower triangle is read.

    mode     "spd": positive definite; "symmetric": any symmetric block
    damping  a number times the mean of the diagonal is added to it; an array [...]: as it is, for each block
    retries  spd: further attempts, with more damping, for a block that is singular

    Status, low byte: 0 ok, 1 damped further, 2 indefinite, 3 singular, 4 not finite; the next byte counts retries.
    Raises BadInput for what is not square, and for settings out of range. A block without an inverse raises nothing.
    """
    value, n, shape = _blocks(x)
    inputs, numbers = [value], {}
    if isinstance(damping, (int, float)):
        numbers["damping"] = real(damping, "damping")
    else:
        each = _array.operands(value, damping, names=("x", "damping"))[1]
        if each.shape != shape:
            raise BadInput(f"damping has the shape {each.shape}; {shape} is needed, one for each block.")
        inputs.append(each)
        numbers["damping_per_block"] = 1.0
    fields = (f"n={n} blocks={math.prod(shape)} mode={word(mode, 'mode', ('spd', 'symmetric'))} "
              f"retries={whole(retries, 'retries', 0, 8)}")
    return _inverse("block_inverse", fields, inputs, numbers)


def inverse_sqrt(x: Any, *, damping: float = 0.0, max_iterations: int = 26, tolerance: float = 2.0**-10) -> Inverse:
    """x^(-1/2) of symmetric positive definite blocks [..., n, n], n up to 1,024, by the Newton-Schulz iteration.

    damping times the mean of the diagonal is added to it. Status, low byte: 0 converged, 1 not converged, 2 not finite,
    3 not positive; the upper bytes count the iterations. The residual is that before the last iteration.
    Raises BadInput for what is not square, and for settings out of range.
    """
    value, n, shape = _blocks(x)
    fields = f"n={n} blocks={math.prod(shape)} max_iterations={whole(max_iterations, 'max_iterations', 1, 256)}"
    numbers = {"damping": real(damping, "damping"), "tolerance": real(tolerance, "tolerance")}
    return _inverse("inverse_sqrt", fields, [value], numbers)


def covariance(x: Any) -> Array:
    """x^T x / samples of each block [..., samples, n], n up to 1,024, with symmetric bits; x keeps its mean."""
    (value,) = _array.operands(x, names=("x",))
    if value.ndim < 2:
        raise BadInput(f"x has the shape {value.shape}; [..., samples, n] is needed.")
    samples, n = value.shape[-2:]
    shape = value.shape[:-2]
    if value.size == 0:
        return filled(shape + (n, n), 0.0, value.dtype, value._place)
    fields = f"n={n} samples={samples} blocks={math.prod(shape)}"
    return run("covariance", fields, [value], [(shape + (n, n), value.dtype)])[0]
