# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import numpy as np

from . import _core

_DRAWN = ("generation", "mean_return", "policy_return")


class History(list):
    """The generations of a run, one dict each; `history["mean_return"]` is a column of all of them, as an array."""

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return np.array([entry[key] for entry in list.__iter__(self)])
        return super().__getitem__(key)

    def svg(self) -> str:
        """Returns against generations, as a picture in SVG."""
        return _core.returns_picture(*(self[name].astype(float).tolist() for name in _DRAWN))
