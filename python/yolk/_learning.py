# SPDX-License-Identifier: Apache-2.0
"""Runs over data sets: what yolk.train gives for one, and what a model can do."""
from __future__ import annotations

import importlib.util
import json
import os
import shutil
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _core
from ._devices import Chosen, OnDevice
from ._folders import Folder
from ._history import History, plotted
from ._report import report
from ._trees import as_float32
from .errors import BadInput

# Settings that yolk.toml calls otherwise.
_NAMES = {"learning_rate": "lr", "learning_rate_decay": "lr_decay"}


class Model:
    """A network that has learned a data set: `model(x)` gives labels, `model.probabilities(x)` all of them.

    classes     the labels that it knows
    conv        the layers over images, as `yolk.train` takes them
    parameters  `layer0.weight` float32 [out, in], `layer0.bias` float32 [out], ...; copies. Columns of a convolution's
                weight are [size, size, channels]
    """

    def __init__(self, file: str | os.PathLike[str]) -> None:
        """Reads a model.safetensors. Raises BadInput for a file that is damaged or foreign."""
        self.file = os.fspath(file)
        found = _core.load_model(self.file)
        self.data: str = found["data"]
        self.shape: tuple[int, ...] = tuple(found["shape"])
        self.columns: list[str] = found["columns"]
        self.classes: list[str] = found["classes"]
        self.conv: list[str] = found["conv"]
        self.hidden: list[int] = found["hidden"]
        self.activation: str = found["activation"]
        self.generations: int = found["generations"]
        self.seed: int = found["seed"]
        self.parameters: dict[str, np.ndarray] = found["parameters"]
        self._owner: Any = None

    def probabilities(self, x: Any) -> np.ndarray:
        """float32 [rows, classes] for rows of inputs [rows, ...], which are standardized as the training's were."""
        values = as_float32(x, "x", truths=True)
        if values.ndim > 1 and int(np.prod(values.shape[1:])) == int(np.prod(self.shape)):
            values = values.reshape(len(values), *self.shape)
        if values.shape == (0, *self.shape):
            return np.zeros((0, len(self.classes)), dtype=np.float32)
        return _core.predict(self.file, values)

    def __call__(self, x: Any) -> list[str]:
        """The likeliest label of each row."""
        return [self.classes[i] for i in self.probabilities(x).argmax(axis=1)]

    def evaluate(self, x: Any, y: Sequence[Any] | None = None) -> dict[str, Any]:
        """accuracy, loss (nats) and rows: of rows and their labels, or of a source as `yolk.read_data` takes it."""
        if y is None:
            x, y = read_data(x)
        labels = _labels(y)
        unknown = sorted(set(labels) - set(self.classes))
        if unknown:
            raise BadInput(f"The label {unknown[0]!r} was not among those of the training: {', '.join(self.classes)}.")
        ids = np.array([self.classes.index(label) for label in labels])
        found = self.probabilities(x)
        if len(ids) != len(found):
            raise BadInput(f"There are {len(found)} rows and {len(ids)} labels; each row needs one.")
        right = found[np.arange(len(ids)), ids].astype(np.float64)
        return {"accuracy": float((found.argmax(axis=1) == ids).mean()), "rows": len(ids),
                "loss": float(-np.log(np.maximum(right, 1e-45)).mean())}

    def save(self, file: str | os.PathLike[str]) -> None:
        shutil.copyfile(self.file, os.fspath(file))

    def __reduce__(self) -> Any:
        raise TypeError("A yolk.Model cannot be pickled. Save it (model.save) and read the file.")

    def __repr__(self) -> str:
        return f"<yolk.Model of {self.data}: {len(self.classes)} classes>"


class LearnedRun(OnDevice):
    """What `yolk.train` came to over a data set.

    history                the generations, one dict each: unperturbed (minus the loss before the update), held_out, mean, ...
    model                  the trained `yolk.Model`
    test, held_out         how it does on the rows that it did not learn from: accuracy, loss, rows, right, classes; None
                           where there are none
    accuracy               of the test
    state_hash             the same on every device in exact mode, and as the command's
    folder                 where the run's files are
    """

    def __init__(self, outcome: dict[str, Any], history: History, folder: str, owner: Any, device: Any) -> None:
        self.history, self._chosen = history, Chosen(device)
        self.generations: int = outcome["generations"]
        self.resumed_from: int = outcome["resumed_from"]
        self.test: dict[str, Any] | None = outcome.get("test")
        self.held_out: dict[str, Any] | None = outcome.get("held_out")
        self.accuracy: float | None = None if self.test is None else self.test["accuracy"]
        self.state_hash: str = outcome["state_hash"]
        self.seconds: float = outcome["seconds"]
        self.training_rows: int = outcome["training_rows"]
        self.devices: list[str] = outcome["devices"]
        self.folder = folder
        self.model = Model(os.path.join(folder, "model.safetensors"))
        self.model._owner = self._owner = owner

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Copies the run's files to a folder, which must not exist yet; the command reads them, too."""
        shutil.copytree(self.folder, os.fspath(folder))

    def report(self, out: str | os.PathLike[str] = "report.html") -> dict[str, Any]:
        """A page about this run, as `yolk.report` writes it."""
        return report(self, out)

    def plot(self, file: str | os.PathLike[str] | None = None) -> str:
        """The loss's negative against generations as SVG; written to `file` where one is given."""
        return plotted(self._repr_svg_(), file)

    def _repr_svg_(self) -> str:
        return self.history.svg(self.model.data)

    def __reduce__(self) -> Any:
        raise TypeError("A yolk.LearnedRun cannot be pickled, as it owns files. Save it (run.save), or its model.")

    def __repr__(self) -> str:
        judged = "" if self.accuracy is None else f", test accuracy {100 * self.accuracy:.2f} %"
        return f"<yolk.LearnedRun of {self.model.data}: {self.generations} generations, {self.seconds:.1f} s{judged}>"


