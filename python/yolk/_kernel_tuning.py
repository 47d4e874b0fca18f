# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
import html
import inspect
import itertools
import json
import math
import os
import pathlib
import shutil
import tempfile
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _core
from ._devices import Chosen, OnDevice, request_of
from .errors import BadInput

_TYPES = {"f32": np.float32, "i32": np.int32, "u32": np.uint32}
_RECORD = ".t4.json"
_SHOWN = 20
_MOST_COMBINATIONS = 4096  # that functions of constraints are asked about


class KernelTuning(OnDevice):
    """What `yolk.tune_kernel` found.

    configuration         the best one, by name; `specialization`, `defines` and `dispatch` are what sets it
    milliseconds          its time; default_milliseconds is that of the default, speed_up their quotient
    spread                the distance of the times' quartiles over their median
    measured              all configurations that were measured, the fastest first: a list of {"configuration",
                          "milliseconds", "status"}; failed ones have no time
    decided               the search came to its end, now or in an earlier run; otherwise the next run goes on
    device, driver, reference, table, evaluations, seconds; `why_device` says why this device
    """

    def __init__(self, outcome: dict[str, Any], measured: list[dict[str, Any]], device: Any) -> None:
        self._outcome, self._chosen = outcome, Chosen(device)
        self.measured = measured
        self.configuration: dict[str, Any] = outcome["configuration"]
        self.specialization: list[dict[str, Any]] = outcome["specialization"]
        self.defines: dict[str, str] = outcome["defines"]
        self.dispatch: list[int] = outcome["dispatch"]
        self.push_constants: list[Any] = outcome["push_constants"]
        self.milliseconds: float = outcome["milliseconds"]
        self.default_milliseconds: float = outcome["default_milliseconds"]
        self.spread: float = outcome["spread"]
        self.decided: bool = outcome["decided"]
        self.device: str = outcome["device"]
        self.driver: str = outcome["driver"]
        self.reference: str = outcome["reference"]
        self.table: str = outcome["table"]
        self.seconds: float = outcome["seconds"]
        self.evaluations: int = outcome["evaluations"]
        self.new_evaluations: int = outcome["measured"]

    @property
    def speed_up(self) -> float:
        """The default's time over that of the choice; 1 where nobody has measured both."""
        if self.milliseconds <= 0 or self.default_milliseconds <= 0:
            return 1.0
        return self.default_milliseconds / self.milliseconds

    def save(self, path: str | os.PathLike[str]) -> None:
        """The choice as JSON, for an engine to load: the file that `yolk tune kernel --out` writes."""
        own = ("table", "combinations", "legal", "measured", "rejected", "interrupted", "decided", "untried", "seconds",
               "unchecked")
        kept = {key: value for key, value in self._outcome.items() if key not in own}
        pathlib.Path(path).write_text(json.dumps(kept, indent=1) + "\n")

    def _rows(self) -> list[list[str]]:
        names = list(self.configuration)
        rows = [[*names, "ms", "status"]]
        for entry in self.measured[:_SHOWN]:
            time = entry["milliseconds"]
            rows.append([*(str(entry["configuration"].get(name, "")) for name in names),
                         "-" if time is None else f"{time:.4g}", entry["status"]])
        return rows

    def __repr__(self) -> str:
        lines = [f"<yolk.KernelTuning on {self.device}: {self.milliseconds:.4g} ms, default "
                 f"{self.default_milliseconds:.4g} ms, {self.speed_up:.2f}x; {self.configuration}"
                 f"{'' if self.decided else ', not decided'}>"]
        rows = self._rows()
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        if len(self.measured) > _SHOWN:
            lines.append(f"and {len(self.measured) - _SHOWN} more")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, *rows = self._rows()
        cells = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        return (f"<p>{html.escape(repr(self).splitlines()[0])}</p><table><thead><tr>{cells}</tr></thead>"
                f"<tbody>{body}</tbody></table>")


