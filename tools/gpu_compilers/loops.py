#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the main loops of plans, and writes what multiplies and adds in them, before and after.

    loops.py shapes PLANS                       the shapes of the list, a line each
    loops.py count PLANS FOLDER CSV SOURCE      of FOLDER/TARGET/NUMBER, NUMBER that of the plan: lines.jsonl and the files of
                                                `yolk inspect --json --ir`. Writes CSV; SOURCE, its first line, says what was compiled
    loops.py table PLANS BEFORE CSV             prints the section of the page
    loops.py page PLANS BEFORE CSV PAGE         puts it into PAGE, in place of the one that is there

How loops are counted is in the head of count_loop.py. CSV and BEFORE have a line of comment, then one of names: COLUMNS. Exit code 2: bad input.
"""
import csv
import fnmatch
import json
import os
import re
import sys

import count_loop

COLUMNS = ("target", "shape", "pattern", "pipeline", "multiply_adds", "pairs", "instructions", "share", "waves", "waves_of", "inverse_throughput")
HEADING = "## Main loops"
SECTION = HEADING + """

The part of the instructions that multiplies and adds, in the main loops of the plans that take most of the time.
`tools/gpu-check --loops-of-plans --write` counts them in the assembly by the rules of
[count_loop.py](../tools/gpu_compilers/count_loop.py). [loops.csv](../tools/gpu_compilers/loops.csv) and
[loops_before.csv](../tools/gpu_compilers/loops_before.csv) have the counts and ACO's
inverse throughput of the whole kernel.

- After: {after}.
- Before: {before}.
- share: at 100 % the loop does nothing else. A dual-issued instruction counts twice. `p` marks pairs of a product and a
  sum, two instructions each, which exact kernels have on RDNA and NVK.
- `–`: no loop has a multiply-add.

{table}
"""
HEAD = "| plan | GPU | share | waves |\n|---|---|---|---|"


class BadInput(Exception):
    """What was given, and what is needed."""


# ---- Counting

def plans_of(path):
    """[(shape, [pattern, ...]), ...]"""
    with open(path, encoding="utf-8") as file:
        cells = [line.strip().partition(" | ") for line in file if line.strip() and not line.startswith("#")]
    for shape, bar, patterns in cells:
        if not patterns:
            raise BadInput(f"'{shape}{bar}'; a line of {path} is SHAPE | PIPELINE ...")
    return [(shape, patterns.split()) for shape, _, patterns in cells]


def loop_of(path):
    """Of a file with assembly: what the table has of its main loop."""
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    exact = count_loop.count_exact(text)
    if count_loop.is_exact(exact):
        return exact
    return (count_loop.count(text) or {"multiply_adds": 0, "instructions": 0, "share": 0.0}) | {"pairs": 0}


def pipelines_in(folder):
    """Each pipeline of lines.jsonl with its loop."""
    with open(os.path.join(folder, "lines.jsonl"), encoding="utf-8") as file:
        lines = [line for line in map(json.loads, file) if "ir" in line]
    for line in lines:
        assembly = [name for name in line["ir"] if "assembly" in name.lower()]
        if len(assembly) != 1:
            raise BadInput(f"{folder}: {line['pipeline']} has {len(assembly)} files of assembly among {line['ir']}; one is needed")
        yield line | loop_of(os.path.join(folder, assembly[0]))


def count(plans, folder):
    """Rows of the table."""
    rows = []
    for target in sorted(os.listdir(folder)):
        for number, (shape, patterns) in enumerate(plans):
            found = list(pipelines_in(os.path.join(folder, target, str(number))))
            for pattern in patterns:
                fitting = [one for one in found if fnmatch.fnmatchcase(one["pipeline"], pattern)]
                if not fitting:
                    raise BadInput(f"{target}: {shape} has no pipeline {pattern}; it has {' '.join(one['pipeline'] for one in found)}")
                most = max(fitting, key=lambda one: one["multiply_adds"])
                rows.append(most | {"target": target, "shape": shape, "pattern": pattern})
    return rows


def write_rows(path, source, rows):
    with open(path + ".part", "w", encoding="utf-8", newline="") as file:
        file.write(f"# {source}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows:
            writer.writerow([f"{row[name]:.4f}" if name == "share" else "" if row[name] is None else row[name] for name in COLUMNS])
    os.replace(path + ".part", path)


# ---- The section

def rows_of(path):
    """What was compiled, and {(target, shape, pattern): row}."""
    with open(path, encoding="utf-8") as file:
        source = file.readline().lstrip("# ").strip()
        return source, {(row["target"], row["shape"], row["pattern"]): row for row in csv.DictReader(file)}


def cells(row):
    adds, pairs = int(row["multiply_adds"]), int(row["pairs"])
    waves = f"{row['waves']} of {row['waves_of']}" if row["waves_of"] else row["waves"] or "–"
    if not adds:
        return ["–", waves]
    return [f"{100 * float(row['share']):.0f} %{' p' if pairs else ''}", waves]


def table(plans, before, after):
    names = {}  # of plans, by what their rows tell
    targets = list(dict.fromkeys(target for target, _, _ in after))
    for shape, patterns in plans:
        for pattern in patterns:
            rows = []
            for target in targets:
                key = target, shape, pattern
                if key not in after:
                    raise BadInput(f"{target}: {shape} | {pattern} was not counted: tools/gpu-check --loops-of-plans --write")
                new = cells(after[key])
                old = cells(before[key]) if key in before else ["·"] * len(new)
                told = [b if a == b else f"{a} → {b}" for a, b in zip(old, new)]
                rows.append(f" | {target} | " + " | ".join(told) + " |")
            names.setdefault((f": `{pattern}`" if len(patterns) > 1 else "", *rows), []).append(shape)
    lines = [HEAD]
    for (of_pattern, first, *others), shapes in names.items():
        lines += [f"| {'; '.join(shapes)}{of_pattern}{first}", *("| " + row for row in others)]
    return "\n".join(lines)


def section(plans_path, before_path, after_path):
    (before_source, before), (after_source, after) = rows_of(before_path), rows_of(after_path)
    return SECTION.format(before=before_source, after=after_source, table=table(plans_of(plans_path), before, after))


def put_into(page, text):
    with open(page, encoding="utf-8") as file:
        whole = file.read()
    pattern = re.compile(rf"^{HEADING}\n.*?(?=^## )", re.M | re.S)
    if len(pattern.findall(whole)) != 1:
        raise BadInput(f"{page} has no section '{HEADING}' with another behind it")
    with open(page + ".part", "w", encoding="utf-8") as file:
        file.write(pattern.sub(lambda _: text + "\n", whole))
    os.replace(page + ".part", page)


def run_command(name, *arguments):
    if name == "shapes" and len(arguments) == 1:
        print("".join(shape + "\n" for shape, _ in plans_of(arguments[0])), end="")
    elif name == "count" and len(arguments) == 4:
        write_rows(arguments[2], arguments[3], count(plans_of(arguments[0]), arguments[1]))
    elif name == "table" and len(arguments) == 3:
        print(section(*arguments), end="")
    elif name == "page" and len(arguments) == 4:
        put_into(arguments[3], section(*arguments[:3]))
    else:
        raise BadInput("it takes shapes, count, table or page; see its head")


def main():
    try:
        run_command(*(sys.argv[1:] or [""]))
    except (BadInput, count_loop.NotAssembly, OSError, json.JSONDecodeError) as error:
        print(f"loops.py: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
