# SPDX-License-Identifier: Apache-2.0
"""What the pages show runs: the Python of README.md and docs/python.md, section by section, and the notebooks."""

import json
import os
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def sections(page):
    """(heading, the Python of all blocks below it) of a page."""
    found = []
    for part in re.split(r"^## ", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE):
        blocks = re.findall(r"^```python\n(.*?)^```", part, flags=re.MULTILINE | re.DOTALL)
        if blocks:
            found.append(pytest.param("\n".join(blocks), id=f"{page}: {part.splitlines()[0]}"))
    return found


@pytest.mark.parametrize("program", sections("README.md") + sections("docs/python.md"))
def test_programs_of_the_pages_run(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in re.findall(r"^import .*\b(torch|gymnasium)\b", program, flags=re.MULTILINE):
        pytest.importorskip(name)
    exec(compile(program, "page.py", "exec"), {"__name__": "page"})


@pytest.mark.parametrize("notebook", sorted((ROOT / "docs/notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_run(notebook, tmp_path):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    # Without what a run has printed, the pages of a change are its own.
    stored = json.loads(notebook.read_text(encoding="utf-8"))
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in stored["cells"])
    ran = nbclient.NotebookClient(nbformat.read(notebook, as_version=4), timeout=120, kernel_name="python3",
                                  resources={"metadata": {"path": str(tmp_path)}}).execute(env=dict(os.environ))
    assert any(cell.get("outputs") for cell in ran.cells)
