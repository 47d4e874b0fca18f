# SPDX-License-Identifier: Apache-2.0
"""Recorded surfaces: the six that are compared on, and all of their formats as plain Kernel Tuner caches."""

import gzip
import json
from dataclasses import dataclass
from pathlib import Path

# Below the folder that --data names; none of these files is part of the repository.
SIX = {
    "GEMM RTX 3090": "gemm/rtx_3090.mit.json.gz",
    "GEMM MI50": "gemm/mi50.nolicence.json.gz",
    "GEMM Vega": "gemm/amd_vega_2048.flat.nolicence.json.gz",
    "conv. MI250X": "convolution/mi250x.mit.json.gz",
    "conv. W7800": "convolution/w7800.mit.json.gz",
    "conv. A100": "convolution/a100.mit.json.gz",
}
LARGEST_TIME = 1e19  # as yolk reads it: what is at least that long has failed


@dataclass
class Surface:
    device: str
    kernel: str
    domains: dict  # parameter -> values, in the file's order
    costs: dict  # tuple of values -> milliseconds, or what failed as text

    @property
    def optimum(self):
        return min(cost for cost in self.costs.values() if isinstance(cost, float))


def cost_of(entry):
    time = entry.get("time")
    if isinstance(time, (int, float)) and not isinstance(time, bool) and 0 < time < LARGEST_TIME:
        return float(time)
    return time if isinstance(time, str) else "RuntimeFailedConfig"


def value_of(text):
    """A value as Kernel Tuner writes it into the key of an entry that does not repeat its parameters."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def read(path):
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt") as file:
        data = json.load(file)
    if isinstance(data, list):  # flat: {parameter: value, ..., "time": milliseconds}
        names = [name for name in data[0] if name != "time"]
        domains = {name: sorted({entry[name] for entry in data}) for name in names}
        return Surface("", "", domains, {tuple(entry[name] for name in names): cost_of(entry) for entry in data})
    names, costs = data["tune_params_keys"], {}
    for key, entry in data["cache"].items():
        written = [value_of(text) for text in key.split(",")]
        costs[tuple(entry.get(name, value) for name, value in zip(names, written))] = cost_of(entry)
    domains = {name: data["tune_params"][name] for name in names}
    return Surface(data.get("device_name", ""), data.get("kernel_name", ""), domains, costs)


def write(surface, path):
    """A Kernel Tuner cache with the mean times alone: what both sides replay, without the rest of the recording."""
    names = list(surface.domains)
    cache = {
        ",".join(str(value) for value in values): {**dict(zip(names, values)), "time": cost}
        for values, cost in surface.costs.items()
    }
    head = {
        "device_name": surface.device or "unnamed",
        "kernel_name": surface.kernel or "unnamed",
        "problem_size": [1],
        "tune_params_keys": names,
        "tune_params": surface.domains,
        "objective": "time",
        "cache": cache,
    }
    path = Path(path)
    begun = path.with_suffix(".part")
    begun.write_text(json.dumps(head))
    begun.replace(path)
