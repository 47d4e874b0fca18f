# SPDX-License-Identifier: Apache-2.0
"""Reads what tools/gpu-check keeps of a target: lines of `yolk inspect --json`."""
import json

from shapes import BadInput, chosen_of, plain_of

# Drivers that say nothing of the subgroups in flight: their occupancy is not judged.
WITHOUT_WAVES = ("m1", "adreno")


def pipelines_of(path, shapes, target):
    """Lines of pipelines in their order; and what keeps the file from being complete, "" where nothing does.

    The file has the default plans of all shapes without knobs, in their order, and behind them a run for each shape with
    knobs, after a line that begins it. Texts of the shapes take the place of the lines' own "shape", which says more.
    """
    wanted = [(f"the {len(plain)} default plans", plain) for plain in [plain_of(shapes)]]
    wanted += [(f"'{shape.text}'", [shape]) for shape in chosen_of(shapes, target)]
    try:
        runs = runs_of(path)
    except json.JSONDecodeError as error:
        return [], f"{path} has a line that is no JSON ({error})"
    found, broken = [], ""
    for (name, asked), lines in zip(wanted, runs):
        pipelines = [with_shape(line, asked) for line in lines if "kernel" in line]
        found += pipelines
        broken = broken or missing_of(name, asked, lines, pipelines)
    if len(runs) != len(wanted):
        broken = broken or f"{len(runs)} of {len(wanted)} runs of yolk inspect are there"
    return found, broken


def runs_of(path):
    runs = [[]]
    with open(path, encoding="utf-8") as file:
        for line in map(json.loads, file):
            if line.get("event") == "begin":
                runs.append([])
            else:
                runs[-1].append(line)
    return runs


def missing_of(name, asked, lines, pipelines):
    summary = next((line for line in lines if line.get("event") == "summary"), None)
    if summary is None:
        behind = f", behind '{pipelines[-1]['shape']}'" if pipelines else ""
        return f"yolk inspect did not come to the end of {name}{behind}"
    if summary["pipelines"] != len(pipelines):
        return f"the summary of {name} counts {summary['pipelines']} pipelines, and there are {len(pipelines)}"
    if summary["configurations"] != len(asked):
        return f"of {name} {summary['configurations']} configurations were inspected, and {len(asked)} were asked for"
    return ""


def with_shape(line, asked):
    """A plan for each shape: the number of its configuration is that of the shape. One that knobs chose is judged as a default is."""
    number = line["number"]
    if asked and asked[0].knobs:
        number = 0
    if number >= len(asked) or asked[number].problem.split()[0] != line["kernel"]:
        raise BadInput(f"configuration {number} is of '{line['shape']}', which is not shape {number} of the list")
    return line | {"shape": asked[number].text, "default": line["default"] or bool(asked[number].knobs)}


def targets_of(arguments):
    """{"navi31": "navi31.jsonl"} of "navi31=navi31.jsonl"."""
    pairs = [argument.partition("=") for argument in arguments]
    for name, equals, path in pairs:
        if not (name and equals and path):
            raise BadInput(f"'{name}{equals}{path}' is no TARGET=FILE")
    return {name: path for name, _, path in pairs}
