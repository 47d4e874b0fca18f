# SPDX-License-Identifier: Apache-2.0
"""What the pages show runs: the Python of README.md and docs/python.md, section by section."""

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
