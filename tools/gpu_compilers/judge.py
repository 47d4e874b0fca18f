#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges what the compilers of GPUs made of the plans that tools/gpu-check had inspected.

    judge.py [--some] --shapes FILE --reasons FILE TARGET=FILE...      the plans of shapes that GPUs meet (shapes.py)

Of every pipeline: the driver refused it. Of default plans, and of those that the list gives knobs: spilled registers, scratch memory, and an occupancy below a
quarter, for which the list of reasons has no entry. An entry that excuses nothing is reported, too, where its target was
compiled; with --some, which says that other targets were not, only where it names the target in full. Exit code 1: something was found; 2: bad input.

The list of reasons has a line for each: TARGETS | PIPELINE | SHAPE | FAULTS | REASON. The first three are patterns (*, ?);
several targets are separated by spaces, and so are faults: spills, scratch, waves.
"""
import argparse
import fnmatch
import sys
from dataclasses import dataclass, field

from inspected import WITHOUT_WAVES, pipelines_of, targets_of
from shapes import BadInput, shapes_of

LEAST_OCCUPANCY = 0.25
FAULTS = ("spills", "scratch", "waves")


@dataclass
class Reason:
    line: int
    targets: list
    pipeline: str
    shape: str
    faults: list
    reason: str
    used: set = field(default_factory=set)  # (pattern of a target, fault)

    def excuses(self, target, line, fault):
        """Notes that it was needed."""
        if fault not in self.faults:
            return False
        for pattern in self.targets:
            if all(map(fnmatch.fnmatchcase, (target, line["pipeline"], line["shape"]), (pattern, self.pipeline, self.shape))):
                self.used.add((pattern, fault))
                return True
        return False


def reasons_of(path):
    reasons = []
    with open(path, encoding="utf-8") as file:
        for number, text in enumerate(file, 1):
            if not text.strip() or text.startswith("#"):
                continue
            cells = [cell.strip() for cell in text.split("|")]
            if len(cells) != 5 or not all(cells) or not set(cells[3].split()) <= set(FAULTS):
                raise BadInput(
                    f"{path}:{number}: '{text.strip()}'; an entry is TARGETS | PIPELINE | SHAPE | FAULTS | REASON, "
                    f"and faults are {', '.join(FAULTS)}"
                )
            reasons.append(Reason(number, cells[0].split(), *cells[1:3], cells[3].split(), cells[4]))
    return reasons


def faults_of(line, target, reasons):
    """What is wrong with a pipeline."""
    if "refused" in line:
        return [f"refused: {line['refused']}"]
    if not line["default"]:
        return []
    found = {}
    if line["spilled_registers"]:
        found["spills"] = f"{line['spilled_registers']} spilled registers"
    if line["scratch_bytes"]:
        found["scratch"] = f"{line['scratch_bytes']} bytes of scratch memory"
    occupancy = line["occupancy"]
    if occupancy is not None and occupancy < LEAST_OCCUPANCY:
        found["waves"] = f"{line['waves']} of {line['waves_of']} waves, less than a quarter"
    # Every entry that fits notes it: any() of a generator would stop at the first.
    faults = [
        f"{text}, without a listed reason"
        for fault, text in found.items()
        if not any([one.excuses(target, line, fault) for one in reasons])
    ]
    if occupancy is None and not target.startswith(WITHOUT_WAVES):
        faults.append("no occupancy, which this driver reports")
    return faults


def judge_target(target, path, shapes, reasons):
    """Sentences; none: the target passes."""
    lines, broken = pipelines_of(path, shapes, target)
    problems = [f"{target}: {broken}"] if broken else []
    for line in lines:
        where = f"{target}: {line['shape']}: {line['pipeline'] or 'the plan'}"
        if not line.get("default"):
            where += f" {line.get('configuration')}"
        problems += [f"{where}: {fault}" for fault in faults_of(line, target, reasons)]
    return problems


def stale(reasons, targets, path, some):
    for reason in reasons:
        for pattern in reason.targets:
            if some and pattern not in targets:
                continue
            unused = [fault for fault in reason.faults if (pattern, fault) not in reason.used]
            if unused and fnmatch.filter(targets, pattern):
                yield (
                    f"{path}:{reason.line}: {pattern} | {reason.pipeline} | {reason.shape} excuses no {' or '.join(unused)} "
                    "any more: remove it"
                )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", metavar="FILE", required=True, help="the shapes that every target must have")
    parser.add_argument("--reasons", metavar="FILE", required=True)
    parser.add_argument("--some", action="store_true")
    parser.add_argument("targets", nargs="+", metavar="TARGET=FILE")
    arguments = parser.parse_args()
    try:
        targets = targets_of(arguments.targets)
        shapes = shapes_of(arguments.shapes)
        reasons = reasons_of(arguments.reasons)
        problems = [problem for name, path in targets.items() for problem in judge_target(name, path, shapes, reasons)]
    except (BadInput, OSError) as error:
        print(f"judge.py: error: {error}", file=sys.stderr)
        return 2
    problems += stale(reasons, targets, arguments.reasons, arguments.some)
    good = f"{len(shapes)} shapes: no spills, scratch memory or few waves but those listed"
    print("\n".join(problems) or f"{' '.join(targets)}: {good}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
