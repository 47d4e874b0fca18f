# SPDX-License-Identifier: Apache-2.0
import asyncio
import dataclasses
import json
import traceback

import numpy as np
import pytest

import yolk

XOR = [({"x": [a, b]}, float(a != b)) for a in (0.0, 1.0) for b in (0.0, 1.0)]


def xor_system():
    @yolk.hyperfunction(yolk.Matrix(8, 2))
    def hidden(weight, x):
        return weight @ x

    @yolk.hyperfunction(yolk.Vector(8))
    def bias(vector, x):
        return yolk.tanh(x + vector)

    @yolk.hyperfunction(yolk.Matrix(1, 8))
    def output(weight, x):
        return weight @ x

    return yolk.System(lambda x: output(bias(hidden(x))), name="xor")


def test_exclusive_or_is_learned():
    system = xor_system()
    outcome = system.optimize(XOR, yolk.metrics.numeric_distance(), generations=150, population=128, sigma=0.1,
                              learning_rate=0.3)
    assert outcome.best_reward > outcome.start_reward and outcome.best_reward > -0.05
    assert len(outcome.history) == 150 and outcome.state_hash
    for inputs, expected in XOR:
        assert system(**inputs)[0] == pytest.approx(expected, abs=0.4)


def test_derivatives_learn_it_too():
    outcome = xor_system().optimize(XOR, yolk.metrics.numeric_distance(), generations=200,
                                    gradient={"rule": "adam", "learning_rate": 0.05})
    assert outcome.best_reward > -0.05


def test_the_same_seed_gives_the_same_state():
    hashes = {xor_system().optimize(XOR, yolk.metrics.numeric_distance(), generations=5, seed=3).state_hash for _ in range(2)}
    assert len(hashes) == 1


def test_a_population_is_scored_as_its_members_are():
    system = xor_system()
    system.evaluate(XOR, yolk.metrics.numeric_distance())
    rng = np.random.default_rng(0)
    candidates = [{"hidden": rng.normal(size=(8, 2)), "output": rng.normal(size=(1, 8))} for _ in range(6)]
    found = system.evaluate_population(candidates, XOR, yolk.metrics.numeric_distance())
    for candidate, reward in zip(candidates, found.rewards):
        for name, values in candidate.items():
            system.set(name, values)
        assert system.evaluate(XOR, yolk.metrics.numeric_distance()).reward == pytest.approx(reward, rel=1e-5)


@dataclasses.dataclass
class Sampling:
    temperature: float = yolk.knob(0.7, 0.0, 2.0)
    steps: int = yolk.knob(4, 1, 64, log=True)
    fast: bool = yolk.knob(False)
    style: str = yolk.knob("short", choices=["short", "long", "plain"])


def test_a_host_function_gets_its_dataclass_and_is_tuned():
    seen = []

    @yolk.host_function(Sampling)
    def reply(sampling, question):
        seen.append(sampling)
        return -abs(sampling.temperature - 1.3)

    system = yolk.System(lambda question: reply(question), name="sampling")
    outcome = system.optimize([({"question": "how?"}, 0.0)], yolk.metrics.output_as_reward(), generations=40, population=16)
    assert isinstance(seen[0], Sampling) and seen[0] == Sampling()
    assert outcome.best_reward > -0.1
    assert system.parameters["reply"]["temperature"] == pytest.approx(1.3, abs=0.1)
    assert system.parameters["reply"]["style"] in ("short", "long", "plain")


def test_coroutines_and_texts():
    @yolk.host_function
    async def shout(text):
        await asyncio.sleep(0.01)
        return text.upper()

    @yolk.hyperfunction("Say: ")
    def prompt(instruction, question):
        return yolk.format("{}{}!", instruction, question)

    system = yolk.System(lambda question: shout(prompt(question)))
    assert system(question="hello") == "SAY: HELLO!"
    assert system.parameters == {"prompt": "Say: "}
    system.set("prompt", "Do: ")
    assert system(question="it") == "DO: IT!"


def test_values_come_back_as_they_went_in():
    @yolk.host_function
    def same(value):
        return value

    system = yolk.System(lambda value: same(value))
    for value in ("text", 3, 2.5, True, {"a": 1, "b": ["x", "y"]}, ["a", "b"]):
        assert system(value=value) == value
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(system(value=array), array)