class _Space:
    """A space file in a folder of its own, with arrays and results of functions as files beside it."""

    def __init__(self, space: Any, shader_folder: pathlib.Path, folder: pathlib.Path) -> None:
        self.folder = folder
        self.path = folder / "space.json"
        if isinstance(space, dict):
            self.home, self.json = shader_folder, copy.deepcopy(space)
        else:
            source = pathlib.Path(os.fspath(space))
            self.home = source.absolute().parent
            try:
                self.json = json.loads(source.read_text())
            except OSError as reason:
                raise BadInput(f"space is '{source}', which cannot be read: {reason.strerror}.") from reason
            except ValueError as reason:
                raise BadInput(f"'{source}' is no JSON: {reason}") from reason
        if not isinstance(self.json, dict) or not isinstance(self.json.get("buffers"), list):
            raise BadInput("space is a dict, or a JSON file, with 'parameters', 'buffers' and 'dispatch' "
                           "(docs/own_kernels.md).")
        for buffer in self.json["buffers"]:
            if isinstance(buffer, dict):
                self._settle(buffer)
        self.refer_to(self.json.get("reference"))
        self._evaluate_constraints()

    def refer_to(self, reference: Any) -> None:
        if reference is not None:
            self.json["reference"] = reference
        if isinstance(reference, dict) and isinstance(reference.get("shader"), str):
            self._bring(reference["shader"])

    def _evaluate_constraints(self) -> None:
        """Candidates may be tried in another process: functions become a list of the configurations that they forbid."""
        listed = self.json.get("constraints", [])
        functions = [one for one in listed if callable(one)] if isinstance(listed, list) else []
        if not functions:
            return
        values = _listed_values(self.json.get("parameters"))
        forbidden = [configuration for configuration in values
                     if not all(_allows(function, configuration) for function in functions)]
        if len(forbidden) == len(values):
            raise BadInput("The constraints' functions allow no configuration of the space.")
        self.json["constraints"] = [one for one in listed if not callable(one)] + [
            " || ".join(f"{name} != {_literal(value)}" for name, value in configuration.items())
            for configuration in forbidden
        ]

    def _settle(self, buffer: dict[str, Any]) -> None:
        content = buffer.get("content")
        if content is not None and not isinstance(content, (str, dict)):
            array = np.asarray(content)
            kinds = {"f": "f32", "i": "i32", "u": "u32"}
            if array.dtype.kind not in kinds:
                raise BadInput(f"The content of '{buffer.get('name')}' has the dtype {array.dtype}; numbers are "
                               "needed.")
            buffer.setdefault("type", kinds[array.dtype.kind])
            buffer.setdefault("elements", int(array.size))
            buffer["content"] = {"file": self.write(f"{buffer.get('name')}.content.bin", array, buffer["type"])}
        elif isinstance(content, dict) and isinstance(content.get("file"), str):
            self._bring(content["file"])
        if isinstance(buffer.get("golden"), str):
            self._bring(buffer["golden"])

    def _bring(self, name: str) -> None:
        """A file that the space names, by the same name in the folder."""
        source, to = self.home / name, self.folder / name
        if source.exists() and not to.exists() and self.folder in to.parents:
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, to)

    def write(self, name: str, array: np.ndarray, kind: str) -> str:
        if kind not in _TYPES:
            raise BadInput(f"There is no type '{kind}'; there are f32, i32, u32.")
        (self.folder / name).write_bytes(np.ascontiguousarray(array, dtype=_TYPES[kind]).tobytes())
        return name

    def save(self) -> None:
        try:
            self.path.write_text(json.dumps(self.json, default=lambda value: value.item()))
        except (TypeError, ValueError, AttributeError) as reason:
            raise BadInput(f"space has something that JSON has not: {reason}") from reason


