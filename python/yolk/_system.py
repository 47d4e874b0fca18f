# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import dataclasses
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, overload

from . import _core
from ._coroutines import finished
from ._graphs.custom import Calls, Rules, called, packed as _packed
from ._devices import Chosen, OnDevice, request_of
from ._graphs.graph import Graph, from_raw
from ._history import History
from ._parameters import Fields, described
from ._prompts import PromptSearch
from ._signatures import by_parameters
from .errors import BadInput

Example = tuple[dict[str, Any], Any]  # inputs by name, what is expected


class Hyperfunction(Rules):
    """A function with parameters that can be tuned. Call it within a system's function; `alone` calls it by itself."""

    def __init__(self, function: _core.Function, body: Callable[..., Any], kind: str) -> None:
        self._function = function
        self.__name__ = function.name
        self.__doc__ = body.__doc__
        self.__wrapped__ = body
        self.kind = kind  # "tensor" or "host"
        signature = inspect.signature(body)
        operands = list(signature.parameters.values())[len(signature.parameters) - function.arity:]
        self.__signature__ = signature.replace(parameters=operands)

    @property
    def name(self) -> str:
        return self._function.name

    @property
    def first(self) -> Any:
        """The parameters that it begins with: an array, a text, or None."""
        return self._function.first

    def __call__(self, *operands: Any) -> Any:
        called(self)
        return self._function.call(*operands)

    def alone(self, parameters: Any, *operands: Any) -> Any:
        """Its value for these parameters (an array, a text, the fields' numbers in order), without a system."""
        return self._function.call_with(parameters, *operands)

    def __repr__(self) -> str:
        return f"<yolk.Hyperfunction {self.name} ({self.kind})>"


def _arity(body: Callable[..., Any], has_parameters: bool) -> int:
    kinds = inspect.Parameter
    names = inspect.signature(body).parameters.values()
    if any(one.kind in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD, kinds.KEYWORD_ONLY) for one in names):
        raise BadInput(f"{body.__name__}() takes a variable number of arguments, or some by name only; give each by position.")
    return len(names) - (1 if has_parameters else 0)


def _make(body: Callable[..., Any], parameters: Any, name: str | None, optimize: bool, host: dict[str, Any] | None,
          stand_in: Any) -> Hyperfunction:
    told = described(parameters)
    has_parameters = told["kind"] != "none"
    arity = _arity(body, has_parameters)
    if arity < 0:
        raise BadInput(f"{body.__name__}() takes no argument; the first one has to be its parameters.")
    if host is None:
        if inspect.iscoroutinefunction(body):
            raise BadInput(f"{body.__name__}() is a coroutine: make it a yolk.host_function.")
        run: Callable[..., Any] = _tensor_body(body, told)
    else:
        run = _host_body(body, parameters, told)
    function = _core.Function.make(name or body.__name__, told, run, arity, optimize, host, stand_in)
    return Hyperfunction(function, body, "tensor" if host is None else "host")


def _tensor_body(body: Callable[..., Any], told: dict[str, Any]) -> Callable[..., Any]:
    if told["kind"] != "fields":
        return lambda *arguments: _packed(body(*arguments))
    names = [field["name"] for field in told["fields"]]
    return lambda values, *operands: _packed(body(Fields(names, values), *operands))


def _field_values(told: dict[str, Any], numbers: Sequence[float]) -> list[Any]:
    values: list[Any] = []
    for field, number in zip(told["fields"], numbers):
        kind = field["kind"]
        values.append(field["choices"][round(number)] if kind == "choice" else bool(round(number)) if kind == "boolean"
                      else round(number) if kind == "integer" else number)
    return values


def _host_body(body: Callable[..., Any], parameters: Any, told: dict[str, Any]) -> Callable[..., Any]:
    import numpy as np

    def run(numbers: list[float], text: str, operands: list[Any]) -> Any:
        leading: list[Any] = []
        if told["kind"] == "fields":
            kind = parameters if isinstance(parameters, type) else type(parameters)
            leading = [kind(*_field_values(told, numbers))]
        elif told["kind"] == "weights":
            leading = [np.array(numbers, dtype=np.float32).reshape(told["shape"])]
        elif told["kind"] == "text":
            leading = [text]
        result = body(*leading, *operands)
        return finished(result)

    return run


