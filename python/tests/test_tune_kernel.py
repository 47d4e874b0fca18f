# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import shutil
import signal
import subprocess

import numpy as np
import pytest

import yolk

SHADER = """#version 460
layout(local_size_x_id = 0) in;
#ifndef COLUMNS
#define COLUMNS 1
#endif
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 1) buffer B { float b[]; };
layout(std430, binding = 2) writeonly buffer C { float c[]; };
layout(push_constant) uniform Sizes { uint count; };
void main() {
    for (uint k = 0; k < COLUMNS; ++k) {
        const uint i = gl_GlobalInvocationID.x * COLUMNS + k;
        if (i >= count) continue;
        c[i] = 2.0 * a[i] + b[i];
        b[i] = WRONG + b[i] + 1.0;
    }
}
"""


def make_space(**changes):
    return {
        "parameters": {"wx": {"values": [8, 32], "constant_id": 0},
                       "columns": {"values": [1, 2], "define": "COLUMNS"},
                       "wrong": {"values": ["0.0", "1.0"], "define": "WRONG"}},
        "sizes": {"count": 1000, "half": "count / 2"},
        "buffers": [
            {"name": "a", "binding": 0, "role": "input", "content": np.linspace(0, 1, 1000, dtype=np.float32)},
            {"name": "b", "binding": 1, "type": "f32", "elements": "count", "role": "in_out",
             "content": {"uniform": [-1, 1], "seed": 3}},
            {"name": "c", "binding": 2, "type": "f32", "elements": "count", "role": "output"}],
        "push_constants": [{"type": "u32", "value": "count"}],
        "dispatch": ["ceil_div(count, wx * columns)"], **changes}


def reference(a, b, count):
    assert a.dtype == np.float32 and a.shape == b.shape == (count,)
    return {"b": b + 1, "c": 2 * a + b}


def tune(tmp_path, **settings):
    return yolk.tune_kernel(**{"shader": SHADER, "space": make_space(), "reference": reference, "budget": 8,
                               "table": tmp_path / "table.sqlite", **settings})


def test_a_python_function_says_what_is_right(tmp_path):
    seen = []
    found = tune(tmp_path, on_progress=seen.append, record=tmp_path / "all.t4.json")
    assert found.configuration["wrong"] == "0.0" and found.configuration["wx"] in (8, 32) and found.decided
    assert found.milliseconds > 0 and found.speed_up >= 1 and "reference" in found.reference
    by_status = {entry["configuration"]["wrong"]: set() for entry in found.measured}
    for entry in found.measured:
        by_status[entry["configuration"]["wrong"]].add(entry["milliseconds"] is not None)
    assert by_status == {"0.0": {True}, "1.0": {False}}  # every wrong one was found out
    assert seen and seen[-1]["evaluations"] <= 8 and seen[-1]["budget"] == 8
    times = [entry["milliseconds"] for entry in found.measured if entry["milliseconds"] is not None]
    assert times == sorted(times) and json.loads((tmp_path / "all.t4.json").read_text())["results"]
    assert "wx" in repr(found) and "<table>" in found._repr_html_()
    found.save(tmp_path / "best.json")
    best = json.loads((tmp_path / "best.json").read_text())
    assert best["yolk_kernel"] == 1 and best["configuration"] == found.configuration and "table" not in best

    again = tune(tmp_path)
    assert again.new_evaluations == 0 and again.configuration == found.configuration
    assert [row["configuration"] for row in again.measured] == [row["configuration"] for row in found.measured]


def test_a_wrong_reference_makes_everything_wrong(tmp_path):
    with pytest.raises(yolk.Failed, match="right"):
        tune(tmp_path, reference=lambda a, b: {"b": b, "c": a}, budget=3)


def test_it_is_the_command_s_search(tmp_path):
    command = os.environ.get("YOLK_TEST_COMMAND")
    if not command:
        pytest.skip("no command")
    folder = pathlib.Path(__file__).resolve().parents[2] / "examples/09_own_kernel"
    found = yolk.tune_kernel(folder / "my.comp", space=folder / "space.json", budget=3, table=tmp_path / "table.sqlite")
    assert "reference.comp" in found.reference and found.configuration["staged"] in (True, False)
    done = subprocess.run([command, "tune", "kernel", folder / "my.comp", "--space", folder / "space.json", "--json",
                           "--quiet"], capture_output=True, text=True,
                          env={**os.environ, "YOLK_TABLE": str(tmp_path / "table.sqlite")})
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["measured"] == 0 and told["configuration"] == found.configuration