def _listed_values(parameters: Any) -> list[dict[str, Any]]:
    """All configurations of a space, for constraints that are functions."""
    if not isinstance(parameters, dict) or not all(
            isinstance(one, dict) and isinstance(one.get("values"), (list, tuple)) for one in parameters.values()):
        raise BadInput("A constraint is a function, which needs the values of each parameter as a list.")
    count = math.prod(len(one["values"]) for one in parameters.values())
    if count > _MOST_COMBINATIONS:
        raise BadInput(f"A constraint is a function, which is asked about each of the {count} configurations; of more than "
                       f"{_MOST_COMBINATIONS} write it as an expression: \"wx * wy <= 256\".")
    return [dict(zip(parameters, values)) for values in itertools.product(*(one["values"] for one in parameters.values()))]


def _allows(function: Callable[[dict[str, Any]], Any], configuration: dict[str, Any]) -> bool:
    answer = function(dict(configuration))
    if not isinstance(answer, (bool, np.bool_)):
        raise BadInput(f"A constraint returned {answer!r} for {configuration}; True or False is needed.")
    return bool(answer)


def _literal(value: Any) -> str:
    """As constraints of the file write a value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and "'" in value:
        raise BadInput(f"A constraint is a function, and {value!r} has a quotation mark, which expressions cannot name; "
                       "write the constraint as an expression.")
    return f"'{value}'" if isinstance(value, str) else repr(value)


def _arguments(function: Callable[..., Any], known: dict[str, Any]) -> dict[str, Any]:
    """Of what is known, what the function asks for by name."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return known
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
        return known
    missing = [parameter.name for parameter in parameters
               if parameter.name not in known and parameter.default is inspect.Parameter.empty]
    if missing:
        raise BadInput(f"The reference asks for {', '.join(missing)}; there are {', '.join(known)}.")
    return {parameter.name: known[parameter.name] for parameter in parameters if parameter.name in known}


def _results(returned: Any, outputs: list[dict[str, Any]]) -> dict[str, Any]:
    """What the reference returned, by the outputs' names."""
    names = [buffer["name"] for buffer in outputs]
    if isinstance(returned, dict):
        by_name = returned
    elif isinstance(returned, (tuple, list)) and len(names) > 1 and len(returned) == len(names):
        by_name = dict(zip(names, returned))
    elif len(names) == 1:
        by_name = {names[0]: returned}
    else:
        by_name = {}
    if set(by_name) != set(names):
        raise BadInput(f"The reference returns what {', '.join(names)} must be: an array if that is one buffer, else a "
                       f"dict or tuple of arrays. It returned {type(returned).__name__}"
                       f"{' of ' + ', '.join(map(str, returned)) if isinstance(returned, dict) else ''}.")
    return by_name


def _compute_reference(function: Callable[..., Any], space: _Space, shader: str, includes: list[str],
                       device: str) -> None:
    """Calls it once on the inputs, and makes golden files of what it returns."""
    space.json.pop("reference", None)
    space.save()
    buffers, sizes = _core.kernel_buffers(shader, str(space.path), includes, device)
    kinds = {buffer["name"]: buffer["type"] for buffer in space.json["buffers"]}
    known = {name: np.frombuffer(contents, dtype=_TYPES[kinds[name]]).copy()
             for name, _, contents in buffers if contents is not None}
    known |= json.loads(sizes)
    outputs = [buffer for buffer in space.json["buffers"] if buffer["role"] in ("output", "in_out")]
    for name, value in _results(function(**_arguments(function, known)), outputs).items():
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            raise BadInput(f"The reference returned the dtype {array.dtype} for '{name}'; numbers are needed.")
        needed = next(count for own, count, _ in buffers if own == name)
        if array.size != needed:
            raise BadInput(f"The reference returned {array.size} elements for '{name}', which has {needed}.")
        buffer = next(one for one in outputs if one["name"] == name)
        buffer["golden"] = space.write(f"{name}.golden.bin", array, kinds[name])


