# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hashlib
import json
import math
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import _core
from .._models import answer
from ..errors import BadInput, Failed

SEPARATOR = "\x1f"
# What the library writes for each request, so that the component can be told; the prompt is made here.
REQUEST = "{component}" + SEPARATOR + "{text}" + SEPARATOR + "{records}"


def markdown(value: Any, level: int = 3) -> str:
    """A record as reflection reads it: a heading for each key and each item."""
    if isinstance(value, Mapping):
        return "".join(f"{'#' * min(level, 6)} {key}\n{markdown(one, level + 1)}" for key, one in value.items())
    if isinstance(value, (list, tuple)):
        return "".join(f"{'#' * min(level, 6)} Item {i + 1}\n{markdown(one, level + 1)}" for i, one in enumerate(value))
    return f"{str(value).strip()}\n\n"


def filled(template: str, text: str, records: Sequence[Mapping[str, Any]], component: str) -> str:
    told = "\n".join(f"# Example {i + 1}\n{markdown(one, 2)}" for i, one in enumerate(records)).strip()
    head, place, tail = template.partition("<side_info>")  # a text may have the words of a place in it
    return (head.replace("<component>", component).replace("<curr_param>", text) + (told if place else "")
            + tail.replace("<component>", component).replace("<curr_param>", text))


def default_template() -> str:
    named = _core.default_reflection_prompt()
    return named.replace("{component}", "<component>").replace("{text}", "<curr_param>").replace("{records}", "<side_info>")


class Objective:
    """What the library's GEPA asks: scores by the adapter, new texts by reflection or by the adapter's own proposals."""

    def __init__(self, adapter: Any, start: dict[str, str], train: Sequence[Any], validation: Sequence[Any], reflection_lm: Any,
                 templates: Callable[[str], str], proposer: Any, stoppers: list[Callable[[Any], Any]],
                 told: Callable[[dict[str, Any]], None]) -> None:
        self.adapter, self.start, self.train, self.validation = adapter, start, train, validation
        self.reflection_lm, self.templates, self.proposer, self.stoppers, self.told = (reflection_lm, templates, proposer,
                                                                                      stoppers, told)
        self.train_size, self.validation_size = len(train), len(validation)
        self.identity = f"gepa {type(adapter).__qualname__} {_hash(train)} {_hash(validation)}"
        self.accepted: list[dict[str, Any]] = []
        self.outputs: dict[int, list[Any]] = {}
        self._captured: tuple[dict[str, str], Any] | None = None
        self._outputs: list[Any] = []

    def evaluate(self, is_train: bool, ids: list[int], candidate: dict[str, str],
                 capture: bool) -> tuple[int, list[tuple[float, str | None]]]:
        data = self.train if is_train else self.validation
        # The order of components is the seed's.
        texts = {name: candidate[name] for name in self.start}
        made = self.adapter.evaluate([data[i] for i in ids], dict(texts), capture_traces=capture)
        scores = list(getattr(made, "scores", []))
        if len(scores) != len(ids):
            raise BadInput(f"The adapter's evaluate() gave {len(scores)} scores for {len(ids)} examples; one of each is needed.")
        if capture and (getattr(made, "trajectories", None) is None or len(made.trajectories) != len(ids)):
            raise BadInput("The adapter's evaluate() gave no trajectories for capture_traces=True; one per example is needed.")
        if capture:
            self._captured = (texts, made)
        self._outputs = list(made.outputs)
        calls = getattr(made, "num_metric_calls", None)
        return len(ids) if calls is None else int(calls), [_score(one) for one in scores]

    def reflect(self, requests: list[str]) -> list[Any]:
        assert self._captured is not None
        candidate, batch = self._captured
        names = [request.split(SEPARATOR, 1)[0] for request in requests]
        records = self.adapter.make_reflective_dataset(dict(candidate), batch, list(names))
        propose = getattr(self.adapter, "propose_new_texts", None) or self.proposer
        if propose is not None:
            texts = propose(dict(candidate), records, list(names))
            # A component that is left out keeps its text. The fences are what the library takes a text from.
            return [(f"```\n{_text(texts.get(name, candidate[name]), name)}\n```", 0, 0, "") for name in names]
        answers = []
        for name in names:
            prompt = filled(self.templates(name), candidate[name], records.get(name, []), name)
            answers.append(answer(self.reflection_lm, [{"role": "user", "content": prompt}], {}))
        return answers

    def report(self, step: dict[str, Any]) -> bool:
        if step["accepted"]:
            self.outputs[step["candidate"]] = self._outputs
            self.accepted.append(step)
        self.told(step)
        state = types.SimpleNamespace(
            i=step["iteration"], total_num_evals=step["metric_calls"], best_score=step["best_mean"],
            program_candidates=[one["texts"] for one in self.accepted],
            program_full_scores_val_set=[one["mean"] for one in self.accepted])
        return not any([bool(stopper(state)) for stopper in self.stoppers])


def _hash(examples: Sequence[Any]) -> str:
    """The same in each process: of what JSON can write, else of their number alone."""
    try:
        return hashlib.sha256(json.dumps(list(examples)).encode()).hexdigest()
    except (TypeError, ValueError):
        return str(len(examples))


def _score(given: Any) -> tuple[float, str | None]:
    try:
        score = float(given)
    except (TypeError, ValueError):
        return 0.0, f"The adapter's score is {given!r}; a number is needed."
    return (score, None) if math.isfinite(score) else (0.0, f"The adapter's score is {score}; it has to be finite.")


def _text(text: Any, name: str) -> str:
    if not isinstance(text, str):
        raise Failed(f"The new text for '{name}' is {text!r}; a text is needed.")
    return text
