# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._coroutines import beside
from .custom import Calls, Rules
from ..errors import BadInput

Place = Any  # a position among the flat inputs or outputs, or a list of places: what a batch of texts is


class Port(NamedTuple):
    """An input, an output or a parameter of a graph."""

    name: str
    type: str


class Graph:
    """A function as equations: call it with values, look at it, transform it (`yolk.pullback`, `yolk.batch`, ...).

    `yolk.trace` makes one of a function, `system.graph` of a system. A graph does not change; threads may share it. It
    runs on the host, in the caller's thread. Calls raise BadInput for values of another type, shape or number than those
    of its inputs, and what its host functions raise.
    """

    def __init__(self, raw: _core.RawGraph, inputs: list[tuple[str, Place]], outputs: list[tuple[str, Place]], kind: str,
                 values: Mapping[str, Any], rules: Mapping[str, Rules], memo: _core.Memo | None = None) -> None:
        """Made by trace(), system.graph() and transforms. kind of the outputs: "one", "tuple" or "dict"."""
        self._raw, self._inputs, self._outputs, self._kind = raw, inputs, outputs, kind
        names = {name for name, *_ in raw.parameters()}
        self._values = {name: value for name, value in values.items() if name in names}
        self._rules = dict(rules)
        self.memo = memo

    @property
    def name(self) -> str:
        return self._raw.name

    @property
    def inputs(self) -> list[Port]:
        """Names and types, in the order of the call."""
        types = [type for _, type, *_ in self._raw.inputs()]
        return [Port(name, _type_at(types, place)) for name, place in self._inputs]

    @property
    def outputs(self) -> list[Port]:
        types = [type for _, type, *_ in self._raw.outputs()]
        return [Port(name, _type_at(types, place)) for name, place in self._outputs]

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that calls run with, by the hyperfunctions' names; copies."""
        return {name: value.copy() if hasattr(value, "copy") else value for name, value in self._values.items()}

    def with_parameters(self, values: Mapping[str, Any]) -> Graph:
        """The graph with other parameters: arrays, texts, dataclasses of numbers, by the hyperfunctions' names."""
        known = [name for name, *_ in self._raw.parameters()]
        if not isinstance(values, Mapping):
            raise BadInput(f"with_parameters: {values!r}; a dict of values by the hyperfunctions' names is needed.")
        for name in values:
            if name not in known:
                raise BadInput(f"{self._called()} has no parameter '{name}'; it has {', '.join(known) or 'none'}.")
        plain = {name: list(dataclasses.astuple(value)) if dataclasses.is_dataclass(value) and not isinstance(value, type)
                 else value for name, value in values.items()}
        return self._like(self._raw, values={**self._values, **plain})

    @property
    def equations(self) -> list[_core.Equation]:
        return self._raw.equations()

    def __len__(self) -> int:
        """How many equations it has, without those of bodies."""
        return len(self._raw)

    def __call__(self, *values: Any, **named: Any) -> Any:
        """The outputs for these inputs: one value, or a tuple, or a dict where the function returned a dict."""
        return self._nested(self._raw.call(self._flat(values, named), self._parameter_values(), self.memo, 0))

    async def call_async(self, *values: Any, threads: int = 64, **named: Any) -> Any:
        """The same, with host functions that do not need each other at the same time, on up to `threads` threads."""
        flat, parameters = self._flat(values, named), self._parameter_values()
        if not isinstance(threads, int) or threads < 1:
            raise BadInput(f"threads is {threads!r}; a whole number from 1 on is needed.")
        return self._nested(await beside(self._raw.call, flat, parameters, None, threads))

    def walk(self, *values: Any, **named: Any) -> Walk:
        """Runs it step by step: an iterator over (equation, its results)."""
        return Walk(self, self._raw.walk(self._flat(values, named), self._parameter_values()))

    def stages(self) -> list[int]:
        """The stage of each equation; equations of one stage do not need each other."""
        return self._raw.stages()

    def signature(self) -> str:
        """Equal for graphs of equal structure: operations, attributes, wiring, types; not the values of literals."""
        return self._raw.signature()

    def to_text(self) -> str:
        """One line per equation: results with their types, operation, operands, attributes, stage, line."""
        return self._raw.shown("text")

    def to_dot(self) -> str:
        """For Graphviz: `dot -Tsvg`."""
        return self._raw.shown("dot")

    def to_svg(self) -> str:
        """An SVG file that stands alone: a column per stage."""
        return self._raw.shown("svg")

    __str__ = to_text

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def __repr__(self) -> str:
        ins = ", ".join(f"{name}: {type}" for name, type in self.inputs)
        outs = ", ".join(type if not name else f"{name}: {type}" for name, type in self.outputs)
        return f"<yolk.Graph {self.name} ({ins}) -> {outs}, {len(self)} equations>"

    def __deepcopy__(self, memo: Any) -> Graph:
        return self  # it does not change

    def __reduce__(self) -> Any:
        raise TypeError("A yolk.Graph cannot be pickled. Trace the function again, or keep str(graph).")

    def _called(self) -> str:
        return f"The graph '{self.name}'"

    def _like(self, raw: _core.RawGraph, **changes: Any) -> Graph:
        """A graph of other equations; what is not given is this one's."""
        return Graph(raw, changes.get("inputs", self._inputs), changes.get("outputs", self._outputs),
                     changes.get("kind", self._kind), changes.get("values", self._values), self._rules, changes.get("memo"))

    def _parameter_values(self) -> list[Any]:
        names = [name for name, *_ in self._raw.parameters()]
        for name in names:
            if name not in self._values:
                raise BadInput(f"The parameter '{name}' of {self._called().lower()} has no value; give it one: "
                               f"graph.with_parameters({{'{name}': ...}}).")
        return [self._values[name] for name in names]

    def _flat(self, values: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        names = [name for name, _ in self._inputs]
        given = dict(zip(names, values))
        if len(values) > len(names):
            raise BadInput(f"{self._called()} takes {_listed(self.inputs)}; {len(values)} values were given.")
        for name, value in named.items():
            if name not in names or name in given:
                why = "twice" if name in given else "which is none of them"
                raise BadInput(f"{self._called()} takes {_listed(self.inputs)}; '{name}' was given, {why}."
                               if why != "twice" else f"{self._called()} was given '{name}' twice.")
            given[name] = value
        missing = [name for name in names if name not in given]
        if missing:
            raise BadInput(f"{self._called()} takes {_listed(self.inputs)}; {', '.join(missing)} "
                           f"{'is' if len(missing) == 1 else 'are'} missing.")
        flat: list[Any] = [None] * len(self._raw.inputs())
        for name, place in self._inputs:
            _put(flat, place, given[name], f"Input '{name}'")
        return flat

    def _nested(self, flat: list[Any]) -> Any:
        values = [(name, _take(flat, place)) for name, place in self._outputs]
        if self._kind == "one":
            return values[0][1]
        return dict(values) if self._kind == "dict" else tuple(value for _, value in values)


class Walk:
    """A run of a graph, one equation after the other."""

    def __init__(self, graph: Graph, raw: _core.RawWalk) -> None:
        self._graph, self._raw = graph, raw

    @property
    def next(self) -> _core.Equation | None:
        """The equation that comes next; None at the end."""
        return self._raw.next

    def operands(self) -> list[Any]:
        """What the next equation reads."""
        return self._raw.operands()

    def step(self) -> list[Any]:
        """Runs the next equation; its results."""
        return self._raw.step()

    def skip(self, results: list[Any]) -> None:
        """Puts these in place of the next equation's results, without running it."""
        self._raw.skip(results)

    def outputs(self) -> Any:
        """As a call gives them; BadInput before the end."""
        return self._graph._nested(self._raw.outputs())

    def __iter__(self) -> Iterator[tuple[_core.Equation, list[Any]]]:
        while (equation := self.next) is not None:
            yield equation, self.step()


def trace(function: Callable[..., Any], *values: Any, **named: Any) -> Graph:
    """The graph of a function of traced values. The example values say which types and shapes its inputs have.

        graph = yolk.trace(lambda x, w: yolk.tanh(w @ x), numpy.zeros(3), numpy.zeros((2, 3)))
        graph([1.0, 2.0, 3.0], weights)

    The function may call hyperfunctions (their first values become `graph.parameters`), host functions, and functions
    of `yolk.custom`; arguments with a default that are not given keep it. Host functions are not called: each has its
    `stand_in` for a result, or else a number. It returns a traced value, or a tuple, list or dict of them. Raises BadInput for what is no such function, and what the function raises.
    """
    if not callable(function) or inspect.iscoroutinefunction(function):
        raise BadInput(f"trace: {function!r} is no function of traced values.")
    bound = _bound(function, values, named)
    names = list(bound.arguments)
    label = getattr(function, "__name__", "graph")
    label = "graph" if label == "<lambda>" else label
    outputs: list[str] = []
    kind = "one"

    def run(traced: list[Any]) -> list[Any]:
        nonlocal outputs, kind
        bound.arguments.update(zip(names, traced))
        result = function(*bound.args, **bound.kwargs)
        if result is None:
            raise BadInput(f"trace: {label}() returned None; a traced value, or a tuple, list or dict of them, is needed.")
        if isinstance(result, dict):
            outputs, kind = [str(name) for name in result], "dict"
            return list(result.values())
        if isinstance(result, (tuple, list)):
            outputs, kind = [""] * len(result), "tuple"
            return list(result)
        outputs = [""]
        return [result]

    with Calls() as calls:
        raw = _core.RawGraph.trace(label, names, list(bound.arguments.values()), run)
    if not outputs:
        raise BadInput(f"trace: {label}() returned an empty {kind}; at least one output is needed.")
    if kind == "dict":
        raw = raw.named_outputs(outputs)
    return from_raw(raw, {name: one.first for name, one in calls.items() if getattr(one, "first", None) is not None},
                    calls, kind)


def _ufunc_signature(function: np.ufunc) -> inspect.Signature:
    """Those of NumPy 1 have none."""
    names = [f"x{i + 1}" for i in range(function.nin)] if function.nin > 1 else ["x"]
    return inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names])


