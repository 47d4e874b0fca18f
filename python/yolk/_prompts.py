# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from ._history import History
from ._models import checked
from .errors import BadInput

_GEPA = ("perfect_score", "skip_perfect", "stop_when_perfect", "epsilon", "top_k", "reflection_prompt", "reflection",
         "failed_reflections")


class Progress:
    """One line on the terminal, rewritten after each step."""

    def __init__(self, shown: bool | None) -> None:
        self.shown = sys.stderr.isatty() if shown is None else shown
        self.used = False

    def __call__(self, line: str) -> None:
        if self.shown:
            self.used = True
            print(f"\r{line} ", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self.used:
            print(file=sys.stderr)


class PromptSearch:
    """What a system can do about its texts."""

    _raw: Any

    def use_model(self, model: Callable[..., Any], tag: str = "") -> None:
        """Who answers the system's `yolk.model_call`s: a function or coroutine that takes a prompt and returns a text.

        tag  only for the calls under this tag; "reflection": of prompt searches
        """
        self._raw.use_model(checked(model, "The model"), tag)

    def optimize_prompts(self, examples: Sequence[Any], metric: Any, reflector: Callable[..., Any] | None = None, *,
                         feedback: Callable[[Any, Any, float], str] | None = None, held_out: Sequence[Any] | None = None,
                         metric_calls: int = 0, model_calls: int = 0, tokens: int = 0, cost: float = 0.0, iterations: int = 0,
                         rounds: int = 1, numbers: bool = True, minibatch: int = 3, most_merges: int = 5,
                         parent: str = "pareto", component: str = "round_robin", failed_score: float = 0.0, seed: int = 1,
                         gradient: dict[str, Any] | str | None = None, on_step: Any = None, on_generation: Any = None,
                         progress: bool | None = None, **settings: Any) -> Any:
        """Makes the system's texts better by reflection (GEPA), and its numbers in turns with them; keeps the best found.

        reflector    a function or coroutine that takes a prompt and returns a text: the model that writes new texts
        feedback     feedback(prediction, expected, score): what reflection is told about an example, in words
        held_out     examples that decide what is kept; without them the examples do both
        metric_calls, model_calls, tokens, cost, iterations: the first limit that is reached ends it; one is needed
        rounds       of a prompt search and a search of numbers, if any number is optimized; numbers=False: prompts alone
        minibatch    examples that a new text is tried on before it is scored on the validation examples
        most_merges  accepted merges of two candidates; 0: none
        parent       "pareto", "best", "epsilon_greedy" or "top_k"; component: "round_robin" or "all"
        failed_score of an example that failed; lower for metrics that go below 0
        on_step      gets a dict after each iteration of the prompt search; False ends it
        settings     of GEPA: perfect_score, skip_perfect, stop_when_perfect, epsilon, top_k, reflection_prompt (with
                     {text} and {records}), reflection (a dict of temperature, ...), failed_reflections; of the search of
                     numbers and for files: as `optimize` has them (generations, population, log, checkpoint, resume, ...)

        Returns what `optimize` does, with text_rounds, and steps, a history of the prompt search. Raises BadInput for a
        budget that does not cover one new text, Failed where no example succeeds; __cause__ is the first exception.
        """
        from ._system import Outcome, _metric

        if reflector is not None:
            checked(reflector, "The reflector")
        if not len(examples):
            raise BadInput("There are no examples; a prompt search needs one at least.")
        steps, history, shown = History(), History(), Progress(progress)

        def step(report: dict[str, Any]) -> Any:
            steps.append(report)
            shown(f"iteration {report['iteration']}, best {report['best_mean']:.4g}")
            return None if on_step is None else on_step(report)

        def generation(report: dict[str, Any]) -> Any:
            history.append(report)
            shown(f"generation {len(history)}, mean {report['mean']:.4g}")
            return None if on_generation is None else on_generation(report)

        gepa = {name: settings.pop(name) for name in _GEPA if name in settings}
        texts = {"gepa": {"minibatch": minibatch, "most_merges": most_merges, "iterations": iterations, "seed": seed,
                          "parent": parent, "component": component, **gepa},
                 "budget": {"metric_calls": metric_calls, "model_calls": model_calls, "tokens": tokens, "cost": cost},
                 "reflector": reflector, "rounds": rounds, "numbers": numbers, "failed_score": failed_score,
                 "feedback": feedback, "on_step": step}
        rule = {"rule": gradient} if isinstance(gradient, str) else gradient
        try:
            found = Outcome(self._raw.optimize(examples, _metric(metric), {"seed": seed, **settings}, held_out, rule, texts,
                                               generation))
        finally:
            shown.end()
        found.history, found.steps = history, steps
        return found
