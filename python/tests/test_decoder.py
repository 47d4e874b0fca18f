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
CASE = json.loads((MODELS / "decoders.json").read_text())["llama"]
PROMPT = "The cat sat on the mat, 1234"


@pytest.fixture(scope="module")
def decoder():
    return yolk.Decoder(MODELS / "llama", device=DEVICE)


def test_logits_and_ids_are_those_of_the_reference(decoder):
    assert decoder.tokens(PROMPT) == CASE["tokens"]
    assert decoder.text(CASE["tokens"]) == PROMPT
    found = decoder.logits(np.array(CASE["tokens"]))
    assert found.dtype == np.float32 and found.shape == (len(CASE["tokens"]), 312)
    expected = np.array(CASE["logits"])
    assert np.abs(found[:, ::7] - expected).max() < 1e-5 * np.abs(expected).max()  # decoder_test.cpp derives it


def test_greedy_tokens_are_those_of_the_reference(decoder):
    one, other = decoder.generate([PROMPT, "the"], tokens=24)
    assert one.tokens == CASE["greedy"] and one.text == decoder.text(CASE["greedy"])
    assert decoder.generate("the", tokens=24) == other
    assert decoder.generate([]) == []
    assert "2 layers, 312 tokens" in repr(decoder) and decoder.config["key_heads"] == 2 and decoder.left_out == []


def test_members_have_the_commands_texts(decoder):
    texts = decoder.generate_members("the cat", 4, sigma=0.2, tokens=6, temperature=1.5, seed=7)
    assert len(texts) == 4 and len({one.text for one in texts}) > 1
    assert decoder.generate_members("the cat", 2, sigma=0.0, tokens=6)[1] == decoder.generate("the cat", tokens=6)
    command = os.environ.get("YOLK_TEST_COMMAND")
    if not command:
        pytest.skip("YOLK_TEST_COMMAND names no yolk command")
    ran = subprocess.run([command, "generate", MODELS / "llama", "--prompt", "the cat", "--tokens", "6", "--temperature", "1.5",
                          "--seed", "7", "--population", "4", "--sigma", "0.2", "--json", *(["--device", DEVICE] if DEVICE else [])],
                         capture_output=True, text=True, check=True)
    assert [json.loads(line)["tokens"] for line in ran.stdout.splitlines()] == [one.tokens for one in texts]


def test_mistakes_are_named(decoder, tmp_path):
    with pytest.raises(yolk.BadInput, match="Prompt 1 is of the type int"):
        decoder.generate(["a", 1])
    with pytest.raises(yolk.BadInput, match="200 are to follow; the model takes 96"):
        decoder.generate("a", tokens=200)
    with pytest.raises(yolk.BadInput, match="tokens is -1"):
        decoder.generate("a", tokens=-1)
    with pytest.raises(yolk.BadInput, match="Token 1 is 312"):
        decoder.logits([1, 312])
    with pytest.raises(yolk.BadInput, match="No tokens"):
        decoder.logits([])
    with pytest.raises(yolk.BadInput, match="3 members"):
        decoder.generate_members("a", 3)
    with pytest.raises(yolk.BadInput, match="is no folder"):
        yolk.Decoder(tmp_path / "none", device=DEVICE)
    shutil.copytree(MODELS / "llama", tmp_path / "model")
    config = tmp_path / "model" / "config.json"
    config.write_text(config.read_text().replace('"num_hidden_layers": 2', '"num_hidden_layers": 3'))
    with pytest.raises(yolk.BadInput, match="no tensor 'model.layers.2.input_layernorm.weight'"):
        yolk.Decoder(tmp_path / "model", device=DEVICE)
