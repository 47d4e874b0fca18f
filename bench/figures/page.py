#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/benchmarks.md from the data beside this file: a JSON file per topic, a row per line of the page.

    bench/figures/page.py                 write the page
    bench/figures/page.py --check         exit code 1 if the page is not what the data gives
    bench/figures/page.py --take FILE     first take the rows of a file of bench/peers/run: those of a known name replace it

A row has `name` (unique), `what`, `ours`, `where`, `when` (YYYY-MM-DD) and `command`. One that compares has `theirs` and
`ratio`, too: above 1 Yolk is better; a number, [lowest, highest] or [median, lowest, highest]. `note` is optional. Texts
are Markdown. `where` is "lavapipe" on the usual machine. Rows that failed, were small tries or were measured on a busy
machine are not taken.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import sys

TOPICS = {"training": "Training", "bits": "Bits and faults", "kernels": "Kernels", "systems": "Systems", "text": "Text",
          "tuning": "Tuning", "devices": "Several devices and ranks"}  # fmt: skip
NEEDED = ("name", "what", "ours", "where", "when", "command")
ALLOWED = (*NEEDED, "theirs", "ratio", "note")
USUAL = "lavapipe"
USUAL_MACHINE = "llvmpipe (LLVM 15.0.6, 256 bits), llvmpipe Mesa 22.3.6 (LLVM 15.0.6), 2 cores of AMD EPYC"  # as run has it
HEAD = """# Benchmarks

<!-- bench/figures/page.py writes this page from bench/figures/*.json. -->

The rows were measured with lavapipe (Mesa 22.3.6, LLVM 15) on two quiet cores of an AMD EPYC, unless they name another
device. "Both drivers" adds SwiftShader (Debian's chromium 156). An NVIDIA H200 has [its own page](nvidia_h200.md).
[bench](../bench/README.md) describes how to measure. Compared runs alternate, and rates are medians.
CartPole beside others took three seeds at population 4,096, and one at 65,536.

A ratio above 1 means that Yolk is better. A row whose ratio is below 1 begins with "Behind". "Same" is the command of
the row above.
"""


class Damaged(Exception):
    """Its text says the file, the row and what is wrong."""


def need(right, place, text):
    if not right:
        raise Damaged(f"{place}: {text}")


