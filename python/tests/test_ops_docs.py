# SPDX-License-Identifier: Apache-2.0
import re

import pytest


def examples(root):
    page = (root / "docs/python.md").read_text()
    section = page.split("## Kernels on arrays", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


@pytest.mark.parametrize("index, words", [(0, "["), (1, "'step'")])
def test_the_page_s_examples_run(python, root, tmp_path, index, words):
    done = python(examples(root)[index], YOLK_TABLE=str(tmp_path / "table.sqlite"))
    assert done.returncode == 0 and words in done.stdout, done.stderr
