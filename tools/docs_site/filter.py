# SPDX-License-Identifier: Apache-2.0
"""filter.py FILE: a page of Markdown as Doxygen 1.9 understands it, on standard output.

There, a link to a heading needs the heading's label, and labels are the whole site's. So each heading gets one, made of its
page and of the name that GitHub gives it. Links to files that are no pages become their text.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADING = re.compile(r"(?m)^(#{1,6}) +(.*?) *$")
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")


def name_of(heading):
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def label_of(page, name):
    return re.sub(r"\W", "_", str(page.relative_to(ROOT).with_suffix(""))) + "-" + name


def linked(page, found):
    text, target = found.groups()
    if "://" in target or target.startswith("mailto:"):
        return found.group(0)
    file, _, name = target.partition("#")
    to = (page.parent / file).resolve() if file else page
    if to.is_dir():
        to /= "README.md"
    if to.suffix != ".md" or not to.is_file():
        return text
    if name:
        return f"[{text}](@ref {label_of(to, name)})"
    return f"[{text}]({to.relative_to(page.parent) if to.is_relative_to(page.parent) else to})"


def filtered(page):
    seen = {}

    def labelled(heading):
        marks, title = heading.groups()
        name = name_of(title)
        times = seen[name] = seen.get(name, -1) + 1
        return f"{marks} {LINK.sub(lambda link: link.group(1), title)} {{#{label_of(page, f'{name}-{times}' if times else name)}}}"

    # Every second part is code. A link may go over two lines.
    parts = re.split(r"(?ms)(^```.*?^```$)", page.read_text(encoding="utf-8"))
    for at in range(0, len(parts), 2):
        parts[at] = LINK.sub(lambda link: linked(page, link), HEADING.sub(labelled, parts[at]))
    return "".join(parts)


if __name__ == "__main__":
    sys.stdout.write(filtered(pathlib.Path(sys.argv[1]).resolve()))
