# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import _core
from ._devices import Chosen, OnDevice
from .errors import BadInput


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise BadInput(f"{place} is of the type {type(value).__name__}; it must be a str.")
    try:
        value.encode()
    except UnicodeEncodeError as reason:
        raise BadInput(f"{place} has a lone surrogate at character {reason.start}; it must be valid Unicode.") from None
    return value


class Encoder(OnDevice):
    """A BERT-like encoder that somebody else trained, on the Vulkan device: texts to vectors.

        encoder = yolk.Encoder("all-MiniLM-L6-v2")
        vectors = encoder(["a cat on a mat", "evolution strategies"])      # float32 [2, 384]

    config     vocabulary, width, layers, heads, inner, positions, most_tokens, normalize
    left_out   tensors of the file that an embedding does not need
    device     the name of the device that it runs on; `why_device` says why
    """

    def __init__(self, folder: str | os.PathLike[str], *, device: Any = None, tuning: bool = True,
                 determinism: str = "fast", batch: int = 32, adapter: str | os.PathLike[str] | None = None) -> None:
        """Reads config.json, model.safetensors and tokenizer.json in a folder of Hugging Face's layout.

        device       index, UUID or part of the name; None: the best one
        determinism  "fast", or "exact": the same bits on every device
        batch        texts that are evaluated together
        adapter      folder of a LORA adapter for the model, as PyPI's `peft` and `yolk.finetune` save it

        Raises BadInput or Unsupported for a folder that is no such model; the message names file and tensor.
        """
        self._opened = _core.OpenedEncoder.open(os.fspath(folder), device, tuning, determinism, batch,
                                                 "" if adapter is None else os.fspath(adapter))
        self._chosen = Chosen(device)
        self.folder = os.fspath(folder)
        self.config: dict[str, Any] = self._opened.config()
        self.left_out: list[str] = self._opened.left_out()
        self.device: str = self._opened.device

    def __call__(self, texts: str | Iterable[str]) -> np.ndarray:
        """float32 [texts, width]; of one text [width]. A text beyond `config["most_tokens"]` is cut off."""
        if isinstance(texts, str):
            return self([texts])[0]
        return self._opened.embed([_text(text, f"Text {index}") for index, text in enumerate(texts)])

    def tokens(self, text: str) -> list[int]:
        """The ids that a text becomes."""
        return self._opened.tokens(_text(text, "The text"))

    def __reduce__(self) -> Any:
        raise TypeError("A yolk.Encoder cannot be pickled. Open its folder again: yolk.Encoder(encoder.folder).")

    def __repr__(self) -> str:
        return (f"<yolk.Encoder of {self.config['layers']} layers, {self.config['width']} numbers a text, on "
                f"{self.device}>")
