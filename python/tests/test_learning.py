# SPDX-License-Identifier: Apache-2.0
import json
import os
import threading
import time

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
    assert run.model.probabilities(np.zeros((0, 2))).shape == (0, 3)
    assert run.devices[0] in run.why_device and run._repr_svg_().startswith("<svg")
    with pytest.raises(yolk.BadInput, match="'strange' was not among"):
        run.model.evaluate(x[:1], ["strange"])


def bars(rows=240):
    """Images of 6 x 5 with a bar down or across."""
    x = np.random.default_rng(5).random((rows, 6, 5)).astype(np.float32) * .3
    for i in range(rows):
        x[i, :, i // 2 % 5] += i % 2
        x[i, i // 2 % 6] += 1 - i % 2
    return x, np.where(np.arange(rows) % 2, "down", "across")


def test_images_are_learned_by_convolutions(tmp_path):
    settings = {**SMALL, "hidden": [], "conv": ["4x3p1", "max2"], "generations": 40}
    run = yolk.train(data=bars(), out=tmp_path / "run", **settings)
    assert run.accuracy >= 0.9
    assert run.model.conv == ["4x3p1", "max2"] and run.model.hidden == []
    shapes = {name: value.shape for name, value in run.model.parameters.items()}
    assert shapes == {"layer0.weight": (4, 9), "layer0.bias": (4,), "layer1.weight": (2, 24), "layer1.bias": (2,)}
    x, y = bars(7)
    assert run.model.probabilities(x).shape == (7, 2)
    in_one = yolk.train(data=bars(), **{**settings, "conv": "4x3p1,max2", "generations": 3})
    assert in_one.history[2]["unperturbed"] == run.history[2]["unperturbed"]
    # The network, from its parameters.
    weights = run.model.parameters
    rows = (x - stored(run, "input.mean")) * stored(run, "input.scale")
    image = yolk.ops.convolution(weights["layer0.weight"], rows[..., None], [3, 3], padding=[1, 1])
    image = yolk.ops.max_pool(np.tanh(image.numpy() + weights["layer0.bias"]), [2, 2]).numpy().reshape(7, -1)
    logits = image @ weights["layer1.weight"].T + weights["layer1.bias"]
    powers = np.exp(logits - logits.max(1, keepdims=True))
    np.testing.assert_allclose(run.model.probabilities(x), powers / powers.sum(1, keepdims=True), atol=1e-4)


def stored(run, name):
    """A tensor of the model's file, in the shape of a row."""
    safetensors = open(run.model.file, "rb").read()
    size = int.from_bytes(safetensors[:8], "little")
    begin, end = json.loads(safetensors[8:8 + size])[name]["data_offsets"]
    return np.frombuffer(safetensors[8 + size + begin:8 + size + end], np.float32).reshape(run.model.shape)


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
    ({"data": (np.ones((2, 2), complex), ["a", "b"])}, "complex"),
    ({"data": ([["1", "2"]], ["a"])}, "real numbers"),
    ({"data": ([[1.0, 2.0]], 3)}, "y is 3"),
    ({"data": rings(30), "episodes": 2}, "runs over an environment"),
    ({"data": rings(30), "hang_seconds": 3.0}, "runs over an environment"),
    ({"data": rings(30), "set": {"serch.lr": 1}}, "there is no setting 'serch.lr'"),
    ({"data": bars(24), "conv": ["8x7"]}, "'8x7' needs an image of at least 7 x 7, and the one that comes to it is 6 x 5"),
    ({"data": bars(24), "conv": ["8y7"]}, "'8y7' is no layer over images"),
    ({"data": rings(30), "conv": ["8x3"]}, r"have \[2\] inputs. Images come from"),
    ({"task": "cartpole", "conv": "8x3"}, "runs over a data set"),
    ({"task": "cartpole", "batch": 3}, "runs over a data set"),
])
def test_bad_input(wrong, message):
    with pytest.raises(yolk.BadInput, match=message):
        yolk.train(device=DEVICE, **wrong)


def test_other_threads_go_on_while_it_predicts():
    x = np.random.default_rng(1).random((40000, 64)).astype(np.float32)
    model = yolk.train(data=(x[:200], ["a", "b"] * 100), **{**SMALL, "population": 8, "generations": 1, "hidden": 64}).model
    ticks, done = [], threading.Event()

    def watch():
        while not done.is_set():
            time.sleep(0.001)
            ticks.append(time.monotonic())

    watching = threading.Thread(target=watch)
    watching.start()
    begin = time.monotonic()
    model.probabilities(x)
    end = time.monotonic()
    done.set()
    watching.join()
    assert sum(begin < tick < end for tick in ticks) >= 5  # 2 at most while the lock is held