def _labels(y: Any) -> list[str]:
    """As a file would have them: whole numbers without a point."""
    if not hasattr(y, "__iter__"):
        raise BadInput(f"y is {y!r}; a label for each row is needed.")
    return [str(int(each)) if isinstance(each, (float, np.floating)) and float(each).is_integer() else str(each)
            for each in (y.tolist() if isinstance(y, np.ndarray) else y)]


def _digits() -> str:
    """Of the scikit-learn that this interpreter has; it is not imported."""
    spec = importlib.util.find_spec("sklearn")
    found = "" if spec is None or spec.origin is None else os.path.join(
        os.path.dirname(spec.origin), "datasets", "data", "digits.csv.gz")
    return found if os.path.exists(found) else "digits"


def read_data(source: str | os.PathLike[str], *, label: str = "", labels: str | os.PathLike[str] = "",
              header: bool | None = None, has_labels: bool = True) -> tuple[np.ndarray, list[str]]:
    """The rows of a data set as (x, y): float32 [rows, ...], and a text for each row.

    source      "digits", "fashion-mnist", a .csv, .npy, .npz or IDX file (or .gz), or a folder of images
    label       column or array of the labels; "": the last column
    labels      a file of labels, beside a .npy or an IDX file
    header      whether a CSV file begins with names; None: if its first line has no number
    has_labels  False: all columns are inputs, and y is empty
    """
    source = _digits() if source == "digits" else os.fspath(source)
    return _core.read_data(source, label, os.fspath(labels), header, has_labels)


def is_learned(task: Any, data: Any) -> bool:
    """Whether a run is over a data set."""
    if data is not None:
        return True
    if not isinstance(task, (str, os.PathLike)) or "\n" in os.fspath(task):
        return False
    name = os.fspath(task)
    environments = {info["name"] for info in _core.environments()}
    return name.endswith(".toml") or (name not in environments and not name.endswith(".glsl")
                                      and _core.is_data_source(name))


def learn(task: Any, data: Any, settings: dict[str, Any], sets: Any, out: str | os.PathLike[str] | None, resume: bool,
          audit: float, device: Any, tuning: bool, on_generation: Callable[[dict[str, Any]], Any] | None,
          line: Any) -> LearnedRun:
    """`settings`: those that are given, by their names in yolk.train; `sets`: by those in yolk.toml."""
    inputs, labels, file, source = None, [], "", ""
    if data is not None:
        if not isinstance(data, (tuple, list)) or len(data) != 2:
            raise BadInput("data is (x, y): rows of inputs, and a label for each.")
        inputs, labels = as_float32(data[0], "x", truths=True), _labels(data[1])
    elif os.fspath(task).endswith(".toml"):
        file = os.fspath(task)
    else:
        source = _digits() if task == "digits" else os.fspath(task)
    owner = None
    if out is None and not file:
        if resume:
            raise BadInput("resume=True needs `out`, the folder of the run to go on with.")
        owner = Folder("yolk-run-")
        out = owner.name
    given = [(_NAMES.get(key, key), json.dumps(value, default=str)) for key, value in settings.items()]
    if out is not None:
        given.append(("out", json.dumps(os.fspath(out))))
    given += [(key, json.dumps(value, default=str)) for key, value in dict(sets or {}).items()]
    history = History()

    def tell(report: dict[str, Any]) -> Any:
        del history[report["generation"] - (history[0]["generation"] if history else report["generation"]):]
        history.append(report)
        line.show_loss(report)
        return None if on_generation is None else on_generation(report)

    try:
        outcome = _core.learn(file, source, inputs, labels, given, resume, audit, device, tuning, tell)
    finally:
        line.finish()
    if not outcome["model"]:
        raise BadInput("The run has no output folder, so that there is no model; give `out`.")
    return LearnedRun(outcome, history, os.path.dirname(outcome["model"]), owner, device)
