# SPDX-License-Identifier: Apache-2.0
"""The words of gepa's adapters and results."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from .._coroutines import finished
from .._models import text_of


@dataclasses.dataclass
class EvaluationBatch:
    """What an adapter makes of a batch: one output, score and, where traces are asked for, trajectory per example."""

    outputs: list[Any]
    scores: list[float]
    trajectories: list[Any] | None = None
    objective_scores: list[dict[str, float]] | None = None
    num_metric_calls: int | None = None


class EvaluationResult(NamedTuple):
    """What an evaluator says of one response."""

    score: float
    feedback: str
    objective_scores: dict[str, float] | None = None


class GEPAAdapter:
    """Between a program with texts and the search. Any object with these two methods will do."""

    propose_new_texts: Callable[..., dict[str, str]] | None = None

    def evaluate(self, batch: list[Any], candidate: dict[str, str], capture_traces: bool = False) -> EvaluationBatch:
        """Runs the program with the candidate's texts. An example that fails gets a low score; raise only for what fails all."""
        raise NotImplementedError

    def make_reflective_dataset(self, candidate: dict[str, str], eval_batch: Any,
                                components_to_update: list[str]) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Of each component the records that reflection reads, such as Inputs, Generated Outputs and Feedback."""
        raise NotImplementedError


def contains_answer(data: Mapping[str, Any], response: str) -> EvaluationResult:
    """1 where the answer is in the response, else 0."""
    answer = data["answer"]
    if answer in response:
        return EvaluationResult(1.0, f"Right: the response has the answer '{answer}' in it.")
    more = "".join(f"\n{name}: {text}" for name, text in data.get("additional_context", {}).items())
    return EvaluationResult(0.0, f"Wrong: the response has to have the answer '{answer}' in it, exactly so.{more}")


class DefaultAdapter(GEPAAdapter):
    """One text, which is a model's system message; examples are dicts with "input", "answer" and "additional_context"."""

    def __init__(self, model: Callable[..., Any], evaluator: Callable[..., Any] | None = None) -> None:
        self.model, self.evaluator = model, evaluator or contains_answer

    def evaluate(self, batch: list[Any], candidate: dict[str, str], capture_traces: bool = False) -> EvaluationBatch:
        instruction = next(iter(candidate.values()))
        made = EvaluationBatch([], [], [] if capture_traces else None)
        for data in batch:
            messages = [{"role": "system", "content": instruction}, {"role": "user", "content": str(data["input"])}]
            response = text_of(finished(self.model(messages)), self.model)
            score, feedback = tuple(self.evaluator(data, response))[:2]
            made.outputs.append({"full_assistant_response": response})
            made.scores.append(score)
            if made.trajectories is not None:
                made.trajectories.append({"data": data, "full_assistant_response": response, "feedback": feedback})
        return made

    def make_reflective_dataset(self, candidate: dict[str, str], eval_batch: Any,
                                components_to_update: list[str]) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        records = [{"Inputs": one["data"]["input"], "Generated Outputs": one["full_assistant_response"],
                    "Feedback": one["feedback"]} for one in eval_batch.trajectories]
        return {name: records for name in components_to_update}


@dataclasses.dataclass(frozen=True)
class GEPAResult:
    """All candidates of a search, in the order in which they were accepted; the first is the seed."""

    candidates: list[dict[str, str]]
    parents: list[list[int | None]]
    val_aggregate_scores: list[float]  # means over the validation examples
    val_subscores: list[dict[int, float]]
    per_val_instance_best_candidates: dict[int, set[int]]
    discovery_eval_counts: list[int]  # metric calls before each was accepted
    best_outputs_valset: dict[int, list[tuple[int, Any]]] | None = None
    total_metric_calls: int | None = None
    num_full_val_evals: int | None = None
    run_dir: str | None = None
    seed: int | None = None
    stopped_by: str = ""

    @property
    def num_candidates(self) -> int:
        return len(self.candidates)

    @property
    def num_val_instances(self) -> int:
        return len(self.per_val_instance_best_candidates)

    @property
    def best_idx(self) -> int:
        return max(range(len(self.candidates)), key=lambda i: self.val_aggregate_scores[i])

    @property
    def best_candidate(self) -> dict[str, str]:
        return self.candidates[self.best_idx]

    def to_dict(self) -> dict[str, Any]:
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        found["per_val_instance_best_candidates"] = {
            key: sorted(best) for key, best in self.per_val_instance_best_candidates.items()
        }
        return {**found, "best_idx": self.best_idx}
