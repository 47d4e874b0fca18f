# SPDX-License-Identifier: Apache-2.0
import json
import os
import pickle
import subprocess

import pytest

import yolk

SMALL = {"width": 8, "population": 16, "group_size": 4, "steps": 6, "context": 2, "generations": 3, "evaluate_every": 2}


@pytest.fixture
def text(tmp_path):
    file = tmp_path / "text"
    file.write_text("the cat sat on the mat, and the dog ran; " * 60)
    return file


def test_a_run_has_history_model_and_baselines(text, tmp_path):
    run = yolk.train("bytes", data=text, out=tmp_path / "run", **SMALL)
    assert [report["generation"] for report in run.history] == [0, 1, 2]
    assert run.history[1]["held_out"] > 0 and run.history[0]["held_out"] is None
    assert run.history[-1]["state_hash"] == run.state_hash
    assert run.bigram < run.unigram
    assert sorted(os.listdir(tmp_path / "run")) == [".yolk-lock", "log.yolk", "metrics.jsonl", "model.safetensors"] or \
        sorted(os.listdir(tmp_path / "run")) == ["log.yolk", "metrics.jsonl", "model.safetensors"]
    drawn = run.sample(20, seed=2)
    assert len(drawn) == 20 and drawn == yolk.sample(run.model, 20, seed=2)
    assert "bits per byte" in repr(run) and run.devices[0] in run.why_device
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(run)
    for wrong, words in ({"length": -1}, "length is -1"), ({"temperature": "hot"}, "'hot'"), ({"prompt": 3}, "prompt is 3"):
        with pytest.raises(yolk.BadInput, match=words):
            run.sample(**wrong)


def test_it_is_the_commands_run(text, tmp_path):
    command = os.environ.get("YOLK_TEST_COMMAND")
    if not command:
        pytest.skip("YOLK_TEST_COMMAND names no yolk command")
    flags = [word for name, value in SMALL.items() for word in ("--" + name.replace("_", "-"), str(value))]
    device = os.environ.get("YOLK_TEST_DEVICE")
    told = subprocess.run([command, "train", "bytes", "--data", text, "--out", tmp_path / "told", "--json", *flags,
                           *(["--device", device] if device else [])], capture_output=True, text=True, check=True).stdout
    run = yolk.train("bytes", data=text, device=device, **SMALL)
    assert run.state_hash == json.loads(told.splitlines()[-1])["state_hash"]


def test_bad_input(text):
    with pytest.raises(yolk.BadInput, match="data=FILE"):
        yolk.train("bytes")
    with pytest.raises(yolk.BadInput, match="multiple of 8"):
        yolk.train("bytes", data=text, width=12)
    with pytest.raises(yolk.BadInput, match="hidden"):
        yolk.train("bytes", data=text, hidden=3)
    with pytest.raises(yolk.BadInput, match="temperature"):
        yolk.sample("nowhere", temperature=-1)
    with pytest.raises(yolk.FileError, match="nowhere"):
        yolk.sample("nowhere")
