# SPDX-License-Identifier: Apache-2.0
"""Finds the device to try, or says what this machine lacks."""
import json
import os
import pathlib
import re
import shutil
import subprocess

from process import text_of

VENDORS = {0x10DE: "NVIDIA", 0x1002: "AMD", 0x8086: "Intel"}
# Either is a Vulkan driver. The second needs no libX11, which servers lack.
NVIDIA_LIBRARIES = ("libGLX_nvidia.so.0", "libEGL_nvidia.so.0")
LIBRARY_FOLDERS = ("usr/lib/x86_64-linux-gnu", "usr/lib64", "usr/lib", "usr/local/nvidia/lib64", "usr/local/nvidia/lib", "run/opengl-driver/lib")
LITTLE_MEMORY = 1 << 30


def gpus_of(root):
    """The vendors of the GPUs on the PCI bus."""
    found = []
    for device in sorted(root.glob("sys/bus/pci/devices/*")):
        kind, vendor = (int(text_of(device / name).strip() or "0", 16) for name in ("class", "vendor"))
        if kind >> 16 in (0x03, 0x12) and vendor in VENDORS:  # displays, and accelerators without one
            found.append(vendor)
    if not found and text_of(root / "proc/driver/nvidia/version"):  # a container may hide the bus
        found.append(0x10DE)
    return list(dict.fromkeys(found))


def nvidia_libraries(root):
    return [path for folder in LIBRARY_FOLDERS for name in NVIDIA_LIBRARIES if (path := root / folder / name).exists()]


def driver_files(root, folder):
    """JSON files of drivers where the loader does not look, then new ones for NVIDIA's libraries; each with the folder of its
    library."""
    found = []
    for place in ("usr/local/nvidia", "opt"):
        for file in sorted(root.glob(f"{place}/**/vulkan/icd.d/*.json")):
            named = re.search(r'"library_path"\s*:\s*"([^"]*)"', text_of(file))
            library = file.parent / named[1] if named else file  # an absolute path stays one
            found.append((file, library.resolve().parent if library.exists() else file.parents[3] / "lib64"))
    for library in nvidia_libraries(root):
        file = folder / f"{library.name}.json"
        about = {"library_path": str(library), "api_version": "1.3.0"}
        file.write_text(json.dumps({"file_format_version": "1.0.1", "ICD": about}))
        found.append((file, library.parent))
    return found


def missing_libraries(library):
    if not shutil.which("ldd"):
        return []
    listed = subprocess.run(["ldd", str(library)], capture_output=True, text=True, check=False)
    return re.findall(r"(\S+) => not found", listed.stdout)


def why_not_nvidia(root):
    version = re.search(r"\b\d+(\.\d+)+\b", text_of(root / "proc/driver/nvidia/version"))
    if not version:
        return ["NVIDIA's kernel module is not loaded (there is no /proc/driver/nvidia/version). Install NVIDIA's driver."]
    if not os.access(root / "dev/nvidiactl", os.R_OK | os.W_OK):
        return ["/dev/nvidiactl is missing, or this user may not open it. Give the container the GPU (--gpus all), or join "
                "the group that owns the file."]  # fmt: skip
    libraries = nvidia_libraries(root)
    if not libraries:
        series = version[0].split(".")[0]
        return [f"NVIDIA's kernel module {version[0]} is loaded, but its Vulkan driver is not here: there is no "
                f"{' and no '.join(NVIDIA_LIBRARIES)}. Install the package of the same version that has them: "
                f"nvidia-vulkan-icd (Debian), libnvidia-gl-{series} or libnvidia-gl-{series}-server (Ubuntu), nvidia-utils "
                "(Arch), or run NVIDIA's installer without --no-opengl-files. In a container set "
                "NVIDIA_DRIVER_CAPABILITIES=all before it starts; compute alone leaves them out."]  # fmt: skip
    lacks = {library: missing_libraries(library) for library in libraries}
    words = [f"{library} needs {', '.join(names)}, which this machine lacks." for library, names in lacks.items() if names]
    return words or [f"NVIDIA's driver {version[0]} is here ({libraries[0]}), and offers no device."]


