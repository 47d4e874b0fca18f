# SPDX-License-Identifier: Apache-2.0
import os
import sys

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep


def of_caller() -> "tuple[str, int]":
    """File and line of the nearest frame that is not Yolk's own."""
    frame = sys._getframe(1)
    while frame is not None and os.path.abspath(frame.f_code.co_filename).startswith(_OURS):
        frame = frame.f_back
    return ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
