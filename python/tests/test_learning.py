# SPDX-License-Identifier: Apache-2.0
import os

import numpy as np
import pytest

import yolk

DEVICE = os.environ.get("YOLK_TEST_DEVICE")
SMALL = {"hidden": 16, "activation": "tanh", "batch": 64, "population": 64, "learning_rate": 0.1, "generations": 60,
         "device": DEVICE}


def rings(rows=300):
    """Three rings around a point: no line separates them."""
    number = np.arange(rows)
    angle, radius = 2.399963 * number, 1.0 + (number % 3) * 2.0
    x = np.stack([100 + radius * np.cos(angle), radius * np.sin(angle)], axis=1).astype(np.float32)
    return x, np.array(["inner", "middle", "outer"])[number % 3]


def test_arrays_are_learned():
    seen = []
    run = yolk.train(data=rings(), on_generation=seen.append, **SMALL)
    assert run.accuracy >= 0.9 and run.test["rows"] == 60
    assert run.model.classes == ["inner", "middle", "outer"]
    assert [report["generation"] for report in seen] == list(range(60)) and run.history == seen
    x, y = rings(9)
    assert run.model.evaluate(x, y)["accuracy"] >= 0.7
    assert run.model.probabilities(x).shape == (9, 3)
    assert set(run.model(x)) <= {"inner", "middle", "outer"}
    weight, bias = run.model.parameters["layer0.weight"], run.model.parameters["layer0.bias"]
    assert weight.shape == (16, 2) and bias.shape == (16,)
    assert "LearnedRun" in repr(run) and "3 classes" in repr(run.model)
    with pytest.raises(yolk.BadInput, match="'strange' was not among"):
        run.model.evaluate(x[:1], ["strange"])


def test_a_file_gives_what_its_rows_give(tmp_path):
    x, y = rings(90)
    file = tmp_path / "rings.csv"
    file.write_text("x,y,kind\n" + "".join(f"{float(a)!r},{float(b)!r},{c}\n" for (a, b), c in zip(x, y)))
    read, labels = yolk.read_data(file)
    assert np.array_equal(read, x) and labels == list(y)
    few = {**SMALL, "generations": 4}
    of_file = yolk.train(str(file), out=tmp_path / "run", **few)
    assert of_file.state_hash == yolk.train(data=(x, y), **few).state_hash
    again = yolk.train(str(tmp_path / "run" / "yolk.toml"), out=tmp_path / "again", device=DEVICE)
    assert again.state_hash == of_file.state_hash
    other = yolk.train(str(tmp_path / "run" / "yolk.toml"), out=tmp_path / "other", device=DEVICE, set={"search.seed": 2})
    assert other.state_hash != of_file.state_hash


@pytest.mark.parametrize("wrong, message", [
    ({"data": ([[1.0, 2.0]], ["a", "b"])}, "each row needs one"),
    ({"data": ([1.0, 2.0], ["a", "b"])}, "dimension"),
    ({"data": ([[1.0], [float("nan")]], ["a", "b"])}, "in row 1"),
    ({"data": rings(30), "episodes": 2}, "runs over an environment"),
    ({"data": rings(30), "hang_seconds": 3.0}, "runs over an environment"),
    ({"data": rings(30), "set": {"serch.lr": 1}}, "there is no setting 'serch.lr'"),
    ({"task": "cartpole", "batch": 3}, "runs over a data set"),
])
def test_bad_input(wrong, message):
    with pytest.raises(yolk.BadInput, match=message):
        yolk.train(device=DEVICE, **wrong)
