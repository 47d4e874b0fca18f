# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._models import checked
from .._prompts import Progress
from ..errors import BadInput, Unsupported
from ._objective import REQUEST, SEPARATOR, Objective, default_template
from ._types import DefaultAdapter, GEPAResult

_PARENTS = {"pareto": "pareto", "current_best": "best", "epsilon_greedy": "epsilon_greedy", "top_k_pareto": "top_k"}
# Only with these values; other ones name what cannot be done.
_FIXED: dict[str, tuple[Any, ...]] = {
    "reflection_lm_kwargs": (None,), "frontier_type": ("instance",), "batch_sampler": ("epoch_shuffled",),
    "merge_val_overlap_floor": (5,), "max_reflection_cost": (None,), "callbacks": (None,), "use_wandb": (False,),
    "wandb_api_key": (None,), "wandb_init_kwargs": (None,), "wandb_attach_existing": (False,), "use_mlflow": (False,),
    "mlflow_tracking_uri": (None,), "mlflow_experiment_name": (None,), "mlflow_attach_existing": (False,),
    "tracking_key_prefix": ("",), "use_cloudpickle": (False,), "cache_evaluation": (False,),
    "val_evaluation_policy": (None, "full_eval"), "acceptance_criterion": ("strict_improvement",),
    "sampling_strategy": (None,), "selection_strategy": (None,), "reflection_strategy": (None,),
}


def optimize(seed_candidate: dict[str, str], trainset: Sequence[Any], valset: Sequence[Any] | None = None, adapter: Any = None,
             task_lm: Callable[..., Any] | None = None, evaluator: Callable[..., Any] | None = None,
             reflection_lm: Callable[..., Any] | None = None, *, candidate_selection_strategy: str = "pareto",
             skip_perfect_score: bool = True, reflection_minibatch_size: int | None = None, perfect_score: float = 1.0,
             reflection_prompt_template: str | dict[str, str] | None = None, custom_candidate_proposer: Any = None,
             module_selector: str = "round_robin", use_merge: bool = False, max_merge_invocations: int = 5,
             max_metric_calls: int | None = None, stop_callbacks: Any = None, logger: Any = None,
             run_dir: str | os.PathLike[str] | None = None, track_best_outputs: bool = True,
             display_progress_bar: bool = False, seed: int = 0, raise_on_exception: bool = True, **others: Any) -> GEPAResult:
    """Makes the texts of a program better by reflection: the arguments of gepa.optimize 0.1.4, by their names.

    seed_candidate  texts by the names of components
    trainset, valset  examples, of any kind; those of valset decide what is kept (trainset's where there are none)
    adapter         has evaluate(batch, candidate, capture_traces) and make_reflective_dataset(candidate, eval_batch,
                    components_to_update), perhaps propose_new_texts; without one: task_lm answers and `evaluator` judges
    task_lm         takes a list of messages, returns a text; reflection_lm takes a prompt. Functions or coroutines, not names
    max_metric_calls  is never exceeded: an iteration begins only where it can end
    stop_callbacks  get the state (i, total_num_evals, program_candidates, program_full_scores_val_set) after each
                    iteration; True ends it. So does a file gepa.stop in run_dir
    run_dir         keeps the search after each iteration; a second call with it goes on

    What Yolk does not do (multi-objective fronts, trackers, caches, other acceptance rules, ...) raises Unsupported by
    its name. It also ends where a candidate is perfect on all of valset. Raises BadInput for a budget that does not cover
    one new text, and warns where it may cover no second; Failed where no example succeeds, with the first cause.
    """
    _check_others(others)
    start = _checked_start(seed_candidate)
    train = _examples(trainset, "trainset")
    validation = train if valset is None else _examples(valset, "valset")
    used = _adapter_of(adapter, task_lm, evaluator)
    _check_proposer(used, custom_candidate_proposer, reflection_lm)
    stoppers = [stop_callbacks] if callable(stop_callbacks) else list(stop_callbacks or [])
    if max_metric_calls is None and not stoppers:
        raise BadInput("Nothing ends the search: give max_metric_calls or stop_callbacks.")
    if run_dir is not None:
        os.makedirs(run_dir, exist_ok=True)
        stoppers.append(lambda state: os.path.exists(os.path.join(run_dir, "gepa.stop")))
    minibatch = 3 if reflection_minibatch_size is None else reflection_minibatch_size
    gepa = {"minibatch": minibatch, "most_merges": max_merge_invocations if use_merge else 0, "seed": seed,
            "perfect_score": perfect_score, "skip_perfect": skip_perfect_score, "reflection_prompt": REQUEST,
            "parent": _word("candidate_selection_strategy", candidate_selection_strategy, _PARENTS),
            "component": _word("module_selector", module_selector, {"round_robin": "round_robin", "all": "all"}),
            # Without a budget only stoppers end it.
            "iterations": 0 if max_metric_calls else 2**62}
    shown = Progress(display_progress_bar)

    def told(step: dict[str, Any]) -> None:
        line = f"iteration {step['iteration']}: {'accepted' if step['accepted'] else step['why']}, best {step['best_mean']:.4g}"
        shown(line)
        if logger is not None:
            logger.log(line)

    objective = Objective(used, start, train, validation, reflection_lm, _templates(reflection_prompt_template, start),
                          custom_candidate_proposer, stoppers, told)
    try:
        lines = _searched(objective, gepa, max_metric_calls or 0, run_dir, raise_on_exception)
    finally:
        shown.end()
    return _result(lines, objective, start, track_best_outputs, run_dir, seed)


