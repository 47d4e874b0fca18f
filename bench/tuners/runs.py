# SPDX-License-Identifier: Apache-2.0
"""Searches as jobs: each runs in a process of its own, and what has finished is kept in a file of JSON lines."""

import concurrent.futures
import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Job:
    """`command` prints a JSON object per line, all of them the answer. The answer depends on `key` and on `build`, the
    executable that gives it, if that changes."""

    key: str
    command: tuple
    label: str
    build: str = ""


class Kept:
    """Finished jobs. A line that a killed run left half written is not read."""

    def __init__(self, path, any_build=False):
        self.path, self.lock, self.answers, self.any_build = Path(path), threading.Lock(), {}, any_build
        self.path.parent.mkdir(parents=True, exist_ok=True)
        for line in self.path.read_text().splitlines() if self.path.exists() else ():
            try:
                row = json.loads(line)
            except ValueError:
                continue
            self.answers[row["key"]] = row

    def of(self, job):
        """The job's answer, empty where it has none."""
        row = self.answers.get(job.key, {})
        return row if self.any_build or row.get("build") == job.build else {}

    def add(self, job, row):
        with self.lock:
            self.answers[job.key] = {"key": job.key, "build": job.build, **row}
            with self.path.open("a") as file:
                file.write("\n" * self.torn() + json.dumps(self.answers[job.key]) + "\n")

    def torn(self):
        """Whether the file ends within a line."""
        if not self.path.exists() or self.path.stat().st_size == 0:
            return 0
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return int(file.read(1) != b"\n")


def key_of(**parts):
    return json.dumps(parts, sort_keys=True)


def build_of(executable):
    return hashlib.sha256(Path(executable).read_bytes()).hexdigest()[:16]


def answer_of(job, limit):
    """{"rows": [...]}, or {"failed": why}: a strategy that does not work here is a result as well."""
    started = time.perf_counter()
    try:
        ran = subprocess.run(job.command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"failed": f"still ran after {limit} s"}
    if ran.returncode != 0:
        lines = [line for line in ran.stderr.splitlines() if line.strip()]
        return {"failed": lines[-1][:300] if lines else f"ended with {ran.returncode}"}
    rows = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    return {"rows": rows, "seconds": round(time.perf_counter() - started, 1)}


def run_all(jobs, kept, workers, limit):
    """What is not kept yet, `workers` at a time, in the given order; one line of progress for each."""
    todo = [job for job in jobs if not kept.of(job)]
    print(f"{len(jobs) - len(todo)} of {len(jobs)} jobs are kept from before", file=sys.stderr, flush=True)
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        running = {pool.submit(answer_of, job, limit): job for job in todo}
        try:
            for done, future in enumerate(concurrent.futures.as_completed(running), 1):
                job, answer = running[future], future.result()
                kept.add(job, answer)
                said = answer.get("failed") or f"{answer['seconds']} s"
                print(f"{done} of {len(todo)}: {job.label}: {said}", file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise

