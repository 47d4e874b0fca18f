# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from ..errors import BadInput
from . import _array
from ._products import ACTIVATIONS
from ._run import extents, flag, real, run, run_on, whole, word

if TYPE_CHECKING:
    from ._array import Array

_DOMAINS = ("a", "b", "vector", "initialization", "environment", "data", "policy")
_MOST_PARAMETERS = 2**24 - 1
_MOST_SEEDS = 2**64 - 1


def noise(shape: int | Sequence[int], seed: int, *, parameter: int = 0, domain: str = "data", pair: int = 0,
          time: int = 0, dtype: Any = "float32", device: Any = None) -> Array:
    """Noise of mean 0 and variance 1, near normal, that is the same on every device.

    Seed, parameter, domain, pair and time name a stream; these are its first elements.

    dtype  float32, or int32: whole numbers in [-30, 30] of variance 85, of which the float32 ones are made
    """
    sizes = extents(shape)
    wanted = _array.dtype_of(dtype)
    if wanted not in (_array.FLOAT32, _array.INT32):
        raise BadInput(f"dtype is {wanted}; noise is float32 or int32.")
    when = _core.When.of(seed=whole(seed, "seed", 0, _MOST_SEEDS),
                         parameter=whole(parameter, "parameter", 0, _MOST_PARAMETERS),
                         domain=_DOMAINS.index(word(domain, "domain", _DOMAINS)), pair=whole(pair, "pair"),
                         time=whole(time, "time"))
    fields = f"elements={math.prod(sizes)} pairs=1 format={'f32' if wanted == _array.FLOAT32 else 'i32'}"
    return run_on(_array.place_of(device), "noise", fields, [], [(sizes, wanted)], None, when)[0]


def _when(seed: int, parameter: int, time: int, first_member: int, sigma: float) -> tuple[Any, dict[str, float]]:
    number = whole(parameter, "parameter", 0, _MOST_PARAMETERS)
    when = _core.When.of(seed=whole(seed, "seed", 0, _MOST_SEEDS), time=whole(time, "time"),
                         first_member=whole(first_member, "first_member", 0, 2**31 - 1), sigma=real(sigma, "sigma"))
    return when, {"parameter": float(number)}


def perturbed_linear(x: Any, weight: Any, *, members: int, seed: int, sigma: float, rank: int = 1, parameter: int = 0,
                     time: int = 0, first_member: int = 0, antithetic: bool = True, activation: str = "identity",
                     determinism: str = "exact") -> Array:
    """activation(x (W + E)^T) for each member of a population, whose low-rank noise E is drawn and never stored.

    x       float32 [rows, in] for all members, or [members, rows, in]
    weight  float32 [out, in]; the result is [members, rows, out]
    E       side * sigma / sqrt(rank) A B^T; seed, parameter, time and the member's pair choose A and B
    members are first_member, first_member + 1, ...; two neighbours are a pair with opposite noise if `antithetic`

    Raises BadInput for shapes that do not fit and a rank outside of 1 to 32.
    """
    value, matrix = _array.operands(x, weight, names=("x", "weight"))
    count = whole(members, "members")
    if matrix.ndim != 2 or value.ndim not in (2, 3) or value.shape[-1] != matrix.shape[-1] or (
            value.ndim == 3 and value.shape[0] != count):
        raise BadInput(f"x has the shape {value.shape} and weight {matrix.shape}; [rows, in] or [{count}, rows, in], "
                       "and [out, in] are needed.")
    out, columns = matrix.shape
    rows = value.shape[-2]
    when, numbers = _when(seed, parameter, time, first_member, sigma)
    fields = (f"members={count} rows={rows} in={columns} out={out} rank={whole(rank, 'rank', 1, 32)} "
              f"shared_input={int(value.ndim == 2)} pairs={int(flag(antithetic, 'antithetic'))} "
              f"activation={word(activation, 'activation', ACTIVATIONS)} "
              f"determinism={word(determinism, 'determinism', ('exact', 'fast'))}")
    return run("perturbed_linear", fields, [matrix, value], [((count, rows, out), value.dtype)], numbers, when)[0]


def perturbed_vector(vector: Any, *, members: int, seed: int, sigma: float, parameter: int = 0, time: int = 0,
                     first_member: int = 0, antithetic: bool = True) -> Array:
    """vector + side * sigma * noise for each member of a population: float32 [size], returns [members, size]."""
    (value,) = _array.operands(vector, names=("vector",))
    if value.ndim != 1:
        raise BadInput(f"vector has the shape {value.shape}; one axis is needed.")
    count = whole(members, "members")
    when, numbers = _when(seed, parameter, time, first_member, sigma)
    fields = f"members={count} elements={value.size} pairs={int(flag(antithetic, 'antithetic'))}"
    return run("perturbed_vector", fields, [value], [((count, value.size), value.dtype)], numbers, when)[0]
