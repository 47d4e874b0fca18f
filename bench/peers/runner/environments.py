# SPDX-License-Identifier: Apache-2.0
"""A virtual environment per peer below build/peers, with the versions that its requirements file pins."""

import filecmp
import os
import pathlib
import re
import shutil
import subprocess
import sys

PEERS = pathlib.Path(__file__).resolve().parents[1]
SHARED_BYTES = 1 << 20  # files of this size or more are hard links where environments have the same ones
FILES = {
    name: PEERS / f"requirements-{name}.txt"
    for name in ("torch", "evox", "evotorch", "evosax", "gymnasium", "hyperfunc", "gepa", "kompute", "taichi", "wgpu",
                 "numba-vulkan", "computeml", "ferrotensor", "encoder", "yolk")
} | {"kernel-tuner": PEERS.parent / "tuners/requirements.txt"}  # fmt: skip
# PyPI has kp as source only; it is built with Debian's libraries.
SETTINGS = {"kompute": {"KOMPUTE_OPT_INSTALL": "OFF", "KOMPUTE_OPT_USE_BUILT_IN_VULKAN_HEADER": "OFF",
                        "KOMPUTE_OPT_USE_BUILT_IN_FMT": "OFF", "KOMPUTE_OPT_USE_BUILT_IN_PYBIND11": "OFF",
                        "KOMPUTE_PYTHON_NUM_PARALLEL_THREADS": "2"}}  # fmt: skip
# JAX has NVIDIA's libraries apart; PyTorch's wheels have them.
ON_CUDA = {"evosax": "jax[cuda12]==0.10.2\n", "gymnasium": "jax[cuda12]==0.10.2\n"}


class NotInstalled(Exception):
    """Its text is the last line of pip."""


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"error:", line, re.I)]
    return re.sub(r"https?://\S+", "the index", (errors or lines or ["pip printed nothing"])[-1])[:300]


class Environments:
    """Installs on demand, each once in a run."""

    def __init__(self, folder, cuda, tell):
        self.folder, self.cuda, self.tell, self.failed = pathlib.Path(folder).resolve(), cuda, tell, {}

    def wanted(self, name):
        return FILES[name].read_text(encoding="utf-8") + (ON_CUDA.get(name, "") if self.cuda else "")

    def python(self, name):
        """The interpreter of an environment, which is made if it is missing or has other requirements."""
        if name in self.failed:
            raise NotInstalled(self.failed[name])
        place = self.folder / name
        made = place / "installed.txt"
        wanted = self.wanted(name)
        if not made.exists() or made.read_text(encoding="utf-8") != wanted or not (place / "bin/python").exists():
            self.install(name, place, wanted)
            made.write_text(wanted, encoding="utf-8")
            self.share(place)
        return str(place / "bin/python")

    def install(self, name, place, wanted):
        self.tell(f"installing {name} in {place}")
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        asked = place / "asked.txt"
        asked.write_text(wanted, encoding="utf-8")
        pip = [place / "bin/pip", "--disable-pip-version-check", "install", "--no-input", "--quiet", "-r", asked]
        log = ""
        for command in ([sys.executable, "-m", "venv", place], pip):
            ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                                 env=os.environ | {"VIRTUAL_ENV": str(place)} | SETTINGS.get(name, {}))  # fmt: skip
            log += ran.stdout
            if ran.returncode != 0:
                (self.folder / f"{name}.pip.log").write_text(log, encoding="utf-8")
                shutil.rmtree(place, ignore_errors=True)
                self.failed[name] = f"not installed: {last_line(log)}"
                raise NotInstalled(self.failed[name])

    def share(self, place):
        """Makes large files hard links to those of other environments with the same bytes: PyTorch's take 5 GB."""
        others = [other for other in self.folder.iterdir() if other != place and (other / "installed.txt").exists()]
        for file in (place / "lib").rglob("*"):
            if file.is_symlink() or not file.is_file() or file.stat().st_size < SHARED_BYTES:
                continue
            for other in others:
                same = other / file.relative_to(place)
                if same.is_file() and not same.samefile(file) and filecmp.cmp(file, same, shallow=False):
                    link = file.with_name(file.name + ".link")
                    os.link(same, link)
                    link.replace(file)
                    break
