# SPDX-License-Identifier: Apache-2.0
"""The file of finished comparisons, and the table of it."""

import json
import os
import pathlib
import sys


class Kept:
    """{"comparisons": {name: {"where", "when", "command", "topic", "busy", "small", "rows"}}}"""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.comparisons = {}
        if not self.path.exists():
            return
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))["comparisons"]
            self.comparisons = {name: entry for name, entry in found.items() if isinstance(entry["rows"], list)}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            sys.exit(f"run: {self.path} is not a file of this command ({type(error).__name__}: {error}). "
                     "Remove it, or name another one with --out.")  # fmt: skip

    def has(self, name, where, options):
        """Whether it is finished on this device. A small try or one on a busy machine does not count as a measurement."""
        entry = self.comparisons.get(name)
        if entry is None or entry["where"] != where:
            return False
        return (options.small or not entry["small"]) and (options.busy or not entry["busy"])

    def keep(self, name, entry):
        self.comparisons[name] = entry
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_name(self.path.name + ".part")
        beside.write_text(json.dumps({"comparisons": self.comparisons}, indent=1) + "\n", encoding="utf-8")
        os.replace(beside, self.path)


def short(value):
    for limit, digits in ((100, 0), (10, 1), (1, 2)):
        if abs(value) >= limit:
            return f"{value:,.{digits}f}"
    return f"{value:.3g}"


def figure(values, unit=""):
    middle, lowest, highest = values
    text = f"{short(middle)} {unit}".rstrip()
    return text if lowest == highest else f"{text} ({short(lowest)} to {short(highest)})"


def table(comparisons):
    """Lines: a row per peer. The ratio's cell says where Yolk is behind."""
    cells = [("comparison/peer", "ratio (worst to best)", "yolk", "peer", "note")]
    for entry in comparisons.values():
        for row in entry["rows"]:
            if "failed" in row:
                cells.append((row["name"], "-", "-", "-", row["failed"]))
                continue
            notes = [row.get("note", ""), *(mark for mark in ("busy", "small") if entry[mark])]
            behind = "behind: " if row["ratio"][0] < 1 else ""
            ours, theirs = figure(row["ours"], row["unit"]), figure(row["theirs"])
            cells.append((row["name"], behind + figure(row["ratio"]), ours, theirs, "; ".join(filter(None, notes))))
    widths = [max(len(row[at]) for row in cells) for at in range(4)]
    return ["  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), row[4]]).rstrip() for row in cells]
