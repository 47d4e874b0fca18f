# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from . import _core
from .errors import BadInput

# What histories call the mean of the population, and the score without perturbation.
_TRAINED, _SEARCHED = ("mean_return", "policy_return"), ("mean", "unperturbed")


class History(list):
    """The generations of a run, one dict each; `history["mean_return"]` is a column of all of them, as an array."""

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return np.array([entry[key] for entry in list.__iter__(self)])
        return super().__getitem__(key)

    def svg(self, title: str = "") -> str:
        """Scores against generations, as a picture in SVG: what `yolk plot` draws."""
        trained = not self or _TRAINED[0] in self[0]
        mean, policy = _TRAINED if trained else _SEARCHED
        if self and mean not in self[0]:
            raise BadInput(f"These generations have {', '.join(self[0])}; a picture needs '{_TRAINED[0]}' or '{mean}'.")
        points = [(entry.get("generation", i) + 1, entry[mean], entry.get(policy, math.nan))
                  for i, entry in enumerate(list.__iter__(self))]
        return _core.learning_plot(title, trained, points)


def plotted(picture: str, file: str | os.PathLike[str] | None) -> str:
    """The picture, which is also written to a file where one is given."""
    if file is not None:
        with open(os.fspath(file), "w", encoding="utf-8") as out:
            out.write(picture)
    return picture
