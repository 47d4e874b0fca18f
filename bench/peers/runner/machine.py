# SPDX-License-Identifier: Apache-2.0
"""Which device the comparisons run on: that of VK_ICD_FILENAMES, else a GPU, else lavapipe."""

import json
import os
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/gpu_trial"))
from driver import driver_files  # noqa: E402

LAVAPIPE = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"
FOLDERS = ("/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d")


@dataclass
class Machine:
    where: str  # the device, its driver and the processor
    driver: str = "llvmpipe"  # part of the driver's name, as yolk_bench's rows have it
    cuda: bool = False
    environment: dict = field(default_factory=dict)


def processor():
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    named = re.search(r"model name\s*:\s*(.+)", text)
    return f"{len(os.sched_getaffinity(0))} cores of {named[1].strip() if named else 'an unknown processor'}"


def device_of(yolk, setting):
    """The device that yolk chooses under these variables, or None."""
    try:
        ran = subprocess.run([*yolk.split(), "devices", "--json"], capture_output=True, text=True, check=True, timeout=60,
                             env=os.environ | setting)  # fmt: skip
        said = json.loads(ran.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    index = (said.get("chosen") or {}).get("index")
    return next((device for device in said.get("devices", []) if device["index"] == index), None)


def settings_to_try(folder):
    """Drivers, the GPUs' first; lavapipe, the last resort, is not among them."""
    files = [file for place in FOLDERS for file in sorted(pathlib.Path(place).glob("*.json")) if file.name != "lvp_icd.x86_64.json"]
    for file in files:
        yield {"VK_DRIVER_FILES": str(file), "VK_ICD_FILENAMES": str(file)}
    for file, libraries in driver_files(pathlib.Path("/"), folder):
        path = ":".join(filter(None, [str(libraries), os.environ.get("LD_LIBRARY_PATH")]))
        yield {"VK_DRIVER_FILES": str(file), "VK_ICD_FILENAMES": str(file), "LD_LIBRARY_PATH": path}


def machine_of(device, setting):
    if device is None:
        return Machine(f"a device that yolk did not name, {processor()}", environment=setting)
    where = f"{device['name']}, {device['driver']}, {processor()}"
    driver = re.split(r"\W", device["driver"])[0]
    if device["kind"] == "cpu":
        return Machine(where, driver, environment=setting)
    cuda = device["vendor"] == "NVIDIA"
    setting = setting | {"YOLK_DEVICE": device["name"]} | ({"YOLK_PEERS_TORCH": "cuda"} if cuda else {})
    return Machine(where, driver, cuda, setting)


def find(yolk, folder):
    """The machine; `folder` takes files that name drivers which the loader does not know."""
    if "VK_ICD_FILENAMES" in os.environ or "VK_DRIVER_FILES" in os.environ:
        files = os.environ.get("VK_DRIVER_FILES") or os.environ["VK_ICD_FILENAMES"]
        setting = {"VK_DRIVER_FILES": files, "VK_ICD_FILENAMES": files}
        return machine_of(device_of(yolk, setting), setting)
    for setting in settings_to_try(folder):
        device = device_of(yolk, setting)
        if device and device["kind"] != "cpu":
            return machine_of(device, setting)
    setting = {"VK_ICD_FILENAMES": LAVAPIPE, "YOLK_DEVICE": "llvmpipe"}
    return machine_of(device_of(yolk, setting), setting)
