#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the list of shapes that tools/gpu-check compiles.

    shapes.py plain FILE            those whose default plan is compiled, a line each
    shapes.py chosen FILE TARGET    those with a configuration of their own, for one GPU: SHAPE | KNOB=VALUE ...

A line of the list is SHAPE, or SHAPE | KNOB=VALUE ... | TARGET ..., where knobs leave one configuration, which is judged as a default is.
Targets are the GPUs that have it; without them all do. Comments begin with #.
"""
import sys
from dataclasses import dataclass


class BadInput(Exception):
    """What was given, and what is needed."""


@dataclass(frozen=True)
class Shape:
    problem: str
    knobs: tuple = ()
    targets: tuple = ()  # none: all

    @property
    def text(self):
        """As the page and the list of reasons have it."""
        return f"{self.problem} with {' '.join(self.knobs)}" if self.knobs else self.problem

    def is_for(self, target):
        return not self.targets or target in self.targets


def shape_of(line):
    cells = [cell.strip() for cell in line.split("|")]
    knobs = tuple(cells[1].split()) if len(cells) > 1 else ()
    if len(cells) > 3 or not all(cells) or not all(name and value for name, _, value in (knob.partition("=") for knob in knobs)):
        raise BadInput(f"'{line.strip()}'; a line is SHAPE, or SHAPE | KNOB=VALUE ... | TARGET ...")
    return Shape(cells[0], knobs, tuple(cells[2].split()) if len(cells) > 2 else ())


def shapes_of(path):
    with open(path, encoding="utf-8") as file:
        return [shape_of(line) for line in file if line.strip() and not line.startswith("#")]


def plain_of(shapes):
    return [shape for shape in shapes if not shape.knobs]


def chosen_of(shapes, target):
    return [shape for shape in shapes if shape.knobs and shape.is_for(target)]


def main():
    try:
        if len(sys.argv) == 3 and sys.argv[1] == "plain":
            lines = [shape.problem for shape in plain_of(shapes_of(sys.argv[2]))]
        elif len(sys.argv) == 4 and sys.argv[1] == "chosen":
            lines = [f"{shape.problem} | {' '.join(shape.knobs)}" for shape in chosen_of(shapes_of(sys.argv[2]), sys.argv[3])]
        else:
            raise BadInput("it takes plain FILE, or chosen FILE TARGET")
    except (BadInput, OSError) as error:
        print(f"shapes.py: error: {error}", file=sys.stderr)
        return 2
    print("".join(line + "\n" for line in lines), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
