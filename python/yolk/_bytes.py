# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import functools
import numbers
import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

from . import _core
from ._devices import Chosen, OnDevice
from ._folders import Folder
from ._history import History
from .errors import BadInput


_Train = TypeVar("_Train")


class BytesRun(OnDevice):
    """What `yolk.train("bytes", data=...)` came to.

    history            the generations, one dict each (bits_per_byte, held_out where it was due, state_hash, ...)
    held_out           bits per byte of the trained model on the end of the file, which it never read
    unigram, bigram    of counts, on the same text; gzip, xz: of the whole file, None without the program
    state_hash         the same on every device, and as the command's `yolk train bytes`
    model              the path of model.safetensors
    devices            the names of those that it ran on; `why_device` says why these
    """

    held_out: float
    unigram: float
    bigram: float
    gzip: float | None
    xz: float | None
    generations: int
    state_hash: str
    model: str
    devices: list[str]

    def __init__(self, outcome: dict[str, Any], history: History, folder: str,
                 owner: Folder | None, device: Any) -> None:
        self.history, self.folder, self._owner, self._chosen = history, folder, owner, Chosen(device)
        for name, value in outcome.items():
            setattr(self, name, value)

    def sample(self, length: int = 200, temperature: float = 1.0, seed: int = 1, prompt: str | bytes = "") -> bytes:
        """Text by the model, in integers: the same bytes everywhere. `temperature`: 0 to 16, in sixteenths."""
        return sample(self.model, length, temperature, seed, prompt)

    def __reduce__(self) -> Any:
        raise TypeError("A yolk.BytesRun cannot be pickled, as it owns files. Keep run.model, or give `out`.")

    def __repr__(self) -> str:
        return (f"<yolk.BytesRun: {self.held_out:.3f} bits per byte after {self.generations} generations; unigram "
                f"{self.unigram:.3f}>")


def sample(model: str | os.PathLike[str], length: int = 200, temperature: float = 1.0, seed: int = 1,
           prompt: str | bytes = "") -> bytes:
    """Text by a model.safetensors of `yolk train bytes`."""
    if not isinstance(temperature, numbers.Real) or not 0 <= temperature <= 16:
        raise BadInput(f"temperature is {temperature!r}; it must be from 0 to 16.")
    if not isinstance(prompt, (str, bytes)):
        raise BadInput(f"prompt is {prompt!r}; a text or bytes are needed.")
    return _core.sample_bytes(os.fspath(model), length, round(temperature * 16), seed,
                              prompt.encode(errors="surrogateescape") if isinstance(prompt, str) else prompt)


def train_bytes(data: str | os.PathLike[str] | None = None, *, out: str | os.PathLike[str] | None = None,
                device: Any = None, tuning: bool = True,
                on_generation: Callable[[dict[str, Any]], bool | None] | None = None, **settings: Any) -> BytesRun:
    """Trains a language model in pure integers on the bytes of a file.

    settings: width, layers, population, group_size, steps, context, perturbation_rank, sigma_shift, alpha_rate, feedback,
    symmetric, held_out, seed, generations, minutes, evaluate_every, checkpoint_every, resume; as the command's flags
    (docs/bytes.md).
    """
    if data is None:
        raise BadInput("A byte model needs a text to learn from: yolk.train(\"bytes\", data=FILE).")
    owner = None
    if out is None:
        owner = Folder("yolk-bytes-")
        out = owner.name
    folder = os.fspath(out)
    history = History()

    def tell(report: dict[str, Any]) -> bool | None:
        history.append(report)
        return None if on_generation is None else on_generation(report)

    outcome = _core.train_bytes({**settings, "data": os.fspath(data), "out": folder}, device, tuning, tell)
    return BytesRun(outcome, history, folder, owner, device)


def with_bytes(train: _Train) -> _Train:
    """The task "bytes" has settings of its own; all others are as they were."""
    others = cast("Callable[..., Any]", train)

    @functools.wraps(others)
    def train_any(task: Any = "cartpole", **settings: Any) -> Any:
        return train_bytes(**settings) if isinstance(task, str) and task == "bytes" else others(task, **settings)

    return cast("_Train", train_any)
