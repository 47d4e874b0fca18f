# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextvars
import dataclasses
import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _parameters
from .._system import Hyperfunction, host_function
from .._system import hyperfunction as traced_function
from .._parameters import Matrix, Vector, knob
from ..errors import BadInput, Untraceable
from ._tensor import Tensor, is_traced, raw, wrapped

# The system whose run() this task is in.
current: contextvars.ContextVar[Any] = contextvars.ContextVar("yolk_compat_system", default=None)


@dataclasses.dataclass
class Example:
    """What run() is given by name, and what is expected."""

    inputs: dict[str, Any]
    expected: Any


@dataclasses.dataclass
class LMParam:
    """Sampling settings of a language model. A search begins at these values and stays between their bounds."""

    temperature: float = knob(0.7, 0.0, 2.0)
    top_p: float = knob(1.0, 0.0, 1.0)
    presence_penalty: float = knob(0.0, -2.0, 2.0)
    frequency_penalty: float = knob(0.0, -2.0, 2.0)
    max_tokens_frac: float = knob(0.25, 0.0, 1.0)

    @classmethod
    def shape(cls) -> tuple[int, ...]:
        return (5,)

    @classmethod
    def dim(cls) -> int:
        return 5

    def to_tensor(self, **_: Any) -> Tensor:
        return Tensor(list(dataclasses.astuple(self)))

    @classmethod
    def from_tensor(cls, values: Any) -> LMParam:
        return cls(*(float(one) for one in np.asarray(raw(values)).reshape(-1)))

    def to_litellm_kwargs(self, model_max_tokens: int = 4096) -> dict[str, Any]:
        """The settings by litellm's names."""
        return {"temperature": self.temperature, "top_p": self.top_p, "presence_penalty": self.presence_penalty,
                "frequency_penalty": self.frequency_penalty,
                "max_tokens": max(1, int(self.max_tokens_frac * model_max_tokens))}


class LoRAWeight:
    """`create` makes the type of a weight matrix that is perturbed at low rank; its hp has `weight`."""

    @staticmethod
    def create(out_dim: int, in_dim: int, noise_rank: int = 4) -> type:
        for name, size in (("out_dim", out_dim), ("in_dim", in_dim), ("noise_rank", noise_rank)):
            if not isinstance(size, int) or size < 1:
                raise BadInput(f"{name} is {size!r}; a whole number from 1 is needed.")

        extents, rank = (out_dim, in_dim), noise_rank

        class Weight:
            def __init__(self, weight: Any) -> None:
                self.weight = weight

            @classmethod
            def shape(cls) -> tuple[int, ...]:
                return extents

            @classmethod
            def dim(cls) -> int:
                return out_dim * in_dim

            @classmethod
            def noise_rank(cls) -> int:
                return rank

            @classmethod
            def from_tensor(cls, values: Any) -> Any:
                return cls(values)

            def to_tensor(self, **_: Any) -> Any:
                return self.weight

        Weight.__name__ = Weight.__qualname__ = f"LoRAWeight_{out_dim}x{in_dim}"
        return Weight


