# SPDX-License-Identifier: Apache-2.0
"""hyperfunc's names and call forms, run by Yolk.

    from yolk.compat.hyperfunc import Example, HyperSystem, LMParam, ESHybridSystemOptimizer, hyperfunction

A system is traced where that can be: its hyperfunctions become equations, and a population is evaluated on the device.
Otherwise it runs in Python. `system.placement` says which, and why. `torch` here has torch's names for what is traced.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._coroutines import beside
from ..errors import BadInput, Unsupported
from . import _torch as torch
from ._functions import Example, HyperFunction, LMParam, LoRAWeight, current, hyperfunction
from ._programs import HostProgram, _HostCalls, program_of
from ._tensor import Tensor, combine, raw, split

__all__ = ["ESHybridSystemOptimizer", "Example", "HyperFunction", "HyperSystem", "LMParam", "LoRAWeight",
           "NoOpPromptOptimizer", "NoOpSystemOptimizer", "Tensor", "combine", "hyperfunction", "split", "torch"]


class NoOpPromptOptimizer:
    """Leaves prompts as they are."""


class NoOpSystemOptimizer:
    """Leaves numbers as they are."""


@dataclasses.dataclass
class ESHybridSystemOptimizer:
    """EGGROLL: `steps` generations of `pop_size` members, with noise of size `sigma` and steps of `lr`."""

    steps: int = 50
    pop_size: int = 32
    sigma: float = 0.05
    lr: float = 0.1
    rank: int = 4
    normalize_fitness: bool = True
    antithetic: bool = True
    seed: int = 1

    def __post_init__(self) -> None:
        if self.antithetic and self.pop_size % 2:
            raise BadInput(f"pop_size is {self.pop_size}; it has to be even with antithetic=True.")
        if not self.normalize_fitness:
            raise Unsupported("normalize_fitness=False is not supported; scores are compared in pairs.")

    def settings(self) -> dict[str, Any]:
        # Scores of pairs are compared, in the same bits on any device; without pairs their ranks are.
        unpaired = {} if self.antithetic else {"fitness": "centred-rank"}
        return {**unpaired, "generations": self.steps, "population": self.pop_size, "sigma": self.sigma, "learning_rate": self.lr,
                "rank": self.rank, "antithetic": self.antithetic, "seed": self.seed}


class HyperSystem:
    """A program over hyperfunctions: write `async def run(self, ...)` in a class of your own."""

    state: dict[str, Any]

    def __init__(self, prompt_optimizer: Any = None, system_optimizer: Any = None, memory: Any = None, *, seed: int = 1) -> None:
        """seed: of first values that are drawn."""
        if memory is not None:
            raise Unsupported("memory is not supported; keep it in a host function of your own.")
        if prompt_optimizer is not None and not isinstance(prompt_optimizer, NoOpPromptOptimizer):
            raise Unsupported("A prompt_optimizer is not supported here; texts are searched by yolk.System.optimize_prompts.")
        self.system_optimizer = ESHybridSystemOptimizer() if system_optimizer is None else system_optimizer
        self.seed, self.state = seed, {}
        self._functions: dict[str, HyperFunction] = {}
        self._program: Any = None
        self.ended = threading.Event()

    async def run(self, *arguments: Any, **inputs: Any) -> Any:
        raise NotImplementedError("Write `async def run(self, ...)` in a class of your own.")

    def register_hyperfunction(self, function: HyperFunction, hp_init: Any = None) -> None:
        """Before it is called; hp_init: its first values, an array or an hp."""
        if not isinstance(function, HyperFunction):
            raise BadInput(f"{function!r} is no hyperfunction; decorate it with @hyperfunction(...).")
        self._register(function)
        if hp_init is not None:
            values = raw(hp_init.to_tensor() if hasattr(hp_init, "to_tensor") else hp_init)
            self.set_hp_state({function.name: values})
        self._program = None

    def _register(self, function: HyperFunction) -> None:
        known = self._functions.setdefault(function.name, function)
        if known is not function:
            raise BadInput(f"Two hyperfunctions of the system are called {function.name}; give them names of their own.")
        if function.name not in self.state:
            self.state[function.name] = function.first_values(self.seed)

    @property
    def hyperfunctions(self) -> list[HyperFunction]:
        return list(self._functions.values())

    @property
    def hp_dim(self) -> int:
        """Numbers that are optimized."""
        return sum(int(np.size(self.state[one.name])) for one in self.hyperfunctions if one.optimize_hparams)

    def get_hp_state(self) -> dict[str, Tensor]:
        """The values of what is optimized, by the hyperfunctions' names; copies."""
        return {one.name: Tensor(np.array(self.state[one.name])) for one in self.hyperfunctions if one.optimize_hparams}

    def set_hp_state(self, state: dict[str, Any]) -> None:
        for name, values in state.items():
            if name not in self._functions or self.state[name] is None:
                known = ", ".join(self._functions) or "none"
                raise BadInput(f"There is no hyperfunction '{name}' with an hp; there are {known}.")
            array, wanted = np.asarray(raw(values), dtype=np.float32), np.shape(self.state[name])
            if array.shape != wanted or not np.isfinite(array).all():
                raise BadInput(f"The values of '{name}' have the shape {array.shape}; finite ones of {wanted} are needed.")
            self.state[name] = array.copy()

    @property
    def placement(self) -> dict[str, str]:
        """What runs where, once it has been evaluated: run and each hyperfunction, "traced" or "host: why"."""
        if self._program is None:
            return {}
        if isinstance(self._program, HostProgram):
            return {"run": f"host: {self._program.reason}"}
        reasons = self._program.reasons
        return {"run": "traced", **{name: f"host: {reasons[name]}" if name in reasons else "traced"
                                    for name in self._program.kinds}}

    def _ready(self, examples: Any) -> list[Example]:
        given = list(examples)
        for one in given:
            if not isinstance(getattr(one, "inputs", None), dict):
                raise BadInput(f"{one!r} is no Example; Example(inputs, expected) is needed, inputs by name.")
        if self._program is None and given:
            self._program = program_of(self, given[0])
        return given

    async def _beside(self, work: Any, *arguments: Any) -> Any:
        """In a thread with an event loop of its own. Ctrl-C and cancelling end the work there, too."""
        self.ended.clear()
        return await beside(work, *arguments, end=self.ended.set)

    async def execute(self, *arguments: Any, **inputs: Any) -> Any:
        """What run() gives for these inputs, in Python."""
        token = current.set(_HostCalls(self, self.state))
        try:
            return await self.run(*arguments, **inputs)
        finally:
            current.reset(token)

    async def evaluate(self, examples: Sequence[Example], metric: Any) -> float:
        """metric(predictions, expected) of all examples; higher is better."""
        return await self._beside(self._evaluate, examples, metric)

    def _evaluate(self, examples: Any, metric: Any) -> float:
        given = self._ready(examples)
        if not given:
            raise BadInput("There are no examples; one is needed at least.")
        self._fill()
        return self._program.evaluate(given, metric)

    async def evaluate_population(self, candidates: Sequence[dict[str, Any]], examples: Sequence[Example], metric: Any,
                                  **_: Any) -> list[float]:
        """The scores of candidates, each values by the hyperfunctions' names; the system's own stay as they are."""
        return await self._beside(self._evaluate_population, list(candidates), examples, metric)

    def _evaluate_population(self, candidates: list[dict[str, Any]], examples: Any, metric: Any) -> list[float]:
        given = self._ready(examples)
        if not candidates:
            return []
        if not given:
            return [0.0] * len(candidates)
        self._fill()
        kept = dict(self.state)
        try:
            for one in candidates:
                self.set_hp_state(one)
        finally:
            self.state = kept
        return self._program.evaluate_population(candidates, given, metric)

    async def optimize(self, examples: Sequence[Example], metric: Any) -> Any:
        """Makes the hp of all hyperfunctions with optimize_hparams better, by the system's optimizer."""
        return await self._beside(self._optimize, examples, metric)

    def _optimize(self, examples: Any, metric: Any) -> Any:
        given = self._ready(examples)
        if isinstance(self.system_optimizer, NoOpSystemOptimizer):
            return None
        if not isinstance(self.system_optimizer, ESHybridSystemOptimizer):
            raise Unsupported(f"The system_optimizer {self.system_optimizer!r} is not supported; ESHybridSystemOptimizer is.")
        if not given:
            raise BadInput("There are no examples; one is needed at least.")
        self._fill()
        if self.hp_dim == 0:
            return None
        outcome = self._program.optimize(given, metric, self.system_optimizer.settings())
        self.state.update(self._program.taken())
        return outcome

    def _fill(self) -> None:
        self._program.put({name: values for name, values in self.state.items() if values is not None})

    def __repr__(self) -> str:
        where = ", ".join(f"{name}: {place}" for name, place in self.placement.items())
        return f"<{type(self).__name__} of yolk.compat.hyperfunc ({where or 'not run yet'})>"


def __getattr__(name: str) -> Any:
    instead = {"Memory": "a host function of your own", "llm_completion": "yolk.models.chat in a hyperfunction",
               "PromptLearningOptimizer": "yolk.System.optimize_prompts", "Signature": "yolk.Text",
               "Predict": "yolk.model_call", "TorchEggrollES": "yolk.from_torch"}
    if name in instead:
        raise AttributeError(f"yolk.compat.hyperfunc has no {name}; use {instead[name]}.")
    raise AttributeError(f"module 'yolk.compat.hyperfunc' has no attribute '{name}'")