def test_lists_and_dicts_may_have_traced_values_in_them():
    @yolk.host_function
    def told(value):
        return json.dumps(value)

    system = yolk.System(lambda name, n: told({"names": [name, "you"], "deep": [{"n": (n, 2)}, []], "n": n}))
    assert json.loads(system(name="I", n=3)) == {"names": ["I", "you"], "deep": [{"n": [3, 2]}, []], "n": 3}
    second = yolk.trace(lambda names: yolk.item(names, 1, like="a text"), ["x", "y", "z"])
    assert second(["a", "b"]) == "b"
    with pytest.raises(yolk.BadInput, match="The operand has the key 1, which is no text"):
        yolk.System(lambda name: told({1: name}))(name="I")
    itself = {"name": "x"}
    itself["itself"] = [itself]
    deep = "x"
    for _ in range(100000):
        deep = [deep, "y"]
    for value in itself, deep:
        with pytest.raises(yolk.BadInput, match="input 'value' nests lists and dicts more than 100 deep, or contains"):
            yolk.System(lambda value: told(value))(value=value)
        with pytest.raises(yolk.BadInput, match="The operand nests lists and dicts more than 100 deep, or contains"):
            yolk.System(lambda name: told([name, value]))(name="I")


def test_several_outputs():
    @yolk.hyperfunction
    def both(x):
        return {"twice": x * 2.0, "half": x / 2.0}

    found = yolk.System(lambda x: both(x))(x=[1.0, 2.0])
    np.testing.assert_array_equal(found["twice"], [2.0, 4.0])
    np.testing.assert_array_equal(found["half"], [0.5, 1.0])