def _searched(objective: Objective, gepa: dict[str, Any], metric_calls: int, run_dir: Any, raises: bool) -> list[dict[str, Any]]:
    """The lines of the search's log."""
    with tempfile.TemporaryDirectory(prefix="yolk-gepa-") as temporary:
        folder = temporary if run_dir is None else os.fspath(run_dir)
        log_file = os.path.join(folder, "gepa.jsonl")
        run = {"budget": {"metric_calls": metric_calls}, "log": log_file,
               "checkpoint": "" if run_dir is None else os.path.join(folder, "gepa.state"), "resume": run_dir is not None}
        try:
            _core.search_texts(objective, gepa, run)
        except Exception:
            if raises or not objective.accepted:
                raise
        with open(log_file, encoding="utf-8") as log:
            return [json.loads(line) for line in log]


def _result(lines: list[dict[str, Any]], objective: Objective, start: dict[str, str], outputs: bool, run_dir: Any,
            seed: int) -> GEPAResult:
    accepted = [line for line in lines if line.get("accepted")]
    before = [0] + [line["metric_calls"] for line in lines if "iteration" in line]
    scores = [line["scores"] for line in accepted]
    best = {i: {k for k, one in enumerate(scores) if one[i] == max(row[i] for row in scores)} for i in range(len(scores[0]))}
    known = objective.outputs
    return GEPAResult(
        candidates=[{name: line["texts"][name] for name in start} for line in accepted],
        parents=[line.get("parents") or [None] for line in accepted],
        val_aggregate_scores=[line["mean"] for line in accepted],
        val_subscores=[dict(enumerate(one)) for one in scores],
        per_val_instance_best_candidates=best,
        discovery_eval_counts=[before[line["iteration"]] for line in accepted],
        best_outputs_valset={i: [(k, known[k][i]) for k in sorted(of) if k in known] for i, of in best.items()}
        if outputs else None,
        total_metric_calls=before[-1], num_full_val_evals=len(accepted),
        run_dir=None if run_dir is None else os.fspath(run_dir), seed=seed,
        stopped_by=next((line["stopped_by"] for line in reversed(lines) if "stopped_by" in line), "error"))


def _check_others(others: dict[str, Any]) -> None:
    for name, value in others.items():
        if name not in _FIXED:
            raise TypeError(f"yolk.gepa.optimize() has no argument '{name}'.")
        if not any(value is one or value == one for one in _FIXED[name]):
            raise Unsupported(f"{name}={value!r} is not supported; it can only be "
                              f"{' or '.join(map(repr, _FIXED[name]))}, which is the default.")


def _checked_start(candidate: Any) -> dict[str, str]:
    if not isinstance(candidate, dict) or not candidate:
        raise BadInput(f"seed_candidate is {candidate!r}; a dict of texts by their names is needed, with one at least.")
    for name, text in candidate.items():
        if not isinstance(name, str) or not isinstance(text, str) or SEPARATOR in name:
            raise BadInput(f"seed_candidate has {name!r}: {text!r}; names and texts are needed.")
    return dict(candidate)


def _examples(given: Any, name: str) -> list[Any]:
    if hasattr(given, "all_ids"):
        raise Unsupported(f"{name} is a DataLoader, which is not supported; give a list of examples.")
    examples = [] if given is None else list(given)
    if not examples:
        raise BadInput(f"{name} is empty; one example is needed at least.")
    return examples


def _adapter_of(adapter: Any, task_lm: Any, evaluator: Any) -> Any:
    if adapter is None:
        if task_lm is None:
            raise BadInput("There is neither an adapter nor a task_lm; give one.")
        return DefaultAdapter(checked(task_lm, "task_lm"), evaluator)
    if task_lm is not None or evaluator is not None:
        raise BadInput("task_lm and evaluator are for the default adapter; with an adapter of your own leave them out.")
    for method in ("evaluate", "make_reflective_dataset"):
        if not callable(getattr(adapter, method, None)):
            raise BadInput(f"The adapter {adapter!r} has no {method}().")
    return adapter


def _check_proposer(used: Any, custom: Any, reflection_lm: Any) -> None:
    proposes = getattr(used, "propose_new_texts", None) is not None
    if proposes and custom is not None:
        raise BadInput("Both the adapter's propose_new_texts and custom_candidate_proposer are given; give one.")
    if not proposes and custom is None:
        if reflection_lm is None:
            raise BadInput("There is no reflection_lm; give a function that takes a prompt and returns a text.")
        checked(reflection_lm, "reflection_lm")


def _word(name: str, given: Any, words: dict[str, str]) -> str:
    if not isinstance(given, str):
        raise Unsupported(f"{name} is {given!r}; an object of your own is not supported, only {', '.join(words)}.")
    if given not in words:
        raise BadInput(f"{name} is '{given}'; one of {', '.join(words)} is needed.")
    return words[given]


def _templates(given: Any, start: dict[str, str]) -> Callable[[str], str]:
    templates = {name: given for name in start} if isinstance(given, str) else dict(given or {})
    for name, template in templates.items():
        for place in ("<curr_param>", "<side_info>"):
            if place not in template:
                raise BadInput(f"The reflection_prompt_template of '{name}' has no {place} in it.")
    return lambda name: templates.get(name) or default_template()