def _bound(function: Callable[..., Any], values: tuple[Any, ...], named: dict[str, Any]) -> inspect.BoundArguments:
    try:
        signature = _ufunc_signature(function) if isinstance(function, np.ufunc) else inspect.signature(function)
    except (TypeError, ValueError) as reason:
        raise BadInput(f"trace: {function!r} does not say what arguments it takes; put it into a lambda.") from reason
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if any(one.kind in variable for one in signature.parameters.values()):
        raise BadInput(f"trace: {function!r} takes a variable number of arguments; put it into a lambda that takes each by "
                       "its name. A yolk.System's graph is system.graph(inputs).")
    try:
        return signature.bind(*values, **named)
    except TypeError as reason:
        raise BadInput(f"trace: {reason}; an example value for each argument is needed.") from None


def from_raw(raw: _core.RawGraph, values: Mapping[str, Any], calls: Mapping[str, Any], kind: str) -> Graph:
    inputs = [(name, index) for index, (name, *_) in enumerate(raw.inputs())]
    outputs = [(name, index) for index, (name, *_) in enumerate(raw.outputs())]
    rules = {name: one for name, one in calls.items() if isinstance(one, Rules)}
    return Graph(raw, inputs, outputs, kind, values, rules)


def _listed(ports: list[Port]) -> str:
    if not ports:
        return "no inputs"
    return ("1 input" if len(ports) == 1 else f"{len(ports)} inputs") + f" ({', '.join(f'{n}: {t}' for n, t in ports)})"


def _type_at(types: list[str], place: Place) -> str:
    return types[place] if isinstance(place, int) else f"list of {len(place)} x {_type_at(types, place[0])}"


def _put(flat: list[Any], place: Place, value: Any, what: str) -> None:
    if isinstance(place, int):
        flat[place] = value
        return
    if not isinstance(value, (list, tuple)) or len(value) != len(place):
        given = f"{len(value)} were given" if isinstance(value, (list, tuple)) else f"{value!r} was given"
        raise BadInput(f"{what} is a batch; a list of {len(place)} is needed, and {given}.")
    for inner, one in zip(place, value):
        _put(flat, inner, one, what)


def _take(flat: list[Any], place: Place) -> Any:
    return flat[place] if isinstance(place, int) else [_take(flat, inner) for inner in place]
