# SPDX-License-Identifier: Apache-2.0
"""Yolk trains systems without backpropagation, by evolution strategies, on any GPU with Vulkan, or on the processor.

    import yolk
    run = yolk.train("cartpole")
    run.policy([0.0, 0.1, 0.0, -0.1])

`yolk.devices()` lists what it can run on. docs/python.md has the rest.
"""

from typing import TYPE_CHECKING

from . import errors, metrics, operations, ops
from ._core import Device, Equation, Memo, Metric, Traced
from ._core import version as __version__
from ._bytes import BytesRun, sample
from ._devices import devices
from ._decoder import Decoder
from ._encoder import Encoder
from ._evolution import Evolution, Members
from ._finetuning import TunedEncoder, finetune
from ._graphs.custom import Custom, custom
from ._graphs.graph import Graph, Walk, trace
from ._graphs.transforms import (Collected, as_call, batch, collect, dce, fold, folded_outputs, inject, inline_calls,
                                 memoize, pullback, pushforward, sched, weighted, with_static_inputs)
from ._history import History
from ._kernel_tuning import KernelTuning, tune_kernel
from ._learning import LearnedRun, Model, read_data
from ._models import model_call
from ._parameters import Matrix, Text, Vector, knob
from ._policy import Policy
from ._report import report
from ._system import Hyperfunction, Outcome, System, host_function, hyperfunction, metric
from ._torch import check, from_torch
from ._training import Run, environments, evaluate, replay, train
from .errors import (BadInput, Cancelled, DeviceLost, DriverError, Error, Failed, FileError, OutOfMemory, Unsupported,
                     Untraceable)
from .ops._array import Array, array
from .operations import *  # noqa: F401,F403

if TYPE_CHECKING:
    from . import gepa, models

__all__ = [
    "Array", "BadInput", "BytesRun", "Cancelled", "Collected", "Custom", "Decoder", "Device", "DeviceLost",
    "DriverError",
    "Encoder", "Equation", "Error", "Evolution", "Failed", "FileError", "Graph",
    "History", "Hyperfunction", "KernelTuning", "LearnedRun", "Matrix", "Members", "Memo", "Metric", "Model",
    "OutOfMemory", "Outcome", "Policy", "Run", "System", "Text", "Traced", "TunedEncoder", "Unsupported", "Untraceable",
    "Vector", "Walk", "__version__", "array", "as_call", "batch", "check", "collect", "custom", "dce", "devices",
    "environments", "errors", "evaluate", "finetune", "fold", "folded_outputs", "from_torch", "gepa", "host_function",
    "hyperfunction", "inject", "inline_calls", "knob", "memoize", "metric", "metrics", "model_call", "models",
    "operations", "ops", "pullback", "pushforward", "read_data", "replay", "report", "sample", "sched", "trace",
    "train", "tune_kernel", "weighted", "with_static_inputs",
]


def __getattr__(name: str) -> object:
    # Imported when they are named: they bring an HTTP client and more.
    if name in ("gepa", "models"):
        from importlib import import_module

        return import_module(f".{name}", __name__)
    raise AttributeError(f"module 'yolk' has no attribute '{name}'")
