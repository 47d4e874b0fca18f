# SPDX-License-Identifier: Apache-2.0
"""Reads what tools/gpu-check keeps of a target: lines of `yolk inspect --json`."""
import json

# Drivers that say nothing of the subgroups in flight: their occupancy is not judged.
WITHOUT_WAVES = ("m1", "adreno")


class BadInput(Exception):
    """What was given, and what is needed."""


def pipelines_of(path):
    """Lines of pipelines in their order; and what keeps the file from being complete, "" where nothing does."""
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
                found.append(line)
    if summary is None:
        return found, "yolk inspect did not come to its end"
    if summary["pipelines"] != len(found):
        return found, f"the summary counts {summary['pipelines']} pipelines, and there are {len(found)}"
    return found, ""


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
