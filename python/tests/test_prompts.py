# SPDX-License-Identifier: Apache-2.0
import asyncio
import dataclasses
import os
import re
import signal
import threading
import time

import pytest

import yolk

pytestmark = pytest.mark.once  # of no device

CODES = {"red": "7", "green": "3", "blue": "9", "black": "1"}
EXAMPLES = [({"colour": colour}, code) for colour, code in CODES.items()]


def clerk(prompt):
    """Knows no code that its instruction does not have: the last line is the colour."""
    instruction, colour = prompt.rsplit("\n", 1)
    known = dict(re.findall(r"(\w+) is (\d)", instruction))
    return known.get(colour.strip(), "?")


def editor(prompt):
    """Adds the first thing that the feedback asks for to the instruction between the first fences."""
    instruction = prompt.split("```")[1].strip()
    wanted = re.findall(r"Say that (\w+ is \d)", prompt)
    return f"Here it is:\n```\n{instruction} {wanted[0]}.\n```" if wanted else "nothing"


def told(prediction, expected, score):
    colour = next(name for name, code in CODES.items() if code == expected)
    return "Right." if score == 1 else f"Say that {colour} is {expected}."


def clerk_system(model=clerk):
    prompt = yolk.hyperfunction("Give the code.", name="prompt")(lambda text: text)
    system = yolk.System(lambda colour: yolk.model_call(("system", prompt()), ("user", yolk.format("\n{}", colour))))
    system.use_model(model)
    return system


def search(system=None, metric=None, reflector=editor, **settings):
    given = {"feedback": told, "metric_calls": 200, **settings}
    return (system or clerk_system()).optimize_prompts(EXAMPLES, metric or yolk.metrics.exact_match(), reflector, **given)


def test_reflection_finds_what_the_model_has_to_know():
    system = clerk_system()
    outcome = search(system)
    assert outcome.start_reward == 0 and outcome.best_reward == 1
    assert all(f"{name} is {code}" in system.parameters["prompt"] for name, code in CODES.items())
    assert outcome.text_rounds[0]["stopped_by"] == "perfect"
    assert outcome.steps[0]["kind"] == "start" and outcome.steps[-1]["best_mean"] == 1
    assert outcome.metric_calls <= 200 and outcome.model_calls > outcome.metric_calls


def test_coroutines_answer_and_reflect_too():
    async def slow_clerk(prompt):
        await asyncio.sleep(0.001)
        return clerk(prompt)

    async def slow_editor(prompt):
        await asyncio.sleep(0.001)
        return editor(prompt)

    assert search(clerk_system(slow_clerk), reflector=slow_editor).best_reward == 1


def test_the_same_seed_writes_the_same_prompts():
    found = []
    for _ in range(2):
        system = clerk_system()
        search(system, seed=5)
        found.append(system.parameters["prompt"])
    assert found[0] == found[1]


def test_a_host_function_may_be_the_model():
    @yolk.host_function("Give the code.")
    def ask(instruction, colour):
        return clerk(f"{instruction}\n{colour}")

    system = yolk.System(lambda colour: ask(colour))
    assert search(system).best_reward == 1
    assert "red is 7" in system.parameters["ask"]


def test_the_models_in_force_reflect_by_their_tag():
    system = clerk_system()
    system.use_model(editor, "reflection")
    assert search(system, reflector=None).best_reward == 1


def test_a_model_gets_the_settings_that_it_has_parameters_for():
    seen = []

    def model(prompt, temperature=None):
        seen.append(temperature)
        return "yes"

    system = yolk.System(lambda x: yolk.model_call(x, temperature=0.25, top_p=0.5))
    system.use_model(model)
    assert system(x="Is it?") == "yes" and seen == [0.25]


@dataclasses.dataclass
class Offset:
    value: float = yolk.knob(0.2, 0.0, 1.0)


def test_rounds_move_prompts_and_numbers_in_turns():
    prompt = yolk.hyperfunction("Give the code.", name="prompt")(lambda text: text)

    @yolk.host_function(Offset)
    def judged(offset, reply):
        return [float(reply) if reply != "?" else -1.0, offset.value]

    @yolk.metric
    def closeness(prediction, expected):
        return float(prediction[0] == float(expected)) - abs(float(prediction[1]) - 0.8)

    system = yolk.System(lambda colour: judged(yolk.model_call(("system", prompt()), ("user", yolk.format("\n{}", colour)))))
    system.use_model(clerk)
    outcome = system.optimize_prompts(EXAMPLES, closeness, editor, rounds=2, generations=40, population=32, metric_calls=400,
                                      iterations=12, failed_score=-2.0,
                                      feedback=lambda p, e, s: told(p, e, 1 if p[0] == float(e) else 0))
    assert len(outcome.text_rounds) == 2 and outcome.generations == 80 and len(outcome.history) == 80
    assert system.parameters["judged"]["value"] == pytest.approx(0.8, abs=0.1)
    assert outcome.best_reward > outcome.start_reward + 1


