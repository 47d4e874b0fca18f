# SPDX-License-Identifier: Apache-2.0
"""The two ways in which a system runs: as one traced graph, or in Python on the host."""

from __future__ import annotations

import asyncio
import builtins
import inspect
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from .._evolution import Evolution
from .._system import System
from ..errors import BadInput, Error, Untraceable
from ._functions import Example, HyperFunction, current
from ._tensor import Tensor, is_traced, raw, wrapped


def _float(x: Any = 0.0) -> Any:
    return Tensor(x.value, number=True) if isinstance(x, Tensor) and is_traced(x.value) and x.numel() == 1 else builtins.float(x)


def traced_run(run: Any) -> Any:
    """run(), in whose body float() of a traced value stays traced: what is done with it becomes equations, or is refused."""
    function = getattr(run, "__func__", run)
    if "float" not in function.__code__.co_names or "float" in function.__globals__:
        return run
    made = types.FunctionType(function.__code__, {**function.__globals__, "float": _float}, function.__name__,
                              function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return types.MethodType(made, run.__self__) if inspect.ismethod(run) else made


class TracedProgram:
    """A graph of the system's hyperfunctions: those that can be traced on the device, the others called from it."""

    def __init__(self, owner: Any, example: Example) -> None:
        self.owner = owner
        self.kinds: dict[str, str] = {}
        self.reasons: dict[str, str] = {}
        self.functions: dict[tuple[str, tuple[str, ...]], Any] = {}
        self.number = False
        self.failed: HyperFunction | None = None
        while True:
            self.system = self._system(list(example.inputs))
            try:
                first = self.graph(example)
                # What differs from run to run is no equation: a clock, random numbers, a call of something outside.
                if "host" not in self.kinds.values() and self.graph(example) != first:
                    raise Untraceable("its equations differ from run to run; does it draw random numbers?")
                return
            except Exception as reason:
                failed = self.failed
                if failed is None or self.kinds.get(failed.name) == "host":
                    raise
                self.kinds[failed.name], self.reasons[failed.name] = "host", _first_line(reason)

    def _system(self, names: list[str]) -> System:
        self.functions.clear()
        self.failed = None
        run = traced_run(self.owner.run)

        def program(**inputs: Any) -> Any:
            async def within() -> Any:
                current.set(self)
                return await run(**{name: Tensor(one) for name, one in inputs.items()})

            result = asyncio.run(within())
            self.number = isinstance(result, Tensor) and result.number
            return _traced_result(result)

        kinds = inspect.Parameter.KEYWORD_ONLY
        program.__signature__ = inspect.Signature([inspect.Parameter(one, kinds) for one in names])  # type: ignore[attr-defined]
        return System(program, name=type(self.owner).__name__, seed=self.owner.seed)

    async def _call(self, function: HyperFunction, operands: dict[str, Any]) -> Any:
        self.owner._register(function)
        names = list(operands)
        key = (function.name, tuple(names))
        if key not in self.functions:
            kind = self.kinds.setdefault(function.name, "traced")
            self.functions[key] = function.of_library(names, kind, self.owner.state[function.name])
        result = Tensor(self.functions[key](*(raw(one) for one in operands.values())))
        result.number = function.returns_number()
        return result

    def graph(self, example: Example) -> str:
        return str(self.system.graph(_inputs(example)))

    def put(self, state: dict[str, Any]) -> None:
        for name in self.system.parameters:
            self.system.set(name, state[name])

    def taken(self) -> dict[str, Any]:
        """The values as they are now."""
        found = {}
        for name, values in self.system.parameters.items():
            found[name] = np.array(list(values.values()) if isinstance(values, dict) else values, dtype=np.float32).reshape(
                np.shape(self.owner.state[name]))
        return found

    def _metric(self, examples: Sequence[Example], metric: Any) -> Any:
        expected = [one.expected for one in examples]

        def score(predictions: list[Any]) -> float:
            shown = [float(np.asarray(one).reshape(-1)[0]) if self.number else wrapped(one) for one in predictions]
            return float(metric(shown, expected))

        return _core.make_metric_of_all(score, getattr(metric, "__name__", "metric"))

    def evaluate(self, examples: Sequence[Example], metric: Any) -> float:
        return float(self.system.evaluate(_pairs(examples), self._metric(examples, metric)).reward)

    def evaluate_population(self, candidates: list[dict[str, Any]], examples: Sequence[Example], metric: Any) -> list[float]:
        given = [{name: raw(values) for name, values in one.items() if name in self.system.parameters} for one in candidates]
        found = self.system.evaluate_population(given, _pairs(examples), self._metric(examples, metric))
        for error in found.errors:
            if error is not None:
                raise BadInput(error)
        return [float(one) for one in found.rewards]

    def optimize(self, examples: Sequence[Example], metric: Any, settings: dict[str, Any]) -> Any:
        return self.system.optimize(_pairs(examples), self._metric(examples, metric), progress=False,
                                    on_generation=lambda report: not self.owner.ended.is_set(), **settings)


class HostProgram:
    """run() as it is, for each candidate and example; all that are under way wait for each other's answers in one loop."""

    def __init__(self, owner: Any, reason: str) -> None:
        self.owner, self.reason = owner, reason
        self.state: dict[str, Any] = {}

    async def _one(self, state: dict[str, Any], example: Example) -> Any:
        current.set(_HostCalls(self.owner, state))
        return await self.owner.run(**example.inputs)

    async def _scores(self, states: list[dict[str, Any]], examples: Sequence[Example], metric: Any) -> list[float]:
        tasks = [asyncio.create_task(self._one(state, one)) for state in states for one in examples]
        all_of_them = asyncio.gather(*tasks)
        while not all_of_them.done():
            await asyncio.wait([all_of_them], timeout=0.1)
            if self.owner.ended.is_set():
                all_of_them.cancel()
        try:
            found = all_of_them.result()
        except BaseException:
            for task in tasks:
                task.cancel()
            raise
        expected = [one.expected for one in examples]
        rows = [found[i:i + len(examples)] for i in range(0, len(found), len(examples))]
        return [float(metric(list(row), expected)) for row in rows]

    def put(self, state: dict[str, Any]) -> None:
        self.state = dict(state)

    def taken(self) -> dict[str, Any]:
        return dict(self.state)

    def evaluate(self, examples: Sequence[Example], metric: Any) -> float:
        return asyncio.run(self._scores([self.owner.state], examples, metric))[0]

    def evaluate_population(self, candidates: list[dict[str, Any]], examples: Sequence[Example], metric: Any) -> list[float]:
        states = [{**self.owner.state, **{name: np.asarray(raw(v)) for name, v in one.items()}} for one in candidates]
        return asyncio.run(self._scores(states, examples, metric))

    def optimize(self, examples: Sequence[Example], metric: Any, settings: dict[str, Any]) -> Any:
        searched = {one.name: self.owner.state[one.name] for one in self.owner.hyperfunctions if one.optimize_hparams}
        steps = settings.pop("generations")
        ranks = [one.matrix_rank(settings["rank"]) for one in self.owner.hyperfunctions if one.optimize_hparams]
        run = Evolution(searched, maximize=True, **{**settings, "rank": max(ranks)})
        for _ in range(steps):
            members = [{**self.owner.state, **member} for member in run.ask()]
            run.tell(asyncio.run(self._scores(members, examples, metric)))
            if self.owner.ended.is_set():
                break
        self.state = {**self.owner.state, **run.parameters}
        return run


class _HostCalls:
    def __init__(self, owner: Any, state: dict[str, Any]) -> None:
        self.owner, self.state = owner, state

    async def _call(self, function: HyperFunction, operands: dict[str, Any]) -> Any:
        self.owner._register(function)
        values = self.state.get(function.name, self.owner.state[function.name])
        return await function.on_host(values, operands)


def program_of(owner: Any, example: Example) -> Any:
    """Traced where that can be, otherwise on the host."""
    try:
        return TracedProgram(owner, example)
    except Exception as reason:
        return HostProgram(owner, _first_line(reason))


def _first_line(reason: BaseException) -> str:
    words = str(reason).strip().splitlines()
    return (words[0] if isinstance(reason, Error) else f"{type(reason).__name__}: {words[0] if words else ''}")[:300]


def _traced_result(result: Any) -> Any:
    if isinstance(result, Tensor) and is_traced(result.value):
        return result.value
    if isinstance(result, (tuple, list)) and all(isinstance(one, Tensor) for one in result):
        return tuple(one.value for one in result)
    raise Untraceable(f"run() returned {result!r:.80}, which is not made of what its hyperfunctions gave.")


def _inputs(example: Example) -> dict[str, Any]:
    return {name: raw(value) for name, value in example.inputs.items()}


def _pairs(examples: Sequence[Example]) -> list[tuple[dict[str, Any], Any]]:
    return [(_inputs(one), 0.0) for one in examples]
