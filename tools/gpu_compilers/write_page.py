#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what the compilers of GPUs make of the default plans: the figures of each pipeline to a table, and the page on them,
docs/gpu_compilers.md, before and after.

    write_page.py --mesa VERSION --kernels HASH --date DATE --shapes FILE --before FILE --coverage FILE --plans FILE
                  --loops-before FILE --loops FILE --figures FILE --out FILE TARGET=FILE...

`plans`, `loops-before` and `loops` are loops.py's. `before` and `figures` are tables of the same form: a line of comment on where
it is from, then a line of names: COLUMNS. An empty cell is a figure that the driver does not report. Both files are written
beside and renamed.
"""
import argparse
import csv
import io
import os
import sys
from collections import defaultdict

import loops
from inspected import pipelines_of, targets_of
from shapes import BadInput, shapes_of

FIGURES = ("registers", "spilled_registers", "scratch_bytes", "waves", "waves_of", "instructions", "inverse_throughput")
COLUMNS = ("target", "shape", "pipeline", *FIGURES)

# What the targets of drivers.sh are.
GPUS = {
    "polaris10": "RADV, GCN 4 (RX 580)",
    "vega10": "RADV, GCN 5 (RX Vega)",
    "navi21": "RADV, RDNA 2 (RX 6800)",
    "navi31": "RADV, RDNA 3 (RX 7900)",
    "gfx1201": "RADV, RDNA 4 (RX 9070)",
    "tu102": "NVK, Turing (RTX 2080 Ti)",
    "ga102": "NVK, Ampere (RTX 3090)",
    "m1": "Honeykrisp, Apple M1",
    "adreno740": "Turnip, Adreno 7xx",
}

PAGE = """# What the compilers of GPUs make of the kernels

`tools/gpu-check --write` makes this page from the output of `yolk inspect`: do not edit it. Nothing here ran on a GPU.
Mesa's drivers compiled the default plan of each shape for null devices. Their version: {mesa}, on {date}.

{gpus}

NVK's compiler is Mesa's own, not NVIDIA's.

`tools/gpu-check` fails if a driver refuses a pipeline. It also fails if a default spills, uses scratch memory, or has less
than a quarter of the waves, unless [reasons](../tools/gpu_compilers/reasons) has the reason.

## Other configurations

`tools/gpu-check --all` compiles configurations of the check cases, which are small: every default, and a share of the
others that is drawn by hash. {refused}
A pipeline that several configurations need counts once. Pipelines of a larger share that was interrupted count
too.{kernels}

{coverage}

{loops}
## Figures