def why_not(root, vendor):
    """Sentences on what a GPU of this vendor lacks here, and what to do."""
    if VENDORS[vendor] == "NVIDIA":
        return why_not_nvidia(root)
    module, files = {"AMD": ("amdgpu", ("radeon_icd*", "amd_icd*")), "Intel": ("i915 or xe", ("intel_*",))}[VENDORS[vendor]]
    nodes = sorted(root.glob("dev/dri/renderD*"))
    if not nodes:
        return [f"There is no /dev/dri/renderD* for the {VENDORS[vendor]} GPU. Load the kernel module {module}, or give the "
                "container the device (--device /dev/dri)."]  # fmt: skip
    if not any(os.access(node, os.R_OK | os.W_OK) for node in nodes):
        return [f"This user may not open {nodes[0]}. Join the group that owns it, which is usually called render."]
    folders = [root / place / "vulkan/icd.d" for place in ("usr/share", "usr/local/share", "etc")]
    if not any(list(folder.glob(name)) for folder in folders for name in files):
        return [f"No file in /usr/share/vulkan/icd.d names a driver for the {VENDORS[vendor]} GPU. Install "
                "mesa-vulkan-drivers (Debian, Ubuntu, Fedora)."]  # fmt: skip
    return [f"A driver for {VENDORS[vendor]} is installed, and offers no device that can be used. A newer one may."]


def chosen_of(step):
    index = (step.last.get("chosen") or {}).get("index")
    return next((device for device in step.last.get("devices", []) if device["index"] == index), None)


def find_device(trial, icd, wanted, root=pathlib.Path("/")):
    """The device to try: what was asked for, else a GPU. None, with notes that say why, where there is none."""
    settings = [{}]
    if icd:
        settings = [{"VK_DRIVER_FILES": icd, "VK_ICD_FILENAMES": icd}]
    elif not wanted:
        here = pathlib.Path(__file__).resolve().parent.parent
        for file, folder in driver_files(root, trial.out):
            paths = [str(folder), str(here / "lib/screen"), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
            files = {"VK_DRIVER_FILES": str(file), "VK_ICD_FILENAMES": str(file)}
            settings.append(files | {"LD_LIBRARY_PATH": ":".join(paths)})
    own = trial.environment | ({"YOLK_DEVICE": wanted} if wanted else {})
    for number, setting in enumerate(settings):
        trial.environment = own | setting
        step = trial.command("devices" if number == 0 else f"devices-{number}", 30, "devices", "--json")
        device = chosen_of(step)
        if device and (icd or wanted or device["kind"] != "cpu"):
            trial.steps["devices"] = step
            trial.notes = notes_on(step, device, setting if not icd else {})
            return device
        where = f"With {setting['VK_DRIVER_FILES']}: " if setting else ""
        trial.notes += [f"{where}{refused['name']} was refused: {refused['reason']}"
                        for refused in step.last.get("rejections", []) if not device or refused["name"] != device["name"]]  # fmt: skip
        if not step.good:
            trial.notes.append(f"{where}{step.said or step.ending()}")
    vendors = gpus_of(root)
    for vendor in vendors if not (icd or wanted) else ():
        trial.notes += why_not(root, vendor)
    if not vendors:
        trial.notes.append("This machine's PCI bus shows no GPU of NVIDIA, AMD or Intel. --device llvmpipe tries a CPU driver.")
    return None


def notes_on(step, device, setting):
    """What the reader should know before any figure."""
    notes = []
    if setting:
        words = " ".join(f"{name}={value}" for name, value in setting.items())
        notes.append(f"Vulkan's loader finds no driver of this GPU by itself. It was found with {words}. Install the driver's "
                     "own package, which tells the loader, or set these variables.")  # fmt: skip
    for other in step.last["devices"]:
        same = all(other[key] == device[key] for key in ("vendor_id", "device_id"))
        if same and other["kind"] != "cpu" and other["driver"] != device["driver"]:
            notes.append(f"Two drivers offer this GPU. {device['driver']} is tried here; --device {other['index']} tries "
                         f"{other['driver']}.")  # fmt: skip
    free = free_bytes(device)
    if free is not None and free < LITTLE_MEMORY:
        notes.append(f"Only {free >> 20} MiB of the device's memory are free. Other programs use the rest; steps that need "
                     "more fail, and say so.")  # fmt: skip
    return notes


def free_bytes(device):
    """Free bytes of its largest heap of its own; None where the driver does not say."""
    heaps = [heap for heap in device.get("heaps", []) if heap["device_local"] and heap.get("budget_bytes") is not None]
    return max((max(heap["budget_bytes"] - heap["used_bytes"], 0) for heap in heaps), default=None)
