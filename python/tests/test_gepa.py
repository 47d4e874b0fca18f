# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import re
import signal
import threading
import types

import pytest

import yolk
import yolk.gepa as gepa

pytestmark = pytest.mark.once  # of no device

CODES = {"red": "7", "green": "3", "blue": "9", "black": "1", "white": "4"}
DATA = [{"input": colour, "answer": code, "additional_context": {"rule": f"{colour} is {code}"}}
        for colour, code in CODES.items()]
SEED = {"system_prompt": "Give the code."}


def clerk(messages):
    """Knows no code that its instruction does not have."""
    known = dict(re.findall(r"(\w+) is (\d)", messages[0]["content"]))
    return known.get(messages[1]["content"], "?")


def editor(prompt):
    """Adds the first rule of the feedback to the instruction."""
    instruction = prompt.split("```")[1].strip()
    wanted = re.findall(r"rule: (\w+ is \d)", prompt)
    return f"```\n{instruction} {wanted[0]}.\n```" if wanted else "nothing"


def run(**settings):
    given = {"seed_candidate": SEED, "trainset": DATA, "task_lm": clerk, "reflection_lm": editor, "max_metric_calls": 200}
    return gepa.optimize(**{**given, **settings})


def test_the_default_adapter_s_prompt_becomes_right():
    result = run()
    assert result.val_aggregate_scores[0] == 0 and result.val_aggregate_scores[result.best_idx] == 1
    assert all(f"{colour} is {code}" in result.best_candidate["system_prompt"] for colour, code in CODES.items())
    assert result.candidates[0] == SEED and result.parents[:2] == [[None], [0]]
    assert result.num_candidates == 6 and result.num_val_instances == 5 and result.num_full_val_evals == 6
    assert result.total_metric_calls <= 200 and result.discovery_eval_counts[:1] == [0]
    assert result.val_subscores[result.best_idx] == {i: 1.0 for i in range(5)}
    assert all(result.best_idx in best for best in result.per_val_instance_best_candidates.values())
    assert (result.best_idx, {"full_assistant_response": "7"}) in result.best_outputs_valset[0]
    assert result.to_dict()["best_idx"] == result.best_idx


def test_a_valset_decides_and_the_seed_repeats():
    results = [run(valset=DATA[:2], seed=3) for _ in range(2)]
    assert results[0].num_val_instances == 2 and results[0].best_candidate == results[1].best_candidate


class TwoParts:
    """A program of two components; each has to say its own word."""

    def __init__(self, **parts):
        self.__dict__.update(parts)

    def evaluate(self, batch, candidate, capture_traces=False):
        scores = [0.5 * ("salt" in candidate["first"]) + 0.5 * ("pepper" in candidate["second"]) for _ in batch]
        traces = [dict(candidate) for _ in batch] if capture_traces else None
        return types.SimpleNamespace(outputs=[None] * len(batch), scores=scores, trajectories=traces)

    def make_reflective_dataset(self, candidate, eval_batch, components_to_update):
        word = {"first": "salt", "second": "pepper"}
        return {name: [{"Inputs": {"text": one[name]}, "Feedback": f"add {word[name]}"} for one in eval_batch.trajectories]
                for name in components_to_update}


def cook(prompt):
    assert "### text" in prompt and "## Feedback" in prompt
    return "```\n" + re.findall(r"add (\w+)", prompt)[0] + "\n```"


@pytest.mark.parametrize("selector", ["round_robin", "all"])
def test_an_adapter_s_records_are_what_reflection_reads(selector):
    result = gepa.optimize({"second": "water", "first": "water"}, [1, 2, 3], adapter=TwoParts(), reflection_lm=cook,
                           max_metric_calls=100, module_selector=selector)
    assert result.best_candidate == {"second": "pepper", "first": "salt"}
    assert list(result.best_candidate) == ["second", "first"]


@pytest.mark.parametrize("where", ["adapter", "argument"])
def test_proposals_of_one_s_own(where):
    asked = []

    def propose(candidate, reflective_dataset, components_to_update):
        asked.append(components_to_update)
        return {name: "salt and ```pepper```" for name in components_to_update}

    parts = {"adapter": TwoParts(propose_new_texts=propose)} if where == "adapter" else {
        "adapter": TwoParts(), "custom_candidate_proposer": propose}
    result = gepa.optimize({"first": "a", "second": "b"}, [1, 2, 3], max_metric_calls=100, **parts)
    assert result.best_candidate == {"first": "salt and ```pepper```", "second": "salt and ```pepper```"}
    assert asked[0] == ["first"] and asked[1] == ["second"]


def test_a_template_of_one_s_own():
    prompts = []

    def reflect(prompt):
        prompts.append(prompt)
        return "```\nred is 7 green is 3 blue is 9 black is 1 white is 4\n```"

    assert run(reflection_lm=reflect, reflection_prompt_template="OLD <curr_param> SEEN <side_info>").best_idx == 1
    assert prompts[0].startswith("OLD Give the code. SEEN # Example 1\n## Inputs\n")


