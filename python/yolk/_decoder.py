# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import operator
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._encoder import _text
from .errors import BadInput


class Generated(NamedTuple):
    """What a decoder puts behind a prompt. `ended`: it came to an end before as many tokens as were asked for."""

    text: str
    tokens: list[int]
    ended: bool


def _count(value: Any, name: str, most: int = 2**32 - 1) -> int:
    number = operator.index(value)
    if not 0 <= number <= most:
        raise BadInput(f"{name} is {number}; it must be from 0 to {most}.")
    return number


def _ids(tokens: Iterable[int]) -> list[int]:
    return [_count(token, f"Token {index}") for index, token in enumerate(tokens)]


class Decoder:
    """A Llama-like decoder that somebody else trained, on the Vulkan device: logits and generated texts.

        decoder = yolk.Decoder("SmolLM2-135M")
        text = decoder.generate("The three primary colours are", tokens=32).text
        scores = decoder.logits(decoder.tokens("a cat on a mat"))          # float32 [tokens, vocabulary]

    config     vocabulary, width, layers, heads, key_heads, head_width, inner, tied, most_tokens, ends
    left_out   tensors of the files that the network does not need
    device     the name of the device that it runs on
    """

    def __init__(self, folder: str | os.PathLike[str], *, device: Any = None, tuning: bool = True,
                 determinism: str = "fast") -> None:
        """Reads config.json, model.safetensors (or its parts) and tokenizer.json in a folder of Hugging Face's layout.

        device       index, UUID or part of the name; None: the best one
        determinism  "fast", or "exact": the same bits on every device

        Raises BadInput or Unsupported for a folder that is no such model; the message names file and tensor.
        """
        self._opened = _core.OpenedDecoder.open(os.fspath(folder), device, tuning, determinism)
        self.folder = os.fspath(folder)
        self.config: dict[str, Any] = self._opened.config()
        self.left_out: list[str] = self._opened.left_out()
        self.device: str = self._opened.device

    def tokens(self, text: str) -> list[int]:
        """The ids that a text becomes, with what the tokenizer puts around it."""
        return self._opened.tokens(_text(text, "The text"))

    def text(self, tokens: Iterable[int]) -> str:
        """The text of tokens, without special ones."""
        return self._opened.text(_ids(tokens))

    def logits(self, tokens: Iterable[int]) -> np.ndarray:
        """float32 [tokens, vocabulary]: what each token says of the next one."""
        return self._opened.logits(_ids(tokens))

    def generate(self, prompts: str | Iterable[str], *, tokens: int = 64, temperature: float = 0.0, top_k: int = 0,
                 top_p: float = 1.0, seed: int = 0) -> Any:
        """A Generated (text, tokens, ended) of each prompt, as a list; of one prompt the Generated alone.

        tokens       at most, behind each prompt
        temperature  0: always the likeliest token
        top_k        draws from so many of the likeliest tokens; 0: from all
        top_p        draws from the fewest of the likeliest tokens whose probabilities sum to it
        """
        if isinstance(prompts, str):
            return self.generate([prompts], tokens=tokens, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed)[0]
        texts = [_text(text, f"Prompt {index}") for index, text in enumerate(prompts)]
        found = self._opened.generate(texts, _count(tokens, "tokens"), float(temperature), _count(top_k, "top_k"),
                                      float(top_p), _count(seed, "seed", 2**64 - 1))
        return [Generated(*one) for one in found]

    def generate_members(self, prompt: str, members: int, *, sigma: float = 0.01, rank: int = 1, generation: int = 0,
                         perturbed: str = "q_proj.weight,v_proj.weight", tokens: int = 64, temperature: float = 0.0,
                         top_k: int = 0, top_p: float = 1.0, seed: int = 0) -> list[Generated]:
        """Each member of a population continues the prompt. All of them share one copy of the weights.

        members     an even number: pairs, as a search has them
        sigma       size of the perturbations, which have the rank `rank`
        perturbed   ends of names of tensors, with commas between them
        seed        of perturbations and draws
        """
        found = self._opened.generate_members(_text(prompt, "The prompt"), _count(tokens, "tokens"), float(temperature),
                                              _count(top_k, "top_k"), float(top_p), _count(seed, "seed", 2**64 - 1),
                                              _count(members, "members"), float(sigma), _count(rank, "rank"),
                                              _count(generation, "generation"), _text(perturbed, "perturbed"))
        return [Generated(*one) for one in found]

    def __reduce__(self) -> Any:
        raise TypeError("A yolk.Decoder cannot be pickled. Open its folder again: yolk.Decoder(decoder.folder).")

    def __repr__(self) -> str:
        return (f"<yolk.Decoder of {self.config['layers']} layers, {self.config['vocabulary']} tokens, on "
                f"{self.device}>")
