# SPDX-License-Identifier: Apache-2.0
"""Reads what tools/gpu-check keeps of a target: lines of `yolk inspect --json`."""
import json

# Drivers that say nothing of the subgroups in flight: their occupancy is not judged.
WITHOUT_WAVES = ("m1", "adreno")


class BadInput(Exception):
    """What was given, and what is needed."""


def pipelines_of(path, shapes=None):
    """Lines of pipelines in their order; and what keeps the file from being complete, "" where nothing does.

    shapes: texts whose default plans were inspected, in this order. They take the place of the lines' own "shape", which says more.
    """
    found, summary = [], None
    with open(path, encoding="utf-8") as file:
        for number, text in enumerate(file, 1):
            try:
                line = json.loads(text)
            except json.JSONDecodeError as error:
                return found, f"line {number} of {path} is no JSON ({error})"
            if line.get("event") == "summary":
                summary = line
            elif "kernel" in line:
                found.append(line if shapes is None else with_shape(line, shapes))
    if summary is None:
        return found, "yolk inspect did not come to its end"
    if summary["pipelines"] != len(found):
        return found, f"the summary counts {summary['pipelines']} pipelines, and there are {len(found)}"
    if shapes is not None and summary["configurations"] != len(shapes):
        return found, f"{summary['configurations']} of {len(shapes)} shapes were inspected"
    return found, ""


def with_shape(line, shapes):
    """A plan for each shape: the number of its configuration is that of the shape."""
    number = line["number"]
    if number >= len(shapes) or shapes[number].split()[0] != line["kernel"]:
        raise BadInput(f"configuration {number} is of '{line['shape']}', which is not shape {number} of the list")
    return line | {"shape": shapes[number]}


def shapes_of(path):
    """The shapes of a list: a line each, comments after #."""
    with open(path, encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip() and not line.startswith("#")]


def targets_of(arguments):
    """{"navi31": "navi31.jsonl"} of "navi31=navi31.jsonl"."""
    pairs = [argument.partition("=") for argument in arguments]
    for name, equals, path in pairs:
        if not (name and equals and path):
            raise BadInput(f"'{name}{equals}{path}' is no TARGET=FILE")
    return {name: path for name, _, path in pairs}
