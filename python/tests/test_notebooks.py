# SPDX-License-Identifier: Apache-2.0
"""The notebooks run."""

import json
import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("notebook", sorted((ROOT / "docs/notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_run(notebook, tmp_path):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    # Without what a run has printed, the pages of a change are its own.
    stored = json.loads(notebook.read_text(encoding="utf-8"))
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in stored["cells"])
    ran = nbclient.NotebookClient(nbformat.read(notebook, as_version=4), timeout=120, kernel_name="python3",
                                  resources={"metadata": {"path": str(tmp_path)}}).execute(env=dict(os.environ))
    assert any(cell.get("outputs") for cell in ran.cells)