class HyperFunction:
    """What @hyperfunction makes: call and await it in a system's run()."""

    def __init__(self, body: Callable[..., Any], hp_type: Any, optimize_hparams: bool) -> None:
        if hp_type is not None and not callable(getattr(hp_type, "shape", None)):
            raise BadInput(f"hp_type is {hp_type!r}; LMParam, LoRAWeight.create(...), or a class with shape() and "
                           "from_tensor() is needed.")
        self.body, self.hp_type, self.optimize_hparams = body, hp_type, optimize_hparams and hp_type is not None
        self.name = self.__name__ = body.__name__
        self.__doc__, self.__wrapped__ = body.__doc__, body
        self.signature = inspect.signature(body)
        if hp_type is not None and "hp" not in self.signature.parameters:
            raise BadInput(f"{self.name}() has an hp_type and no parameter named hp.")

    def operands(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
        """By the body's names, in its order, without hp."""
        names = [name for name in self.signature.parameters if name != "hp"]
        given = inspect.Signature([self.signature.parameters[name] for name in names]).bind(*arguments, **keywords)
        return dict(given.arguments)

    async def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        system = current.get()
        if system is None:
            return await self.on_host(self.first_values(0), self.operands(arguments, keywords))
        return await system._call(self, self.operands(arguments, keywords))

    def first_values(self, seed: int) -> Any:
        """An array: the defaults of settings, draws of variance 2 / (rows + columns) for weights."""
        if self.hp_type is None:
            return None
        if self.has_knobs():
            return np.array(list(dataclasses.astuple(self.hp_type())), dtype=np.float32)
        extents = tuple(self.hp_type.shape())
        draw = np.random.default_rng([seed, *self.name.encode()])
        return (draw.standard_normal(extents) * np.sqrt(2.0 / sum(extents))).astype(np.float32)

    def has_knobs(self) -> bool:
        return dataclasses.is_dataclass(self.hp_type) and all("low" in one.metadata for one in dataclasses.fields(self.hp_type))

    def hp_of(self, values: Any) -> Any:
        """The hp of a body: of plain arrays, or of what is traced."""
        if self.has_knobs():
            if is_traced(values):
                return _parameters.Fields([one.name for one in dataclasses.fields(self.hp_type)], _Numbers(values))
            return self.hp_type(*(_bounded(one, v) for one, v in zip(dataclasses.fields(self.hp_type), np.asarray(values))))
        torch = sys.modules.get("torch")
        if torch is not None and not is_traced(values):
            return self.hp_type.from_tensor(torch.from_numpy(np.array(values, dtype=np.float32)))
        return self.hp_type.from_tensor(Tensor(values))

    async def on_host(self, values: Any, operands: dict[str, Any]) -> Any:
        made = self.body(**operands, **({} if self.hp_type is None else {"hp": self.hp_of(values)}))
        return await made if inspect.isawaitable(made) else made

    def parameters(self, values: Any) -> Any:
        """What the library is told: first values, and how they are perturbed."""
        if self.hp_type is None:
            return None
        if self.has_knobs():
            return self.hp_type
        extents = tuple(self.hp_type.shape())
        if len(extents) == 2:
            return Matrix(*extents, rank=self.matrix_rank(0), values=np.asarray(values))
        return Vector(int(np.prod(extents)), values=np.asarray(values).reshape(-1))

    def matrix_rank(self, otherwise: int) -> int:
        """Of the noise of a matrix: what its type says, at most its smaller side. 1 of what is no matrix."""
        extents = tuple(self.hp_type.shape())
        if len(extents) != 2:
            return 1
        rank = getattr(self.hp_type, "noise_rank", lambda: None)() or otherwise
        return min(int(rank), 32, *extents)

    def of_library(self, names: list[str], kind: str, values: Any) -> Hyperfunction:
        """As a hyperfunction of Yolk's whose operands have these names, "traced" or "host"."""
        has_hp = self.hp_type is not None
        run = self._traced_body(names) if kind == "traced" else self._host_body(names)
        kinds = inspect.Parameter.POSITIONAL_ONLY
        body = run if has_hp else lambda *operands: run(None, *operands)
        parameters = (["hp"] if has_hp else []) + [f"operand_{i}" for i in range(len(names))]
        signature = inspect.Signature([inspect.Parameter(one, kinds) for one in parameters])
        body.__signature__ = signature  # type: ignore[attr-defined]
        body.__name__ = self.name
        make = traced_function if kind == "traced" else host_function
        return make(self.parameters(values), name=self.name, optimize=self.optimize_hparams)(body)

    def _traced_body(self, names: list[str]) -> Callable[..., Any]:
        def run(values: Any, *operands: Any) -> Any:
            try:
                return traced(values, *operands)
            except Exception:
                program = current.get()
                program.failed = program.failed or self
                raise

        def traced(values: Any, *operands: Any) -> Any:
            given = {name: Tensor(one) for name, one in zip(names, operands)}
            if isinstance(values, _parameters.Fields):
                values = values._values
            hp = {} if self.hp_type is None else {"hp": self.hp_of(values)}
            result = self.body(**given, **hp)
            if inspect.iscoroutine(result):
                result = _without_waiting(result, self.name)
            if not isinstance(result, Tensor) or not is_traced(result.value):
                raise Untraceable(f"{self.name}() returned {result!r:.80}, which is not made of its traced operands.")
            numbers[self.name] = result.number
            return result.value

        numbers: dict[str, bool] = {}
        self.returns_number: Callable[[], bool] = lambda: numbers.get(self.name, False)
        return run

    def _host_body(self, names: list[str]) -> Callable[..., Any]:
        from .._coroutines import finished

        def run(values: Any, *operands: Any) -> Any:
            if self.has_knobs():
                values = np.array(dataclasses.astuple(values), dtype=np.float32)
            result = finished(self.on_host(values, dict(zip(names, host_values(operands)))))
            return raw(result)

        self.returns_number = lambda: False
        return run


def host_values(values: Any) -> list[Any]:
    """Arrays as torch's tensors where torch is in use, as ours elsewhere."""
    torch = sys.modules.get("torch")
    if torch is None:
        return [wrapped(one) for one in values]
    return [torch.from_numpy(np.array(one)) if isinstance(one, np.ndarray) else one for one in values]


class _Numbers:
    """The fields of settings, each a number."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __getitem__(self, index: int) -> Tensor:
        return Tensor(self.values[index], number=True)


def _bounded(field: dataclasses.Field[Any], value: Any) -> float:
    return min(max(float(value), field.metadata["low"]), field.metadata["high"])


def _without_waiting(coroutine: Any, name: str) -> Any:
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value
    coroutine.close()
    raise Untraceable(f"{name}() waits for something, which has to happen each time that it runs.")


def hyperfunction(function: Any = None, *, hp_type: Any = None, optimize_prompt: bool = True, optimize_hparams: bool = False,
                  local_gpu: bool = False, retries: int = 0, timeout_s: float | None = None, max_calls: int | None = None,
                  model: str | None = None) -> Any:
    """Makes a hyperfunction of a function or coroutine, whose parameter `hp` gets the values of `hp_type`.

    local_gpu and model change nothing; optimize_prompt: texts are Yolk's own (yolk.Text, System.optimize_prompts).
    """
    from ..errors import Unsupported

    for name, value, default in (("retries", retries, 0), ("timeout_s", timeout_s, None), ("max_calls", max_calls, None)):
        if value != default:
            raise Unsupported(f"{name}={value!r} is not supported here; yolk.host_function has retries and timeout.")

    def made(body: Callable[..., Any]) -> HyperFunction:
        return HyperFunction(body, hp_type, optimize_hparams)

    return made if function is None else made(function)
