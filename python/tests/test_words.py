# SPDX-License-Identifier: Apache-2.0
"""Messages tell users of Python what Python calls things: no options, types or functions of C++."""

import pathlib
import re

import numpy as np
import pytest

import yolk

pytestmark = pytest.mark.once  # of no device

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULES = ("core", "runtime", "context", "primitives", "evolve", "hyper", "train", "autotune")
LITERAL = r'"((?:[^"\\\n]|\\.)*)"'
CPP = re.compile(r"\b\w+::\w+|\{\.[a-z]|\b[A-Z]\w+(?:Options|Parts|Models)\b|&&|\|\||\bnullptr\b|\b([a-z_]+)\(\)")

# Sources whose messages no call from Python can bring about, and why.
UNREACHED = {
    "core/src/files/seal.cpp": "no message",
    "runtime/src/device/binding.cpp": "pipelines are made and bound by plans",
    "runtime/src/sharing/interop.cpp": "devices and buffers of others come in from C++ alone",
    "runtime/src/submission/recorder_impl.cpp": "recordings are C++'s",
    "primitives/src/curvature/block_inverse.cpp": "the configuration of a kernel is the plan's",
    "primitives/src/es_update/es_update.cpp": "tables of parameters come from their text",
    "evolve/src/engines/device_evolution.cpp": "runs from Python have a digest, and nobody asks for their weights",
    "evolve/src/engines/host_evolution.cpp": "runs from Python have their evaluator",
    "evolve/src/pool/stage_calls.cpp": "stages of one's own are C++'s",
    "evolve/src/run/evolution.cpp": "runs from Python have their parts",
    "evolve/src/run/member_policies.cpp": "called in order by yolk._gymnasium",
    "evolve/src/settings/evolution_checks.cpp": "runs from Python have their parts",
    "hyper/include/yolk/internal/hyper/plain_values.hpp": "for the compiler",
    "hyper/src/graph/evaluation.cpp": "of graphs that were put together by hand in C++",
    "hyper/src/host/host_pool.cpp": "functions of Python raise exceptions",
    "hyper/src/values/caught.hpp": "functions of Python raise exceptions",
    "hyper/src/population/device_evaluator.cpp": "asked for by the search alone",
    "hyper/src/program/example_set.cpp": "each search makes its evaluator",
}


def messages():
    """(file, text) of all texts of the sources that have a space in them."""
    for module in MODULES:
        for file in sorted((ROOT / module).rglob("*.[ch]pp")):
            if "tests" in file.parts:
                continue
            lines = file.read_text(encoding="utf-8").splitlines()
            code = "\n".join(line for line in lines if not line.lstrip().startswith(("#", "//")))
            for found in re.finditer(rf"(?:{LITERAL}\s*)+", code):
                text = "".join(re.findall(LITERAL, found.group(0)))
                if " " in text:
                    yield str(file.relative_to(ROOT)), text


def of_cpp(text):
    """The words of a text that are C++'s alone."""
    known = set(dir(yolk)) | set(dir(yolk.metrics))
    for kind in (yolk.System, yolk.Walk, yolk.Evolution, yolk.Graph):
        known |= set(dir(kind))
    return [found.group(0) for found in CPP.finditer(text) if found.group(1) not in known]


of_sources = pytest.mark.skipif(not (ROOT / "python/src").is_dir(), reason="the library's sources are not here")


@of_sources
def test_no_message_names_what_is_cpp_s():
    all_messages = list(messages())
    assert len(all_messages) > 1000
    left = [(file, of_cpp(yolk._core.in_python(text)), text) for file, text in all_messages
            if file not in UNREACHED and of_cpp(yolk._core.in_python(text))]
    assert left == []
    # An entry that is needed no more goes.
    assert {file for file, text in all_messages if of_cpp(text)} >= set(UNREACHED)


@of_sources
def test_each_replacement_is_of_a_message():
    source = (ROOT / "python/src/base/words.cpp").read_text(encoding="utf-8")
    texts = "\n".join(text for _, text in messages()).replace("\\", "")
    table = re.findall(rf"\{{((?:\s*{LITERAL})+),((?:\s*{LITERAL})+)\}}", source)
    assert len(table) > 20
    for row in table:
        assert "".join(re.findall(LITERAL, row[0])).replace("\\", "") in texts


@yolk.host_function(yolk.Vector(1))
def on_host(weight, x):
    return float(weight[0] * x)


@yolk.hyperfunction(yolk.Text("hello"))
def greeting(text):
    return text


@yolk.hyperfunction(yolk.Matrix(2, 2))
def layer(weight, x):
    return weight @ x


def no_rule():
    graph = yolk.System(lambda x: on_host(x), name="a").graph({"x": 1.0})
    yolk.pullback(graph)


def no_length():
    yolk.trace(lambda x: yolk.scan(x, None, lambda carry, _: (carry, carry)), {"x": np.ones(2)})


def no_model():
    yolk.System(lambda x: yolk.model_call(x))(x="hello")


def long_text():
    system = yolk.System(lambda: greeting())
    system()
    system.set("greeting", "a" * 100000)


def numbers_for_a_text():
    system = yolk.System(lambda: greeting())
    system()
    system.set("greeting", np.ones(3))


def a_text_for_numbers():
    system = yolk.System(lambda x: layer(x))
    system(x=np.ones(2))
    system.set("layer", "hello")


def nothing_to_optimize():
    system = yolk.System(lambda x: x)
    system.optimize([({"x": 1.0}, 1.0)], yolk.metrics.numeric_distance())


def bad_bounds():
    import dataclasses

    @dataclasses.dataclass
    class Settings:
        width: float = yolk.knob(0.5, 1.0, 0.0)

    yolk.hyperfunction(Settings)(lambda settings, x: settings.width * x)
    yolk.System(lambda x: yolk.hyperfunction(Settings)(lambda settings, x: settings.width * x)(x))(x=1.0)


@pytest.mark.parametrize("call, words", [
    (no_rule, "rules={its name: function}"), (no_length, "length=10"), (no_model, "system.use_model(model)"),
    (long_text, "most_bytes of yolk.Text"), (numbers_for_a_text, "system.set(name, text)"),
    (a_text_for_numbers, "system.set(name, values)"), (nothing_to_optimize, "optimize=True"), (bad_bounds, "yolk.knob")],
                         ids=lambda one: getattr(one, "__name__", ""))
def test_what_users_are_told(call, words):
    with pytest.raises(yolk.Error) as raised:
        call()
    assert words in str(raised.value) and of_cpp(str(raised.value)) == []