def test_a_space_in_a_file_with_files_beside_it(tmp_path):
    (tmp_path / "my.comp").write_text(SHADER)
    np.linspace(0, 1, 1000, dtype=np.float32).tofile(tmp_path / "a.bin")
    space = make_space()
    space["buffers"][0].update(type="f32", elements=1000, content={"file": "a.bin"})
    (tmp_path / "space.json").write_text(json.dumps(space))
    found = tune(tmp_path, shader=tmp_path / "my.comp", space=tmp_path / "space.json", budget=3)
    assert found.configuration["wrong"] == "0.0"
    shutil.rmtree(tmp_path)


def test_without_a_reference_it_warns(tmp_path):
    with pytest.warns(UserWarning, match="what is right in b, c"):
        tune(tmp_path, reference=None, budget=1)
    assert tune(tmp_path, reference="default", budget=1).milliseconds > 0


def test_a_constraint_may_be_a_function(tmp_path):
    asked = []

    def small(one):
        asked.append(dict(one))
        return one["wx"] * one["columns"] < 32 and one["wrong"] == "0.0"

    found = tune(tmp_path, space=make_space(constraints=[small, "columns <= 2"]))
    assert len(asked) == 8 and {"wx": 8, "columns": 1, "wrong": "1.0"} in asked
    tried = [entry["configuration"] for entry in found.measured]
    assert tried and all(one["wx"] == 8 and one["wrong"] == "0.0" for one in tried)
    written = tune(tmp_path, space=make_space(constraints=["wx * columns < 32 && wrong == '0.0'"]), again=True)
    assert sorted(map(str, tried)) == sorted(str(entry["configuration"]) for entry in written.measured)


def test_a_constraint_s_exception_comes_out(tmp_path):
    with pytest.raises(KeyError, match="columnz"):
        tune(tmp_path, space=make_space(constraints=[lambda one: one["columnz"] > 1]))


def test_functions_get_what_they_ask_for(tmp_path):
    def everything(**known):
        assert set(known) == {"a", "b", "count", "half"} and known["half"] == 500
        return known["b"] + 1, 2 * known["a"] + known["b"]

    assert tune(tmp_path, reference=everything, budget=1).configuration["wrong"] == "0.0"


@pytest.mark.parametrize("settings, words", [
    ({"reference": lambda a, z: a}, "asks for z; there are a, b, count, half"),
    ({"reference": lambda a: a}, "b, c"),
    ({"reference": lambda a: {"b": a}}, "b, c"),
    ({"reference": lambda a: (a, a[:-1])}, "999 elements for 'c'"),
    ({"reference": lambda a: (a, "text")}, "dtype"),
    ({"space": make_space(constraints=[lambda one: one["wx"] < 3])}, "allow no configuration"),
    ({"space": make_space(constraints=[lambda one: None])}, "True or False"),
    ({"space": make_space(constraints=[lambda one: True], parameters={"wx": {"values": list(range(1, 5000)),
                                                                            "constant_id": 0}})}, "as an expression"),
    ({"space": make_space(constraints=[lambda one: True], parameters={"wx": {"values": "pow2", "constant_id": 0}})},
     "as a list"),
    ({"space": make_space(constraints=["wx < nothing"])}, "nothing"),
    ({"space": make_space(dispatch=[])}, "dispatch"),
    ({"space": {"parameters": {}}}, "buffers"),
    ({"space": "no such file.json"}, "cannot be read"),
    ({"shader": "no such file.comp"}, "no such file"),
    ({"shader": SHADER.replace("void main", "void main(")}, "kernel.comp"),
    ({"budget": 0}, "budget"),
    ({"budget": True}, "budget"),
    ({"seconds": 0}, "seconds"),
    ({"strategy": "guess"}, "natural"),
    ({"record": "all.csv"}, "t4.json"),
    ({"device": "no such device"}, "no such device"),
])
def test_bad_input_is_refused_with_a_reason(tmp_path, settings, words):
    with pytest.raises((yolk.BadInput, yolk.FileError), match=words):
        tune(tmp_path, **settings)


def test_exceptions_come_out(tmp_path):
    def broken(a):
        raise KeyError("in the reference")

    def told(progress):
        raise KeyError("in the callback")

    with pytest.raises(KeyError, match="in the reference") as raised:
        tune(tmp_path, reference=broken)
    assert any(entry.name == "broken" for entry in raised.traceback)
    with pytest.raises(KeyError, match="in the callback"):
        tune(tmp_path, on_progress=told)


def test_false_ends_the_search_and_the_next_run_goes_on(tmp_path):
    found = tune(tmp_path, on_progress=lambda progress: progress["evaluations"] < 2)
    assert not found.decided and found.new_evaluations <= 3
    assert tune(tmp_path).decided


def test_ctrl_c_ends_the_search(tmp_path):
    def press(progress):
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        tune(tmp_path, on_progress=press)
    assert tune(tmp_path).decided
