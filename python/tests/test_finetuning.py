# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

import yolk

BERT = pathlib.Path(__file__).parents[2] / "transformer" / "tests" / "models" / "bert"
DEVICE = os.environ.get("YOLK_TEST_DEVICE")
WORDS = ["cat", "mat", "play", "train", "model", "kernel", "gpu", "vector", "evolution", "fast", "sat", "able"]
PAIRS = [(f"the {word}", f"{word} on a {word} and a {WORDS[(i + 5) % len(WORDS)]}") for i, word in enumerate(WORDS)]
SMALL = {"held_out": .2, "test": .2, "batch": 4, "generations": 3, "held_out_every": 2, "adapter_rank": 4,
         "query_tokens": 8, "document_tokens": 16, "population": 8, "sigma": .05, "learning_rate": .02, "determinism": "exact", "device": DEVICE}


def test_pairs_are_learned(tmp_path):
    seen = []
    tuned = yolk.finetune(BERT, PAIRS, on_generation=seen.append, merged=tmp_path / "merged", **SMALL)
    assert (tuned.training_pairs, tuned.held_out_pairs, tuned.test_pairs) == (7, 3, 2)
    assert tuned.history == seen and [report["generation"] for report in seen] == [0, 1, 2]
    assert seen[0]["update_norm"] == 0 and "drift" not in seen[1] and seen[2]["drift"] > 0
    assert tuned.before["update_norm"] == 0 and 0 <= tuned.before["test"] <= 1 and "held_out" in tuned.after
    assert 0 <= tuned.residual <= 1 and "TunedEncoder" in repr(tuned)
    plain = yolk.Encoder(BERT, device=DEVICE)
    assert plain.left_out and not yolk.Encoder(tmp_path / "merged", device=DEVICE).left_out
    tuned.save(tmp_path / "kept")
    of_kept = yolk.Encoder(BERT, device=DEVICE, adapter=tmp_path / "kept")(["the cat"])
    assert np.array_equal(tuned.encoder(device=DEVICE)(["the cat"]), of_kept)
    with pytest.raises(TypeError, match="tuned.save"):
        tuned.__reduce__()


@pytest.mark.once  # cli/tests/finetune_test.cpp compares the drivers
def test_a_run_is_the_commands(tmp_path):
    command = os.environ.get("YOLK_TEST_COMMAND")
    if not command:
        pytest.skip("YOLK_TEST_COMMAND names no yolk command")
    file = tmp_path / "pairs.tsv"
    file.write_text("".join(f"{query}\t{document}\n" for query, document in PAIRS))
    flags = [f"--{name.replace('_', '-').replace('learning-rate', 'lr')}={value}" for name, value in SMALL.items()
             if value is not None]
    ran = subprocess.run([command, "finetune", BERT, "--pairs", file, "--out", tmp_path / "run", "--json", "--quiet",
                          *flags], capture_output=True, text=True, check=True)
    outcome = json.loads(ran.stdout.splitlines()[-1])
    tuned = yolk.finetune(BERT, file, out=tmp_path / "again", **SMALL)
    assert tuned.state_hash == outcome["state_hash"] and tuned.after == outcome["after"]
    more = yolk.finetune(yolk.Encoder(BERT, device=DEVICE), PAIRS, out=tmp_path / "run", resume=True,
                         **{**SMALL, "generations": 4})
    assert more.resumed_from == 3 and more.generations == 4


@pytest.mark.once
def test_mistakes_are_named(tmp_path):
    with pytest.raises(yolk.BadInput, match="Pair 1 is"):
        yolk.finetune(BERT, [("a", "b"), "c"], **SMALL)
    with pytest.raises(yolk.BadInput, match="document of pair 0 is of the type int"):
        yolk.finetune(BERT, [("a", 1)], **SMALL)
    with pytest.raises(yolk.BadInput, match="grade of pair 0 is -1"):
        yolk.finetune(BERT, [("a", "b", -1)], **SMALL)
    with pytest.raises(yolk.BadInput, match="Pair 0 has an empty text"):
        yolk.finetune(BERT, [("a", " ")], **SMALL)
    with pytest.raises(yolk.BadInput, match="no pair"):
        yolk.finetune(BERT, [], **SMALL)
    with pytest.raises(yolk.BadInput, match="no setting 'episodes'"):
        yolk.finetune(BERT, PAIRS, episodes=2, **SMALL)
    with pytest.raises(yolk.BadInput, match="resume=True needs"):
        yolk.finetune(BERT, PAIRS, resume=True, **SMALL)
    with pytest.raises(yolk.BadInput, match="from 1 to 24"):
        yolk.finetune(BERT, PAIRS, **{**SMALL, "adapter_rank": 25})
    with pytest.raises(yolk.FileError, match="none.tsv"):
        yolk.finetune(BERT, tmp_path / "none.tsv", **SMALL)
    with pytest.raises(RuntimeError, match="stop here"):
        def fail(report):
            raise RuntimeError("stop here")
        yolk.finetune(BERT, PAIRS, on_generation=fail, **SMALL)