[figures.csv](../tools/gpu_compilers/figures.csv) has the figures of each pipeline, as
[`yolk inspect`](cli.md#yolk-inspect-text) describes them, and [before.csv](../tools/gpu_compilers/before.csv) those
from before. An empty cell is a figure that the driver does not report. A shape "with" knobs has those instead of its
default: matrix units, on the GPUs that have them. `inverse_throughput` may rank forms of a kernel for one GPU, but it
is not a time.

The table has the smallest share of the waves among the pipelines of an operation's shapes, before → after. Before is {before}.
Two equal figures are one, and shapes that were not compiled before count with their present figures. `spills` and
`scratch` mark an operation with a pipeline that has some. `–`: the driver does not report waves.

{overview}
"""


# ---- Figures

def before_of(path):
    """Where it is from; and {(target, shape): {pipeline: [figures, ...]}}."""
    found = defaultdict(lambda: defaultdict(list))
    with open(path, encoding="utf-8") as file:
        source = file.readline().lstrip("# ").strip()
        for row in csv.DictReader(file):
            figures = {name: float(row[name]) if row[name] else None for name in FIGURES}
            found[row["target"], row["shape"]][row["pipeline"]].append(figures)
    return source, found


def after_of(targets, shapes):
    found = defaultdict(lambda: defaultdict(list))
    for target, path in targets.items():
        lines, broken = pipelines_of(path, shapes, target)
        if broken:
            raise BadInput(f"{target}: {broken}")
        for line in lines:
            if "refused" in line:
                raise BadInput(f"{target}: {line['shape']}: {line['pipeline']} was refused; the page has only what compiles")
            if line["default"]:
                found[target, line["shape"]][line["pipeline"]].append({name: line[name] for name in FIGURES})
    return found


def compared(before, after):
    """Before; and after in its place for shapes that before has nowhere, so that they show one figure."""
    old = {shape for _, shape in before}
    return defaultdict(lambda: defaultdict(list), before | {key: lines for key, lines in after.items() if key[1] not in old})


# ---- Cells

def change(before, after):
    told = [least_share(before), least_share(after)]
    return told[1] if told[0] == told[1] else " → ".join(told)


def least_share(lines):
    """ "31 %", with what else is wrong."""
    shares = [one["waves"] / one["waves_of"] for one in lines if one["waves"] is not None and one["waves_of"]]
    told = f"{100 * min(shares):.0f} %" if shares else "–"
    for name, word in (("spilled_registers", "spills"), ("scratch_bytes", "scratch")):
        told += f" {word}" if any(one[name] for one in lines) else ""
    return told


# ---- Tables

def overview(shapes, targets, before, after):
    """A sentence on the operations with all waves, and a row for each other one."""
    of_operation = defaultdict(list)
    for shape in shapes:
        of_operation[shape.split()[0]].append(shape)
    full, rows = [], ["| operation | " + " | ".join(targets) + " |", "|---|" + "---|" * len(targets)]
    for operation, its in of_operation.items():
        told = [change(*(lines_of(figures, target, its) for figures in (before, after))) for target in targets]
        link = f"[{operation}](kernels/{operation}.md)"
        if "100 %" in told and set(told) <= {"100 %", "–"}:
            full.append(link)
        else:
            rows.append(f"| {link} | " + " | ".join(told) + " |")
    sentence = "Every pipeline has all waves, on each GPU that reports them: " + ", ".join(full) + "."
    return "\n\n".join([sentence] * bool(full) + ["\n".join(rows)] * (len(rows) > 2))


def lines_of(figures, target, shapes):
    return [one for shape in shapes for same in figures[target, shape].values() for one in same]


def figures_table(mesa, kernels, date, shapes, targets, after):
    """The rows of `figures`: as `before` has them."""
    text = io.StringIO()
    text.write(f"# kernels {kernels}, compiled by Mesa {mesa} on {date}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for target in targets:
        for shape in shapes:
            for pipeline, same in after[target, shape].items():
                writer.writerows([target, shape, pipeline, *(cell(one[name]) for name in FIGURES)] for one in same)
    return text.getvalue()


def cell(value):
    return "" if value is None else f"{value:g}" if value % 1 else int(value)


def share_text(row):
    share = float(row["share"])
    return "all" if share == 1.0 else f"{100 * share:.2g} % (seed {row['seed']})".removeprefix("0")


def coverage_of(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(file))


def coverage_table(coverage, kernels):
    targets = defaultdict(list)
    for one in coverage:
        which = "these" if one["kernels"] == kernels else "earlier ones"
        counts = " | ".join(f"{int(one[name]):,}" for name in ("configurations", "pipelines", "refused"))
        targets[f"{one['mesa']} | {which} | {share_text(one)} | {counts}"].append(one["target"])
    rows = ["| GPUs | Mesa | kernels | share | configurations | pipelines | refused |", "|---|---|---|---|---|---|---|"]
    rows += [f"| {' '.join(names)} | {row} |" for row, names in targets.items()]
    return "\n".join(rows)


def refused_text(coverage):
    refused = [one for one in coverage if int(one["refused"])]
    if not refused:
        return "Nothing was refused."
    told = ", ".join(f"{int(one['refused']):,} on {one['target']}" for one in refused)
    return f"Drivers refused pipelines, or crashed on them: {told}."


def kernels_text(coverage, kernels):
    """Where some of it is of other kernels than the rest of the page."""
    if all(one["kernels"] == kernels for one in coverage):
        return ""
    return " A row of earlier kernels says nothing about kernels that have changed."


def written(arguments):
    """The page and the figures."""
    targets = targets_of(arguments.targets)
    listed = shapes_of(arguments.shapes)
    source, before = before_of(arguments.before)
    after, coverage = after_of(targets, listed), coverage_of(arguments.coverage)
    shapes = [shape.text for shape in listed]
    before = compared(before, after)
    page = PAGE.format(
        mesa=arguments.mesa,
        before=source if arguments.mesa in source else source + ": another version, so that the compilers differ, too",
        gpus="\n".join(f"- {name}: {GPUS[name]}" for name in targets),
        refused=refused_text(coverage),
        kernels=kernels_text(coverage, arguments.kernels),
        coverage=coverage_table(coverage, arguments.kernels),
        loops=loops.section(arguments.plans, arguments.loops_before, arguments.loops),
        date=arguments.date,
        overview=overview(shapes, targets, before, after),
    )
    return page, figures_table(arguments.mesa, arguments.kernels, arguments.date, shapes, targets, after)


def replace(path, text):
    with open(path + ".part", "w", encoding="utf-8", newline="") as file:
        file.write(text)
    os.replace(path + ".part", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("mesa", "kernels", "date", "shapes", "before", "coverage", "plans", "loops-before", "loops", "figures", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("targets", nargs="+", metavar="TARGET=FILE")
    arguments = parser.parse_args()
    try:
        page, figures = written(arguments)
        replace(arguments.figures, figures)
        replace(arguments.out, page)
    except (BadInput, loops.BadInput, OSError) as error:
        print(f"write_page.py: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
