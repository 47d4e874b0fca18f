# SPDX-License-Identifier: Apache-2.0
"""Recorded surfaces: the six that all strategies are compared on, the others, and their formats as plain Kernel Tuner
caches."""

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
OTHERS = {
    "conv. A4000": "convolution/a4000.mit.json.gz",
    "conv. W6600": "formats/w6600_convolution.t4.mit.json.gz",
    "conv. RTX 3090 (KTT)": "counters/KTConvolutionOutput_3090.json.gz",
    "dedispersion MI250X": "dedispersion/mi250x.mit.json.gz",
    "Coulomb RTX 2080": "counters/coulomb_2080_full_search_space.json.gz",
    "GEMM A100": "gemm/a100.nolicence.json.gz",
    "GEMM K20": "gemm/k20.nolicence.json.gz",
    "GEMM P100": "gemm/p100.nolicence.json.gz",
    "GEMM Titan X": "gemm/gtx_titan_x.nolicence.json.gz",
    "GEMM RTX 2080 Ti": "gemm/rtx_2080_ti.mit.json.gz",
    "GEMM RTX 3060 laptop": "gemm/rtx_3060_laptop.sample10k.mit.json.gz",
    "GEMM Titan RTX (2021)": "gemm/titan_rtx_2021.nolicence.json.gz",
    "GEMM Titan RTX (2023)": "gemm/titan_rtx_2023.mit.json.gz",
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


def of_entries(entries):
    """Of entries {parameter: value, ..., "time": milliseconds}; the domains are the values that occur."""
    names = [name for name in entries[0] if name != "time"]
    domains = {name: sorted({entry[name] for entry in entries}) for name in names}
    return Surface("", "", domains, {tuple(entry[name] for name in names): cost_of(entry) for entry in entries})


def entry_of_t4(result):
    times = [each["value"] for each in result.get("measurements", ()) if each["name"] == "time"]
    return {**result["configuration"], "time": times[0] if result["invalidity"] == "correct" and times else None}


def entry_of_ktt(result):
    configuration = {pair["Name"]: pair["Value"] for pair in result["Configuration"]}
    return {**configuration, "time": result["TotalDuration"] if result["Status"] == "Ok" else None}


def read(path):
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt") as file:
        data = json.load(file)
    if isinstance(data, list):
        return of_entries(data)
    if "results" in data:
        return of_entries([entry_of_t4(result) for result in data["results"]])
    if "Results" in data:
        return of_entries([entry_of_ktt(result) for result in data["Results"]])
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