def test_stop_callbacks_and_progress():
    states, lines = [], []

    def stop(state):
        states.append(state)
        return state.i >= 2

    result = run(stop_callbacks=stop, max_metric_calls=None, logger=types.SimpleNamespace(log=lines.append))
    assert result.stopped_by == "caller" and [state.i for state in states] == [0, 1, 2]
    assert states[-1].program_full_scores_val_set == result.val_aggregate_scores and len(lines) == 3


def test_a_run_goes_on_in_its_folder(tmp_path):
    whole = run()
    first = run(run_dir=tmp_path, stop_callbacks=lambda state: state.i >= 2)
    rest = run(run_dir=tmp_path)
    assert first.num_candidates < rest.num_candidates
    assert rest.candidates == whole.candidates and rest.parents == whole.parents
    assert rest.total_metric_calls == whole.total_metric_calls
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "gepa.stop").touch()
    assert run(run_dir=tmp_path / "other").stopped_by == "caller"


@pytest.mark.parametrize("name, value", [("frontier_type", "objective"), ("use_wandb", True), ("cache_evaluation", True),
                                         ("acceptance_criterion", "improvement_or_equal"), ("callbacks", [object()]),
                                         ("max_reflection_cost", 1.0), ("batch_sampler", object())])
def test_what_is_not_supported_is_refused_by_name(name, value):
    with pytest.raises(yolk.Unsupported, match=name):
        run(**{name: value})
    run(use_wandb=False, frontier_type="instance", callbacks=None, max_metric_calls=30)


@pytest.mark.parametrize("changed, words", [
    ({"seed_candidate": {}}, "seed_candidate"), ({"seed_candidate": {"a": 1}}, "texts are needed"),
    ({"trainset": []}, "trainset is empty"),
    ({"valset": []}, "valset is empty"), ({"task_lm": None}, "neither an adapter"),
    ({"task_lm": "openai/gpt-5"}, "yolk.models.chat"),
    ({"reflection_lm": None}, "reflection_lm"), ({"max_metric_calls": None}, "Nothing ends"),
    ({"adapter": TwoParts()}, "leave them out"), ({"task_lm": None, "adapter": object()}, r"evaluate\(\)"),
    ({"module_selector": "best"}, "round_robin, all"), ({"reflection_prompt_template": "<curr_param>"}, "<side_info>"),
    ({"reflection_minibatch_size": 0}, "minibatch"),
])
def test_bad_input_is_refused(changed, words):
    with pytest.raises(yolk.BadInput, match=words):
        run(**changed)


def test_budgets_too_small():
    with pytest.raises(TypeError, match="no_such"):
        run(no_such=1)
    with pytest.warns(UserWarning, match="a second takes 22 at least") as warned:
        assert run(max_metric_calls=20).total_metric_calls <= 20
    assert [pathlib.Path(one.filename) for one in warned] == [pathlib.Path(__file__)]
    with pytest.raises(yolk.BadInput, match="Give it 16 at least"):
        run(max_metric_calls=15)


class Broken(TwoParts):
    def evaluate(self, batch, candidate, capture_traces=False):
        made = super().evaluate(batch, candidate, capture_traces)
        return self.change(made) or made


@pytest.mark.parametrize("change, kind, words", [
    (lambda made: 1 / 0, ZeroDivisionError, "division"),
    (lambda made: made.scores.pop() and None, yolk.BadInput, "2 scores for 3|0 scores"),
    (lambda made: made.__dict__.update(trajectories=None), yolk.BadInput, "no trajectories"),
    (lambda made: made.__dict__.update(scores=[float("nan")] * 3), yolk.Failed, "nan; it has to be finite"),
    (lambda made: made.__dict__.update(scores=[None] * 3), yolk.Failed, "None; a number"),
])
def test_adapters_that_break_the_rules(change, kind, words):
    broken = Broken()
    broken.change = change
    with pytest.raises(kind, match=words):
        gepa.optimize({"first": "salt", "second": "b"}, [1, 2, 3], adapter=broken, reflection_lm=cook, max_metric_calls=100)


def test_failures_can_end_it_with_what_there_is():
    calls = []

    def tired(messages):
        calls.append(1)
        if len(calls) > 20:
            raise TimeoutError("no more")
        return clerk(messages)

    with pytest.raises(TimeoutError, match="no more"):
        run(task_lm=tired)
    calls.clear()
    assert run(task_lm=tired, raise_on_exception=False).stopped_by == "error"


def test_a_reflection_that_fails_three_times():
    with pytest.raises(yolk.Failed, match="3 reflections in a row.*ZeroDivisionError") as caught:
        run(reflection_lm=lambda prompt: 1 / 0)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_ctrl_c_ends_a_reflection_that_never_returns():
    stuck = threading.Event()
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        run(reflection_lm=lambda prompt: stuck.wait(60) and "late")
    stuck.set()