@by_parameters
def hyperfunction(parameters: Any = None, *, name: str | None = None, optimize: bool = True) -> Any:
    """Makes a hyperfunction of a function over traced values: its body becomes equations, which run on the device.

        @yolk.hyperfunction(yolk.Matrix(8, 4))
        def layer(weight, x):
            return yolk.tanh(weight @ x)

    parameters  yolk.Matrix, yolk.Vector, yolk.Text or a text, a dataclass whose fields are yolk.knob; None: none
    name        of its group of parameters; the function's name where it is not given
    optimize    whether searches may change its parameters

    The body takes the parameters first (a dataclass by its fields' names), then the operands: operators, `@`, slices,
    and the functions of yolk.operations, by NumPy's names. What cannot be traced (`if` on a value, str() of it) raises
    yolk.Untraceable, which says what to use.
    """
    if callable(parameters) and not isinstance(parameters, type):
        return _make(parameters, None, name, optimize, None, None)
    return lambda body: _make(body, parameters, name, optimize, None, None)


@by_parameters
def host_function(parameters: Any = None, *, name: str | None = None, optimize: bool = True, concurrency: int = 0,
                  timeout: float = 0.0, retries: int = 0, backoff: float = 0.1, stand_in: Any = None) -> Any:
    """Makes a hyperfunction of any Python function or coroutine: it runs on the host, calls of it at the same time.

    Its body gets plain values (arrays as NumPy's), and may call what it likes: a model, a tool, a simulator.
    concurrency  calls at once; 0: as many as there are threads
    timeout      of a call, in seconds; 0: none. retries, after `backoff` seconds, which double
    stand_in     what a dry run takes for its result
    """
    host = {"concurrency": concurrency, "timeout": timeout, "retries": retries, "backoff": backoff}
    if callable(parameters) and not isinstance(parameters, type):
        return _make(parameters, None, name, optimize, host, stand_in)
    return lambda body: _make(body, parameters, name, optimize, host, stand_in)


@overload
def metric(function: Callable[[Any, Any], Any], *, traced: bool = False) -> _core.Metric: ...


@overload
def metric(function: None = None, *, traced: bool = False) -> Callable[[Callable[[Any, Any], Any]], _core.Metric]: ...


def metric(function: Callable[[Any, Any], Any] | None = None, *, traced: bool = False) -> Any:
    """Makes a metric of a function of (prediction, expected): one number, higher is better.

    traced  the function takes traced values; it is scored on the device and has a derivative
    """
    if function is None:
        return lambda given: metric(given, traced=traced)
    return _core.make_metric(function, getattr(function, "__name__", "metric"), traced)


class Outcome(dict[str, Any]):
    """What a search came to: start_reward, best_reward, generations, stopped_by, cost, ...; also as attributes."""

    history: History
    steps: History

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(name)


