# SPDX-License-Identifier: Apache-2.0
import os
import subprocess

import pytest

import yolk

SMALL = {"population": 16, "generations": 3, "hidden": 8, "stop_when_solved": False}


def test_the_page_is_the_command_s(tmp_path):
    command = os.environ.get("YOLK_TEST_COMMAND")
    if not command:
        pytest.skip("YOLK_TEST_COMMAND names no yolk command")
    runs = [yolk.train("cartpole", seed=seed, out=tmp_path / f"seed{seed}", **SMALL) for seed in (1, 2)]
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"side": "yolk", "median": 2}\n{"side": "other", "failed": "not here"}\n')
    shown = yolk.report([*runs, rows], tmp_path / "page.html")
    assert shown == {"page": str(tmp_path / "page.html"), "runs": 2, "tasks": ["cartpole"], "searches": 0, "prompts": 0,
                     "shapes": 0, "rows": 2, "bench_rows": 0}
    subprocess.run([command, "report", runs[0].folder, runs[1].folder, str(rows), "--out", str(tmp_path / "told.html")],
                   capture_output=True, check=True)
    assert (tmp_path / "page.html").read_bytes() == (tmp_path / "told.html").read_bytes()


def test_a_run_reports_on_itself(tmp_path):
    run = yolk.train("cartpole", **SMALL)
    assert run.report(tmp_path / "page.html")["runs"] == 1
    page = (tmp_path / "page.html").read_text()
    assert page.count('data-generations="3" data-points="3"') == 4


def test_what_is_no_run(tmp_path):
    with pytest.raises(yolk.BadInput, match="no metrics.jsonl"):
        yolk.report(tmp_path, tmp_path / "page.html")
    with pytest.raises(yolk.BadInput, match="nothing to report"):
        yolk.report([], tmp_path / "page.html")
    assert not os.path.exists(tmp_path / "page.html")