def test_a_search_goes_on_where_it_was_ended(tmp_path):
    def steps_of(**settings):
        system = clerk_system()
        outcome = search(system, log=str(tmp_path / "log"), numbers=False, **settings)
        return system.parameters["prompt"], outcome

    whole, _ = steps_of(iterations=3)
    steps_of(iterations=3, checkpoint=str(tmp_path / "state"), on_step=lambda step: step["iteration"] < 1)
    resumed, _ = steps_of(iterations=3, checkpoint=str(tmp_path / "state"), resume=True)
    assert resumed == whole


# Bad input


def test_one_failing_example_does_not_end_it():
    def moody(prompt):
        if prompt.endswith("black"):
            raise ConnectionError("gone")
        return clerk(prompt)

    outcome = search(clerk_system(moody), iterations=12)
    assert outcome.best_reward == pytest.approx(0.75)


@pytest.mark.parametrize("model, words", [
    (lambda prompt: 1 / 0, "ZeroDivisionError: division by zero"),
    (lambda prompt: None, "returned None; a text is needed"),
    (lambda prompt: b"7", "a text is needed"),
    (lambda prompt: "\ud800", "no Unicode"),
])
def test_where_all_fails_the_first_cause_is_named(model, words):
    with pytest.raises(yolk.Failed, match=words) as caught:
        search(clerk_system(model))
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize("score, words", [(float("nan"), "finite"), (None, "a number"), ("one", "a number")])
def test_a_metric_without_a_score_for_any_example(score, words):
    with pytest.raises(yolk.Failed, match=words):
        search(metric=yolk.metric(lambda prediction, expected: score))


def test_a_metric_that_raises_for_all_examples():
    def raises(prediction, expected):
        raise LookupError("no such key")

    with pytest.raises(yolk.Failed, match="LookupError: no such key") as caught:
        search(metric=raises)
    assert isinstance(caught.value.__cause__, LookupError)


@pytest.mark.parametrize("reflector, words", [(lambda prompt: 1 / 0, "division by zero"), (lambda prompt: 5, "returned 5")])
def test_a_reflector_that_never_answers_is_given_up(reflector, words):
    with pytest.raises(yolk.Failed, match=f"3 reflections in a row gave no new text.*{words}"):
        search(reflector=reflector)


def test_replies_without_a_text_end_the_search_unless_one_had_a_text():
    with pytest.raises(yolk.Failed, match="3 reflections in a row gave no new text.*has no new text in it"):
        search(reflector=lambda prompt: "", iterations=4)
    replies = iter(["```\nHello.\n```"])
    outcome = search(reflector=lambda prompt: next(replies, ""), iterations=5)
    assert "no new text" in outcome.steps[-1]["why"]


def test_callbacks_that_raise_end_it_with_what_they_raised():
    def on_step(step):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        search(on_step=on_step)
    assert search(on_step=lambda step: False).text_rounds[0]["stopped_by"] == "caller"


def test_settings_are_checked():
    with pytest.raises(yolk.BadInput, match="does not cover one new text"):
        search(metric_calls=5)
    with pytest.raises(yolk.BadInput, match="Nothing ends"):
        search(metric_calls=0)
    with pytest.raises(yolk.BadInput, match="no examples"):
        clerk_system().optimize_prompts([], yolk.metrics.exact_match(), editor, metric_calls=100)
    with pytest.raises(yolk.BadInput, match="yolk.models.chat"):
        search(reflector="openai/gpt-5")
    with pytest.raises(yolk.BadInput, match="no_such"):
        search(no_such=1)
    with pytest.raises(yolk.BadInput, match="pareto, best"):
        search(parent="worst")
    with pytest.raises(yolk.BadInput, match="records"):
        search(reflection_prompt="{text} only")
    with pytest.raises(yolk.BadInput, match="No model"):
        yolk.System(lambda x: yolk.model_call(x))(x="?")
    with pytest.raises(yolk.BadInput, match="no message"):
        yolk.model_call()


def test_a_budget_for_one_new_text_is_warned_about():
    with pytest.warns(UserWarning, match="a second takes 20 at least") as warned:
        search(metric_calls=19)
    assert len(warned) == 1


def ctrl_c_after(seconds):
    threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT)).start()


@pytest.mark.parametrize("who", ["model", "reflector"])
def test_ctrl_c_ends_a_call_that_never_returns(who):
    stuck = threading.Event()

    def never(prompt):
        stuck.wait(60)
        return "late"

    started = time.monotonic()
    ctrl_c_after(0.7)
    try:
        with pytest.raises(KeyboardInterrupt):
            search(clerk_system(never) if who == "model" else None, reflector=never if who == "reflector" else editor)
    finally:
        stuck.set()
    assert time.monotonic() - started < 10
    assert search().best_reward == 1  # the next one is not ended