def _read_measured(path: pathlib.Path, parameters: dict[str, Any]) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    rows = []
    for result in json.loads(path.read_text())["results"]:
        values = {}
        for name, value in result["configuration"].items():
            listed = parameters.get(name, {}).get("values", [])
            values[name] = next((one for one in listed if one == value), value)  # True is kept as 1
        times = [one["value"] for one in result.get("measurements", []) if one["name"] == "time"]
        is_right = result["invalidity"] == "correct"
        rows.append({"configuration": values, "milliseconds": times[0] if is_right and times else None,
                     "status": "right" if is_right else result["invalidity"]})
    return sorted(rows, key=lambda row: np.inf if row["milliseconds"] is None else row["milliseconds"])


def tune_kernel(shader: str | os.PathLike[str], *, space: Any, reference: Any = None, device: Any = None,
                strategy: str = "natural", budget: int = 60, seed: int = 1, seconds: float = 540.0, again: bool = False,
                table: str | os.PathLike[str] = "", record: str | os.PathLike[str] = "",
                include: Sequence[str | os.PathLike[str]] = (),
                on_progress: Callable[[dict[str, Any]], Any] | None = None) -> KernelTuning:
    """Finds the fastest right configuration of a GLSL compute shader of yours, as `yolk tune kernel` does.

    shader       its file, or its text
    space        what may be chosen, what the buffers contain, and the dispatch: a JSON file, or a dict of the same form
                 (docs/own_kernels.md), in which a buffer's "content" may also be an array: "type" and "elements" follow
                 A "constraints" entry may be a function of a configuration's dict that returns True or False: it is asked
                 before the search about each of the configurations, 4096 at most
    reference    what is right: a function that gets inputs (1-D arrays) and sizes by their names, and returns the
                 outputs: one array, or a dict or tuple of them. It is called once. Or "default", or a dict, as in the
                 file; None: what the space says. Without any, configurations are only compared with themselves
    strategy, budget, seed, seconds  of the search: how, measurements, random choices, time
    again        measure although the table has a choice
    table        the tuning table's file; "": $YOLK_TABLE, else in the cache folder
    record       a file that ends in .t4.json, which gets what was measured
    include      folders that the shader may include from, too
    on_progress  called after each measurement with a dict; False ends the search, and what it raises comes out

    Ctrl-C ends the search and raises KeyboardInterrupt; what was measured is in the table, and the next run goes on.
    Raises BadInput for mistakes in shader, space or reference, with their place, and Failed if no configuration is
    right.
    """
    if record and not os.fspath(record).endswith(_RECORD):
        raise BadInput(f"record is '{os.fspath(record)}'; its name must end in {_RECORD}. `yolk tune kernel --record` "
                       "also writes Kernel Tuner's caches.")
    request = request_of(device)
    with tempfile.TemporaryDirectory(prefix="yolk-tune-") as name:
        folder = pathlib.Path(name)
        source = os.fspath(shader)
        if "\n" in source:
            (folder / "kernel.comp").write_text(source)
            source = str(folder / "kernel.comp")
        home = pathlib.Path.cwd() if folder == pathlib.Path(source).parent else pathlib.Path(source).absolute().parent
        prepared = _Space(space, home, folder)
        includes = [str(prepared.home), *(os.fspath(one) for one in include)]
        if callable(reference):
            _compute_reference(reference, prepared, source, includes, request)
        elif reference is not None:
            prepared.refer_to(reference)
        prepared.save()
        recorded = folder / f"measured{_RECORD}"
        settings = {"strategy": strategy, "budget": budget, "seed": seed, "seconds": seconds, "again": again,
                    "record": str(recorded)}
        told = _core.tune_kernel(source, str(prepared.path), includes, request, os.fspath(table), settings, on_progress)
        outcome = json.loads(told)
        measured = _read_measured(recorded, prepared.json.get("parameters", {}))
        if record:
            shutil.copyfile(recorded, record)
    if callable(reference):
        outcome["reference"] = f"the Python function {getattr(reference, '__name__', type(reference).__name__)}"
    if outcome["unchecked"]:
        warnings.warn(f"Nobody knows what is right in {', '.join(outcome['unchecked'])}: configurations were only "
                      "compared with themselves, and a wrong one may have won. Give a reference.", stacklevel=2)
    return KernelTuning(outcome, measured, device)
