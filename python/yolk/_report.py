# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from . import _core


def _place(run: Any) -> str:
    """A run object's folder, or a path."""
    return os.fspath(getattr(run, "folder", run))


def report(runs: Any, out: str | os.PathLike[str] = "report.html", *, threads: int = 0) -> dict[str, Any]:
    """Writes one page of HTML about runs: curves over seeds, throughput, devices, tuning, prompts, and others beside them.

    runs       what `yolk.train` returned, a path as the command's `yolk report` takes it (docs/cli.md), or a list of those
    out        the page; it loads nothing and needs no script
    threads    for the replays of tuning strategies; 0: all. The page does not depend on it

    What the page shows, as a dict: page, runs, tasks, searches, prompts, shapes, rows, bench_rows.
    """
    several: Sequence[Any] = runs if isinstance(runs, (list, tuple)) else [runs]
    return _core.report([_place(run) for run in several], os.fspath(out), threads)
