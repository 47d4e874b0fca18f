# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import sys
import warnings
from types import FrameType

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_is_ours: dict[str, bool] = {}  # by file, as code objects name it


def of_caller() -> tuple[str, int]:
    """File and line of the nearest frame that is not Yolk's own."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        ours = _is_ours.get(file)
        if ours is None:
            ours = _is_ours[file] = os.path.abspath(file).startswith(_OURS)
        if not ours:
            return file, frame.f_lineno
        frame = frame.f_back
    return "", 0


def warn(message: str) -> None:
    """The library's warning, at the line of the program that is to blame."""
    file, line = of_caller()
    warnings.warn_explicit(message, UserWarning, file or "yolk", line)
