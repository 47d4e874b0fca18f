#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what `yolk check --json` said on several drivers: every family passed, and gave the same bytes.

    compare_checks.py FILE...      the first is what the others are compared with
"""
import json
import sys


def families_of(text):
    """Families by device and name, of JSON lines; {} where no line has any."""
    found = {}
    for line in text.splitlines():
        outcome = json.loads(line)
        for family in outcome.get("kernels", []):
            found.setdefault(outcome["driver"], {})[family["kernel"]] = family
    return found


def problems_of(drivers):
    """Sentences; none: all passed with the same bytes. drivers: what families_of gave, the first is the measure."""
    (measure, expected), *others = drivers.items()
    problems = [f"{name}: {kernel} failed" for name, families in drivers.items() for kernel, family in families.items() if not family["passed"]]
    for name, families in others:
        for kernel in sorted(expected.keys() ^ families.keys()):
            problems.append(f"{name}: {kernel} was checked on only one of it and {measure}")
        for kernel in sorted(expected.keys() & families.keys()):
            wanted, got = expected[kernel].get("output_hash"), families[kernel].get("output_hash")
            if wanted != got:
                problems.append(f"{name}: {kernel} gave output_hash {got}, {measure} gave {wanted}")
    return problems


def main(names):
    drivers = {}
    for name in names:
        with open(name, encoding="utf-8") as file:
            drivers.update(families_of(file.read()))
    if len(drivers) < 2:
        print(f"compare_checks.py: error: outcomes of {len(drivers)} drivers; at least 2 are compared", file=sys.stderr)
        return 2
    problems = problems_of(drivers)
    print("\n".join(problems) or f"{len(next(iter(drivers.values())))} kernels: the same bytes on {', '.join(drivers)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
