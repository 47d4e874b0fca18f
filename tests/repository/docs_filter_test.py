# SPDX-License-Identifier: Apache-2.0
"""docs_filter_test.py ROOT: every link to a heading, in all pages, leads to a heading that is there."""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(root / "tools/docs_site"))
import filter as site  # noqa: E402

pages = [page for page in root.rglob("*.md") if page.relative_to(root).parts[0] != "build"]
labels, wanted = set(), {}
for page in pages:
    text = site.filtered(page)
    labels |= set(re.findall(r"\{#([\w-]+)\}", text))
    for label in re.findall(r"\]\(@ref ([\w-]+)\)", text):
        wanted.setdefault(label, page)
missing = {label: page for label, page in wanted.items() if label not in labels}
for label, page in missing.items():
    print(f"{page.relative_to(root)} links to {label}, which no page has")

if site.name_of("`yolk tune` and [more](x.md): a, b") != "yolk-tune-and-more-a-b":
    sys.exit("names of headings are not GitHub's")
if not wanted:
    sys.exit("no link to a heading was found")
sys.exit(1 if missing else 0)
