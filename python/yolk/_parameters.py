# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ._trees import as_float32
from .errors import BadInput


class Matrix:
    """A weight matrix [out, in], perturbed at low rank. Without values it begins as noise of unit variance per output."""

    def __init__(self, out: int, in_: int, *, rank: int = 0, values: Any = None) -> None:
        """rank: of its perturbation, 1 to 32; 0: that of the run."""
        self.shape, self.rank, self.values = [out, in_], rank, values

    @staticmethod
    def of(values: Any, *, rank: int = 0) -> Matrix:
        """With these values, [out, in]."""
        array = as_float32(values, "The matrix")
        if array.ndim != 2:
            raise BadInput(f"The matrix has the shape {array.shape}; two axes are needed.")
        return Matrix(array.shape[0], array.shape[1], rank=rank, values=array)


class Vector:
    """A bias or a scale [size], perturbed in full. Without values it begins as zeros."""

    def __init__(self, size: int, *, values: Any = None) -> None:
        self.shape, self.rank, self.values = [size], 0, values


class Text:
    """A prompt, which prompt searches may change."""

    def __init__(self, text: str = "", *, most_bytes: int = 16384) -> None:
        self.text, self.most_bytes = text, most_bytes


def knob(default: Any, low: float | None = None, high: float | None = None, *, log: bool = False,
         choices: Sequence[str] | None = None) -> Any:
    """A field of a dataclass that is searched: a number between bounds (log: a logarithmic scale), or one of several texts.

        @dataclasses.dataclass
        class Sampling:
            temperature: float = yolk.knob(0.7, 0.0, 2.0)
            top_k: int = yolk.knob(40, 1, 1000, log=True)
            style: str = yolk.knob("short", choices=["short", "long"])
    """
    return dataclasses.field(default=default, metadata={"low": low, "high": high, "log": log,
                                                        "choices": None if choices is None else list(choices)})


def _field(field: dataclasses.Field[Any]) -> dict[str, Any]:
    default, known = field.default, field.metadata
    described: dict[str, Any] = {"name": field.name, "initial": default, "lower": 0.0, "upper": 1.0, "log": bool(known.get("log")),
                 "choices": known.get("choices") or []}
    if known.get("choices"):
        if default not in described["choices"]:
            raise BadInput(f"The default of '{field.name}' is {default!r}, which is none of {described['choices']}.")
        return {**described, "kind": "choice", "initial": float(described["choices"].index(default)),
                "upper": float(len(described["choices"]) - 1)}
    if isinstance(default, bool):
        return {**described, "kind": "boolean", "initial": float(default)}
    if not isinstance(default, (int, float)):
        raise BadInput(f"The field '{field.name}' has the default {default!r}; a number, a truth value, or a text with "
                       "choices is needed.")
    if known.get("low") is None or known.get("high") is None:
        raise BadInput(f"The field '{field.name}' has no bounds: write it as yolk.knob({default!r}, low, high).")
    return {**described, "kind": "integer" if isinstance(default, int) else "real", "lower": known["low"],
            "upper": known["high"]}


def described(parameters: Any) -> dict[str, Any]:
    """What the library is told of a hyperfunction's parameters."""
    if parameters is None:
        return {"kind": "none"}
    if isinstance(parameters, (Matrix, Vector)):
        return {"kind": "weights", "shape": parameters.shape, "rank": parameters.rank, "values": parameters.values}
    if isinstance(parameters, Text):
        return {"kind": "text", "text": parameters.text, "most_bytes": parameters.most_bytes}
    if isinstance(parameters, str):
        return {"kind": "text", "text": parameters, "most_bytes": 16384}
    if dataclasses.is_dataclass(parameters):
        return {"kind": "fields", "fields": [_field(field) for field in dataclasses.fields(parameters)]}
    raise BadInput(f"The parameters are {parameters!r}; yolk.Matrix, yolk.Vector, yolk.Text, a text, or a dataclass whose "
                   "fields are yolk.knob is needed.")


class Fields:
    """The fields of a struct under the tracer, by their names."""

    def __init__(self, names: list[str], values: Any) -> None:
        self._names, self._values = names, values

    def __getattr__(self, name: str) -> Any:
        names = object.__getattribute__(self, "_names")
        if name not in names:
            raise AttributeError(f"there is no field '{name}'; there are {', '.join(names)}")
        return object.__getattribute__(self, "_values")[names.index(name)]