class System(PromptSearch, OnDevice):
    """A program over hyperfunctions: run it, score it, look at its graph, make it better.

        system = yolk.System(lambda x: output(hidden(x)))
        system.optimize([({"x": [0, 1]}, 1.0), ...], yolk.metrics.numeric_distance())
    """

    def __init__(self, function: Callable[..., Any], *, name: str | None = None, seed: int = 1, device: Any = None) -> None:
        """function: takes the inputs by their names, traced; returns a traced value, or a dict or tuple of several."""
        names = inspect.signature(function).parameters
        given = name or str(getattr(function, "__name__", "system"))
        self.name = "system" if given == "<lambda>" else given
        self._raw = _core.RawSystem(self.name, lambda inputs: _packed(function(**{key: inputs[key] for key in names})), seed)
        self._inputs, self._chosen = list(names), Chosen(device)
        if device is not None:
            self._raw.use_device(request_of(device))

    def __call__(self, **inputs: Any) -> Any:
        """The answer for these inputs."""
        unknown = inputs.keys() - self._inputs
        if unknown:
            raise BadInput(f"There is no input {', '.join(sorted(unknown))}; {self.name} takes "
                           f"{', '.join(self._inputs) or 'none'}.")
        return self._raw.call(inputs)

    def evaluate(self, examples: Sequence[Any], metric: Any) -> Outcome:
        """reward, per_example and predictions of examples, pairs of (inputs by name, what is expected)."""
        return Outcome(self._raw.evaluate(examples, _metric(metric)))

    def evaluate_population(self, candidates: Sequence[dict[str, Any]], examples: Sequence[Any], metric: Any) -> Outcome:
        """The rewards of candidates (parameters by a hyperfunction's name), all at once on the device."""
        return Outcome(self._raw.evaluate_population(candidates, examples, _metric(metric)))

    def optimize(self, examples: Sequence[Any], metric: Any, *, generations: int = 50, population: int = 32,
                 sigma: float = 0.05, learning_rate: float = 0.1, seed: int = 1, gradient: dict[str, Any] | str | None = None,
                 held_out: Sequence[Any] | None = None, on_generation: Any = None, progress: bool | None = None,
                 **settings: Any) -> Outcome:
        """Makes the system better; its parameters become the best found.

        By EGGROLL, over numbers, vectors and matrices together; with `gradient` ("adam", "sgd", "momentum", "kfac", or a
        dict with "rule", "learning_rate", ...) by derivatives. Further settings are those of `yolk.Evolution`, and
        examples_per_generation, samples_per_example, metric_budget, log, run_log, checkpoint, checkpoint_every, resume,
        dry_run.
        """
        history = History()
        shown = sys.stderr.isatty() if progress is None else progress

        def tell(report: dict[str, Any]) -> Any:
            history.append(report)
            if shown:
                print(f"\rgeneration {len(history)}/{generations}, mean {report['mean']:.4g}, best {report['best']:.4g} ",
                      end="", file=sys.stderr, flush=True)
            return None if on_generation is None else on_generation(report)

        given = {"generations": generations, "population": population, "sigma": sigma, "learning_rate": learning_rate,
                 "seed": seed, **settings}
        rule = {"rule": gradient} if isinstance(gradient, str) else gradient
        try:
            outcome = Outcome(self._raw.optimize(examples, _metric(metric), given, held_out, rule, None, tell))
        finally:
            if shown and history:
                print(file=sys.stderr)
        outcome.history = history
        return outcome

    def ablate(self, examples: Sequence[Any], metric: Any, how: str = "zero", seed: int = 1) -> list[dict[str, Any]]:
        """What each hyperfunction's parameters are worth: "zero", "reset", "freeze" or "perturb"."""
        return self._raw.ablate(examples, _metric(metric), how, seed)

    @property
    def parameters(self) -> dict[str, Any]:
        """All parameters by the hyperfunctions' names: arrays, texts, dicts of fields; copies. They register when called."""
        return self._raw.parameters()

    def set(self, name: str, value: Any) -> None:
        """Puts a value in place of a hyperfunction's parameters: an array, a text, the fields' numbers in order."""
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            value = list(dataclasses.astuple(value))
        self._raw.set_parameter(name, value)

    def add(self, function: Hyperfunction) -> None:
        """Registers a hyperfunction before it is called."""
        self._raw.add(function._function)

    def graph(self, inputs: dict[str, Any]) -> Graph:
        """The equations for these inputs, with the parameters as they are: to print, to draw, to transform, to call."""
        with Calls() as calls:
            raw, values = self._raw.graph(inputs)
        named = any(name for name, *_ in raw.outputs())
        return from_raw(raw, values, calls, "dict" if named else "one")

    def save(self, file: str | os.PathLike[str]) -> None:
        """All parameters as one safetensors file."""
        self._raw.save(os.fspath(file))

    def load(self, file: str | os.PathLike[str]) -> None:
        """Puts a file's values into the parameters, which must be registered: add(), or evaluate first."""
        self._raw.load(os.fspath(file))

    def __reduce__(self) -> Any:
        raise TypeError("A yolk.System cannot be pickled. Save its parameters (system.save).")

    def __repr__(self) -> str:
        return f"<yolk.System {self.name}>"


def _metric(given: Any) -> _core.Metric:
    return given if isinstance(given, _core.Metric) else metric(given)
