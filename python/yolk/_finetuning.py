# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from typing import Any

from . import _core
from ._encoder import Encoder, _text
from .errors import BadInput


class TunedEncoder:
    """What `yolk.finetune` came to.

    before, after, adapted   figures of the model as it is, of what the search kept, and of what the adapter's rank
                             keeps of it: test (NDCG@10, None without a test), update_norm, drift; held_out of the
                             first two
    residual                 what the adapter's rank leaves out: a share of the change's norm
    history                  the generations, one dict each: unperturbed and mean (NDCG@10), held_out, update_norm,
                             drift
    state_hash               the same on every device in exact mode, and as the command's
    folder                   where the adapter and the run's files are; PyPI's `peft` reads it
    """

    before: dict[str, Any]
    after: dict[str, Any]
    adapted: dict[str, Any]
    residual: float
    generations: int
    resumed_from: int
    state_hash: str
    training_pairs: int
    held_out_pairs: int
    test_pairs: int
    seconds: float
    devices: list[str]

    def __init__(self, outcome: dict[str, Any], history: list[dict[str, Any]], model: str, folder: str,
                 owner: Any) -> None:
        self.history, self.model, self.folder, self._owner = history, model, folder, owner
        for name, value in outcome.items():
            setattr(self, name, value)
        for figures in (self.before, self.after, self.adapted):
            figures.setdefault("test", None)

    def encoder(self, **settings: Any) -> Encoder:
        """The model with the adapter; settings are those of `yolk.Encoder`."""
        return Encoder(self.model, adapter=self.folder, **settings)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Copies the run's files to a folder, which must not exist yet."""
        shutil.copytree(self.folder, os.fspath(folder))

    def __reduce__(self) -> Any:
        raise TypeError("A yolk.TunedEncoder cannot be pickled, as it owns files. Save it: tuned.save(folder).")

    def __repr__(self) -> str:
        before, after = self.before["test"], self.after["test"]
        test = "" if after is None else f", test NDCG@10 {before:.4f} to {after:.4f}"
        return f"<yolk.TunedEncoder of {self.model}: {self.generations} generations, {self.seconds:.1f} s{test}>"


def _pairs(pairs: Any) -> list[tuple[str, str, float]]:
    given = []
    for index, pair in enumerate(pairs):
        if not isinstance(pair, (tuple, list)) or len(pair) not in (2, 3):
            raise BadInput(f"Pair {index} is {pair!r}; a pair is (query, document) or (query, document, grade).")
        grade = 1.0 if len(pair) == 2 else pair[2]
        if isinstance(grade, bool) or not isinstance(grade, (int, float)) or not 0 <= grade <= 1000:
            raise BadInput(f"The grade of pair {index} is {grade!r}; it must be a number from 0 to 1000.")
        texts = [_text(text, f"The {name} of pair {index}") for name, text in zip(("query", "document"), pair)]
        if not all(text.strip() for text in texts):
            raise BadInput(f"Pair {index} has an empty text.")
        given.append((texts[0], texts[1], float(grade)))
    if not given:
        raise BadInput("There is no pair; give queries and their documents.")
    return given


def finetune(model: str | os.PathLike[str] | Encoder, pairs: str | os.PathLike[str] | Iterable[Any], *,
             held_out: float = .1, test: float = .2, batch: int = 32, query_tokens: int = 32,
             document_tokens: int = 128, generations: int = 100, held_out_every: int = 10, adapter_rank: int = 8,
             unrelated: Iterable[str] | None = None, out: str | os.PathLike[str] | None = None,
             merged: str | os.PathLike[str] | None = None, log: bool = True, checkpoint_every: int = 10,
             resume: bool = False, audit: float = 0.0, device: Any = None, tuning: bool = True,
             on_generation: Callable[[dict[str, Any]], bool | None] | None = None, **evolution: Any) -> TunedEncoder:
    """Tunes an encoder's query and value matrices for NDCG@10 by EGGROLL, and saves a LORA adapter.

        tuned = yolk.finetune("all-MiniLM-L6-v2", "pairs.tsv", generations=100)
        vectors = tuned.encoder()(["a query", "a document"])

    model            a folder as `yolk.Encoder` takes it, or an encoder
    pairs            a file of `query<TAB>document[<TAB>grade]` lines, a .jsonl file, or a list of such tuples
    held_out, test   shares of the queries: for choosing the best generation, and for judging it
    batch            pairs per generation, drawn by the seed; the documents to rank are those of the batch. 0: all
    adapter_rank     of the factors that are saved
    unrelated        texts by which the drift is measured; None: 24 sentences
    out              the run's folder; None: a temporary one that goes with the result
    merged           a folder for the whole model, with all that was tuned
    evolution        population, rank, sigma, learning_rate, seed, determinism, ..., as in `yolk.train`

    Raises BadInput for pairs, settings or a model that cannot be used; the message names file and line.
    """
    folder = model.folder if isinstance(model, Encoder) else os.fspath(model)
    settings: dict[str, Any] = {
        "held_out": held_out, "test": test, "batch": batch, "query_tokens": query_tokens,
        "document_tokens": document_tokens, "generations": generations, "held_out_every": held_out_every,
        "adapter_rank": adapter_rank, "log": log, "checkpoint_every": checkpoint_every, "resume": resume, **evolution}
    if unrelated is not None:
        settings["unrelated"] = [_text(text, f"Unrelated text {index}") for index, text in enumerate(unrelated)]
    if merged is not None:
        settings["merged"] = os.fspath(merged)
    given: list[tuple[str, str, float]] = []
    if isinstance(pairs, (str, os.PathLike)):
        settings["pairs"] = os.fspath(pairs)
    else:
        given = _pairs(pairs)
    owner = None
    if out is None:
        if resume:
            raise BadInput("resume=True needs `out`, the folder of the run to go on with.")
        owner = tempfile.TemporaryDirectory(prefix="yolk-tuned-")
        out = owner.name
    settings["out"] = os.fspath(out)
    history: list[dict[str, Any]] = []

    def tell(report: dict[str, Any]) -> Any:
        del history[report["generation"] - (history[0]["generation"] if history else report["generation"]):]
        history.append(report)
        return None if on_generation is None else on_generation(report)

    outcome = _core.finetune(folder, given, settings, audit, device, tuning, tell)
    return TunedEncoder(outcome, history, folder, os.fspath(out), owner)
