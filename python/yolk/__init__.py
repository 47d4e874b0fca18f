# SPDX-License-Identifier: Apache-2.0
"""Yolk trains systems without backpropagation, by evolution strategies, on any GPU with Vulkan, or on the processor.

    import yolk
    run = yolk.train("cartpole")
    run.policy([0.0, 0.1, 0.0, -0.1])

`yolk.devices()` lists what it can run on. docs/python.md has the rest.
"""

from . import errors, metrics, operations, ops
from ._core import Device, Metric
from ._core import version as __version__
from ._devices import devices
from ._evolution import Evolution, Members
from ._history import History
from ._kernel_tuning import KernelTuning, tune_kernel
from ._parameters import Matrix, Text, Vector, knob
from ._policy import Policy
from ._system import Hyperfunction, Outcome, System, host_function, hyperfunction, metric
from ._training import Run, environments, evaluate, replay, train
from .errors import (BadInput, Cancelled, DeviceLost, DriverError, Error, Failed, FileError, OutOfMemory, Unsupported,
                     Untraceable)
from .ops._array import Array, array
from .operations import *  # noqa: F401,F403

__all__ = [
    "Array", "BadInput", "Cancelled", "Device", "DeviceLost", "DriverError", "Error", "Evolution", "Failed", "FileError",
    "History", "Hyperfunction", "KernelTuning", "Matrix", "Members", "Metric", "OutOfMemory", "Outcome", "Policy", "Run", "System", "Text",
    "Unsupported", "Untraceable", "Vector", "__version__", "array", "devices", "environments", "errors", "evaluate",
    "host_function", "hyperfunction", "knob", "metric", "metrics", "operations", "ops", "replay", "train", "tune_kernel",
]
