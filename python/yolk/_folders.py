# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import shutil
import tempfile
import weakref


class Folder:
    """A temporary folder, as long as this object and this process: a fork of it ends without taking the folder along."""

    def __init__(self, prefix: str) -> None:
        self.name = tempfile.mkdtemp(prefix=prefix)
        self._end = weakref.finalize(self, _remove, self.name, os.getpid())


def _remove(name: str, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(name, ignore_errors=True)
