# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

import yolk

MODELS = pathlib.Path(__file__).parents[2] / "transformer" / "tests" / "models"
DEVICE = os.environ.get("YOLK_TEST_DEVICE")


@pytest.fixture(scope="module")
def encoder():
    return yolk.Encoder(MODELS / "bert", device=DEVICE)


def test_embeddings_and_ids_are_those_of_the_reference(encoder):
    stored = json.loads((MODELS / "texts.json").read_text())
    expected = np.array(json.loads((MODELS / "embeddings.json").read_text())["bert"])
    found = encoder(one["text"] for one in stored)
    assert found.dtype == np.float32 and found.shape == expected.shape == (len(stored), 24)
    assert np.abs(found - expected).max() < 1e-5  # transformer/tests/encoder_test.cpp derives it
    assert [encoder.tokens(one["text"]) for one in stored] == [one["ids"] for one in stored]


def test_one_text_is_a_vector(encoder):
    assert np.array_equal(encoder("the cat"), encoder(["the cat"])[0])
    assert encoder([]).shape == (0, 24)
    assert encoder.config["most_tokens"] == 24 and encoder.left_out[0] == "embeddings.position_ids"
    assert "2 layers, 24 numbers" in repr(encoder)


def test_exact_mode_has_the_commands_bits(tmp_path):
    command = os.environ.get("YOLK_TEST_COMMAND")
    if not command:
        pytest.skip("YOLK_TEST_COMMAND names no yolk command")
    out = tmp_path / "made.npy"
    subprocess.run([command, "embed", MODELS / "bert", "--determinism", "exact", "--out", out,
                    *(["--device", DEVICE] if DEVICE else [])], input="the cat sat\na mat", text=True, check=True)
    exact = yolk.Encoder(MODELS / "bert", device=DEVICE, determinism="exact")
    assert np.array_equal(np.load(out), exact(["the cat sat", "a mat"]))


def test_mistakes_are_named(encoder, tmp_path):
    with pytest.raises(yolk.BadInput, match="Text 1 is of the type int"):
        encoder(["a", 1])
    with pytest.raises(yolk.BadInput, match="Text 0 has a lone surrogate at character 1"):
        encoder(["a\ud800"])
    with pytest.raises(yolk.BadInput, match="is no folder"):
        yolk.Encoder(tmp_path / "none", device=DEVICE)
    for batch in (0, -1, 2**40):
        with pytest.raises(yolk.BadInput, match="batch"):
            yolk.Encoder(MODELS / "bert", device=DEVICE, batch=batch)
    assert encoder.device in encoder.why_device
    shutil.copytree(MODELS / "bert", tmp_path / "model")
    config = tmp_path / "model" / "config.json"
    config.write_text(config.read_text().replace('"num_hidden_layers": 2', '"num_hidden_layers": 3'))
    with pytest.raises(yolk.BadInput, match="no tensor 'encoder.layer.2.attention.self.query.weight'"):
        yolk.Encoder(tmp_path / "model", device=DEVICE)