def shown(value):
    """A value as a message has it."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


def check_ratio(ratio, place):
    values = ratio if isinstance(ratio, list) else [ratio]
    good = all(isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e9 for value in values)
    need(good and 1 <= len(values) <= 3 and (not isinstance(ratio, list) or len(values) > 1), place,
         f"ratio is {shown(ratio)}; a number above 0, [lowest, highest] or [median, lowest, highest] is needed")  # fmt: skip
    need(values[-2:] == sorted(values[-2:]), place, f"ratio is {shown(ratio)}; the lowest comes before the highest")


def check_cell(text):
    """Whether a text is one cell of a table."""
    return isinstance(text, str) and text.strip() == text != "" and "\n" not in text and not re.search(r"(?<!\\)\|", text)


def check_row(row, place, names):
    need(isinstance(row, dict), place, f"it is {shown(row)}; an object is needed")
    name = row.get("name")
    place = f"{place} ({name})" if isinstance(name, str) else place
    for key in NEEDED:
        need(key in row, place, f"{key} is missing")
    for key, value in row.items():
        need(key in ALLOWED, place, f"{key} is not a field; {', '.join(ALLOWED)} are")
        need(key == "ratio" or check_cell(value), place, f"{key} is {shown(value)}; a text without line breaks and without | is needed")
    need(name not in names, place, f"the name is also that of {names.get(name)}")
    need(re.fullmatch(r"\d{4}-\d\d-\d\d", row["when"]), place, f"when is {shown(row['when'])}; YYYY-MM-DD is needed")
    try:
        datetime.date.fromisoformat(row["when"])
    except ValueError as error:
        raise Damaged(f"{place}: when is {shown(row['when'])}: {error}") from error
    need(("ratio" in row) == ("theirs" in row), place, "ratio and theirs are needed together")
    if "ratio" in row:
        check_ratio(row["ratio"], place)


def read_topic(path, names):
    """The rows of a file; `names` collects theirs, each with its place."""
    place = f"bench/figures/{path.name}"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Damaged(f"{place}: {error}") from error
    need(isinstance(data, dict) and list(data) == ["rows"] and isinstance(data["rows"], list), place,
         'an object {"rows": [...]} is needed')  # fmt: skip
    for number, row in enumerate(data["rows"], 1):
        check_row(row, f"{place}, row {number}", names)
        names[row["name"]] = f"{place}, row {number}"
    return data["rows"]


def read_all(folder):
    names, topics = {}, {}
    for topic in TOPICS:
        path = folder / f"{topic}.json"
        topics[topic] = read_topic(path, names) if path.exists() else []
    known = {f"{topic}.json" for topic in TOPICS}
    for path in sorted(folder.glob("*.json")):
        need(path.name in known, f"bench/figures/{path.name}", f"no topic has this name; {', '.join(TOPICS)} have files")
    return topics


def number(value):
    text = f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
    text = f"{value:.2f}" if 0.05 <= value < 2 and len(text) < 4 else text
    return text[1:] if text.startswith("0.") else text


def ratio_text(ratio):
    if not isinstance(ratio, list):
        return number(ratio)
    if len(ratio) == 2:
        return f"{number(ratio[0])} to {number(ratio[1])}"
    return f"{number(ratio[0])} ({number(ratio[1])} to {number(ratio[2])})"


def behind(ratio):
    """What a row begins with."""
    if isinstance(ratio, list) and len(ratio) == 2:
        return "**Behind:** " if ratio[1] < 1 else "**Behind in part:** " if ratio[0] < 1 else ""
    median = ratio[0] if isinstance(ratio, list) else ratio
    return "**Behind:** " if median < 1 else ""


def line_of(row, compares, above):
    what = (behind(row["ratio"]) if "ratio" in row else "") + row["what"]
    beside = [row.get("theirs", ""), ratio_text(row["ratio"]) if "ratio" in row else ""] if compares else []
    when = row["when"] + ("" if row["where"] == USUAL else f", {row['where']}")
    command = "same" if above and above["command"] == row["command"] else row["command"]
    cells = [what, row["ours"], *beside, row.get("note", ""), when, command]
    return "| " + " | ".join(cells) + " |"


def page_of(topics):
    parts = [HEAD]
    for topic, rows in topics.items():
        if not rows:
            continue
        compares = any("ratio" in row for row in rows)
        heads = ["what", "Yolk", *(["beside it", "ratio"] if compares else []), "note", "when, where", "command"]
        lines = [f"## {TOPICS[topic]}", "", "| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
        parts.append("\n".join([*lines, *(line_of(row, compares, above) for row, above in zip(rows, [None, *rows], strict=False))]) + "\n")
    return "\n".join(parts)


def rounded(value):
    return float(f"{value:.3g}")


def figure(values, unit):
    """A median with its spread, as text."""
    words = [f"{rounded(value):,.0f}" if value >= 100 else number(value) if value < 1 else f"{value:.3g}" for value in values]
    text = f"{words[0]} {unit}".rstrip()
    return text if values[1] == values[2] else f"{text} ({words[1]} to {words[2]})"


def place_of(where):
    """Shorter: of lavapipe its version and the processor."""
    lavapipe = re.fullmatch(r"llvmpipe .* Mesa ([\d.]+) .*?, (\d+ cores of .*)", where)
    return f"lavapipe {lavapipe[1]}, {lavapipe[2].replace('(R)', '')}" if lavapipe else where


def taken_row(found, entry):
    """A row of the data, from one of bench/peers/run."""
    usual = entry["where"] == USUAL_MACHINE
    place = place_of(entry["where"])
    ratio = [rounded(value) for value in found["ratio"]]
    row = {"name": found["name"] if usual else f"{found['name']} on {place}", "what": found["what"],
           "ours": figure(found["ours"], found["unit"]), "theirs": f"{found['peer']}: {figure(found['theirs'], '')}",
           "ratio": ratio[0] if ratio[1] == ratio[2] else ratio, "where": USUAL if usual else place,
           "when": entry["when"], "command": f"`{entry['command']}`"}  # fmt: skip
    return row | ({"note": found["note"].replace("|", "\\|")} if found.get("note") else {})


def take(topics, path, tell):
    """Replaces rows by those of a file of bench/peers/run, and adds those whose names are new."""
    try:
        entries = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["comparisons"]
        for name, entry in entries.items():
            left_out = [word for word in ("busy", "small") if entry[word]]
            if left_out:
                tell(f"{name} is left out: it was run with --{left_out[0]}")
                continue
            for found in entry["rows"]:
                if "failed" in found:
                    tell(f"{found['name']} is left out: {found['failed']}")
                else:
                    put(topics[entry["topic"]], taken_row(found, entry), tell)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise Damaged(f"{path}: not a file of bench/peers/run: {type(error).__name__}: {error}") from error


def put(rows, row, tell):
    at = next((at for at, old in enumerate(rows) if old["name"] == row["name"]), None)
    tell(f"{row['name']}: {'added' if at is None else 'replaced'}, {ratio_text(row['ratio'])}")
    if at is None:
        rows.append(row)
    else:
        rows[at] = row | {"what": rows[at]["what"]}


def write(path, text):
    beside = path.with_name(path.name + ".part")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if the page differs")
    parser.add_argument("--take", metavar="FILE", help="figures of bench/peers/run")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2], help=argparse.SUPPRESS)
    options = parser.parse_args()
    folder, page = options.root / "bench/figures", options.root / "docs/benchmarks.md"
    try:
        topics = read_all(folder)
        if options.take:
            take(topics, options.take, lambda text: print(f"page.py: {text}", file=sys.stderr))
            names = {}
            for topic, rows in topics.items():
                for at, row in enumerate(rows, 1):
                    check_row(row, f"bench/figures/{topic}.json, row {at}", names)
                    names[row["name"]] = f"{topic}.json, row {at}"
        text = page_of(topics)
    except Damaged as error:
        print(f"page.py: {error}", file=sys.stderr)
        return 2
    if options.check:
        if page.exists() and page.read_text(encoding="utf-8") == text:
            return 0
        print("page.py: docs/benchmarks.md is not what the data gives. Run bench/figures/page.py.", file=sys.stderr)
        return 1
    if options.take:
        for topic, rows in topics.items():
            if rows:
                write(folder / f"{topic}.json", json.dumps({"rows": rows}, indent=1, ensure_ascii=False) + "\n")
    write(page, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
