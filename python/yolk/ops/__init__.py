# SPDX-License-Identifier: Apache-2.0
"""Kernels as functions on arrays that stay on the device until they are read.

    import numpy as np, yolk
    a = yolk.array(np.random.rand(512, 512))
    b = yolk.ops.softmax(yolk.ops.matmul(a, a, transpose_b=True))   # nothing comes back to the host
    print(b.sum(axis=1).numpy())

Names, argument order and broadcasting are NumPy's. Arrays of the host are uploaded. The result lies on the device of
the arrays among the arguments, else on $YOLK_DEVICE or the best device. Elements are float32 where a function does not
say otherwise. All kernels give the same bits on every device, except with determinism="fast".
"""

from typing import Any

from .. import _core
from . import _array
from ._elementwise import (absolute, add, clip, convert, cos, divide, equal, exp, floor, gelu, greater, greater_equal,
                           less, less_equal, log, maximum, minimum, multiply, negative, not_equal, power, relu, round,
                           rsqrt, sigmoid, silu, sin, sqrt, subtract, tanh, where)
from ._evolution import Fitness, es_update, fitness, optimizer
from ._moves import (broadcast_to, concatenate, flip, gather, pad, reshape, scatter, split, stack, transpose)
from ._noise import noise, perturbed_linear, perturbed_vector
from ._products import Inverse, block_inverse, covariance, inverse_sqrt, matmul, matmul_i8
from ._rows import (argmax, cross_entropy, cumsum, cumulative_sum, layer_norm, log_softmax, max, mean, min, rms_norm,
                    softmax, sum)


def wait(device: Any = None) -> None:
    """Waits for all kernels that were called; for measuring times."""
    _array.place_of(device).wait()


def counts(device: Any = None) -> dict[str, int]:
    """What the device has done since it was opened: dispatches, submissions, bytes uploaded and downloaded, ..."""
    return _array.place_of(device).counts()


def close() -> None:
    """Closes all devices of arrays. Their arrays cannot be used afterwards; new ones open the devices anew."""
    _array.forget()
    _core.close_places()


__all__ = [
    "Fitness", "Inverse", "absolute", "add", "argmax", "block_inverse", "broadcast_to", "clip", "close", "concatenate",
    "convert", "cos", "counts", "covariance", "cross_entropy", "cumsum", "cumulative_sum", "divide", "equal",
    "es_update", "exp", "fitness", "flip", "floor", "gather", "gelu", "greater", "greater_equal", "inverse_sqrt",
    "layer_norm", "less", "less_equal", "log", "log_softmax", "matmul", "matmul_i8", "max", "maximum", "mean", "min", "minimum", "multiply", "negative",
    "noise", "not_equal", "optimizer", "pad", "perturbed_linear", "perturbed_vector", "power", "relu", "reshape",
    "rms_norm", "round", "rsqrt", "scatter", "sigmoid", "silu", "sin", "softmax", "split", "sqrt", "stack", "subtract", "sum",
    "tanh", "transpose", "wait", "where",
]