@pytest.mark.parametrize("name, operation, reference", [
    ("add", lambda x: 1.0 + x - 0.5, lambda x: 1.0 + x - 0.5),
    ("divide", lambda x: 2.0 / (x * x + 1.0), lambda x: 2.0 / (x * x + 1.0)),
    ("power", lambda x: abs(x)**2.0, lambda x: np.abs(x)**2.0),
    ("negative", lambda x: -x, lambda x: -x),
    ("compare", lambda x: (x > 0.0) & ~(x > 1.0), lambda x: ((x > 0) & ~(x > 1)).astype(float)),
    ("slice", lambda x: x[1:, ::2], lambda x: x[1:, ::2]),
    ("index", lambda x: x[2], lambda x: x[2]),
    ("ellipsis", lambda x: x[..., 1:3], lambda x: x[..., 1:3]),
    ("transpose", lambda x: x.T @ x, lambda x: x.T @ x),
    ("sum", lambda x: yolk.sum(x, axis=0), lambda x: x.sum(axis=0)),
    ("mean", lambda x: yolk.mean(x, axis=1, keepdims=True), lambda x: x.mean(axis=1, keepdims=True)),
    ("all", lambda x: yolk.max(x), lambda x: x.max().reshape(1)),
    ("softmax", lambda x: yolk.softmax(x), lambda x: np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)),
    ("where", lambda x: yolk.where(x > 0.0, x, 0.0), lambda x: np.maximum(x, 0)),
    ("clip", lambda x: yolk.clip(x, -0.5, 0.5), lambda x: np.clip(x, -0.5, 0.5)),
    ("concatenate", lambda x: yolk.concatenate([x, x], axis=1), lambda x: np.concatenate([x, x], axis=1)),
    ("reshape", lambda x: yolk.reshape(x, [4, 3]), lambda x: x.reshape(4, 3)),
    ("iterate", lambda x: yolk.stack([row for row in x], axis=1), lambda x: np.stack(list(x), axis=1)),
    ("cumsum", lambda x: yolk.cumsum(x), lambda x: x.cumsum(axis=-1)),
])
def test_operations_are_numpy_s(name, operation, reference):
    x = np.random.default_rng(4).normal(size=(3, 4)).astype(np.float32)
    function = yolk.hyperfunction(None, name="op")(lambda value: operation(value))
    np.testing.assert_allclose(yolk.System(lambda value: function(value))(value=x), reference(x), rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("use, words", [
    (lambda x: 1.0 if x else 0.0, "yolk.where"),
    (lambda x: str(x), "yolk.format"),
    (lambda x: f"{x}", "yolk.format"),
    (lambda x: float(x), "host function"),
    (lambda x: int(x), "host function"),
    (lambda x: "a" in x, "contains"),
    (lambda x: [0, 1][x], "gather"),
    (lambda x: np.log1p(x), r"np\.log1p .* Use np\.log"),
    (lambda x: np.einsum("i->", x), r"np\.einsum"),
    (lambda x: np.sin(x, out=np.zeros(1)), "in place"),
    (lambda x: np.sort(x), r"np\.sort .*host_function"),
    (lambda x: np.asarray(x), "NumPy"),
])
def test_what_cannot_be_traced_says_what_to_use(use, words):
    function = yolk.hyperfunction(None, name="bad")(lambda x: use(x))
    with pytest.raises((yolk.Untraceable, TypeError), match=words):
        yolk.System(lambda x: function(x))(x=[1.0])


def test_errors_name_the_line_of_the_program():
    @yolk.hyperfunction
    def wrong(x):
        return x + yolk.concatenate([x, x])  # shapes [3] and [6]

    with pytest.raises(yolk.BadInput, match=r"test_systems\.py:\d+"):
        yolk.System(lambda x: wrong(x))(x=[1.0, 2.0, 3.0])


def test_an_exception_in_a_host_function_keeps_its_traceback():
    @yolk.host_function
    def fails(x):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine") as caught:
        yolk.System(lambda x: fails(x)).evaluate([({"x": 1.0}, 1.0)], yolk.metrics.exact_match())
    assert "fails" in "".join(traceback.format_exception(caught.value))


def test_metrics_of_one_s_own():
    @yolk.metric
    def closeness(prediction, expected):
        return -abs(float(prediction[0]) - expected)

    @yolk.metric(traced=True)
    def squared(prediction, expected):
        return -yolk.sum((prediction - expected)**2.0)

    for own in (closeness, squared):
        outcome = xor_system().optimize(XOR, own, generations=20, population=64)
        assert outcome.best_reward > outcome.start_reward


def test_saved_and_loaded(tmp_path):
    system = xor_system()
    system.optimize(XOR, yolk.metrics.numeric_distance(), generations=3)
    system.save(tmp_path / "xor.safetensors")
    other = xor_system()
    other.evaluate(XOR, yolk.metrics.numeric_distance())
    other.load(tmp_path / "xor.safetensors")
    for name, values in system.parameters.items():
        np.testing.assert_array_equal(other.parameters[name], values)


def test_graphs_and_ablation():
    system = xor_system()
    graph = system.graph(XOR[0][0])
    assert "linear" in str(graph) and graph.to_svg().startswith("<svg") and graph._repr_svg_() == graph.to_svg()
    rows = system.ablate(XOR, yolk.metrics.numeric_distance())
    assert [row["group"] for row in rows] == ["hidden", "bias", "output"]


def test_bad_input_is_refused():
    system = xor_system()
    with pytest.raises(yolk.BadInput):
        system(y=[0.0, 1.0])
    with pytest.raises(yolk.BadInput, match="no input y; xor takes x"):
        system(x=[0.0, 1.0], y=1.0)
    with pytest.raises(yolk.BadInput, match="'hidden'"):
        system.set("hidden", None)
    with pytest.raises(yolk.BadInput, match="examples are None"):
        system.evaluate(None, yolk.metrics.exact_match())
    with pytest.raises(yolk.BadInput):
        system(x=None)
    with pytest.raises(yolk.BadInput, match="pair"):
        system.evaluate([{"x": [0.0, 1.0]}], yolk.metrics.exact_match())
    with pytest.raises(yolk.BadInput):
        system.evaluate([], yolk.metrics.exact_match())
    with pytest.raises(yolk.BadInput, match="no_such"):
        system.optimize(XOR, yolk.metrics.exact_match(), no_such=1)
    with pytest.raises(yolk.BadInput, match="bounds"):
        yolk.hyperfunction(dataclasses.make_dataclass("K", [("a", float, yolk.knob(1.0))]))(lambda k, x: x)
    with pytest.raises(yolk.BadInput, match="coroutine"):
        yolk.hyperfunction(asyncio.sleep)


def test_a_function_of_a_running_system_may_not_call_it():
    holder = {}

    @yolk.host_function
    def again(x):
        return holder["system"](x=x)

    holder["system"] = yolk.System(lambda x: again(x))
    with pytest.raises(yolk.Error, match="wait for itself"):
        holder["system"](x=1.0)
