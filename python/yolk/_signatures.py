# SPDX-License-Identifier: Apache-2.0
"""Types of functions whose result depends on their first argument; the other ones are those of the function itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Protocol, cast, overload

if TYPE_CHECKING:
    from ._bytes import BytesRun
    from ._learning import LearnedRun
    from ._system import Hyperfunction
    from ._training import Run

_Others = ParamSpec("_Others")
_BuiltIn = Literal["acrobot", "cartpole", "mountain_car", "mountain_car_continuous", "pendulum"]


class _Environments(Protocol):
    """A vector environment of Gymnasium's."""

    @property
    def num_envs(self) -> int: ...


class _Train(Protocol[_Others]):

    # A text of which the type checker knows only that it is a str is one of the other overloads', "bytes" too.
    @overload
    def __call__(self, task: Literal["bytes"], **settings: Any) -> BytesRun: ...  # type: ignore[overload-overlap]

    @overload
    def __call__(self, *, data: Any, **settings: Any) -> LearnedRun: ...

    @overload
    def __call__(self, task: _BuiltIn = ..., *_: _Others.args, **settings: _Others.kwargs) -> Run: ...

    @overload
    def __call__(self, task: Literal["digits", "fashion-mnist"], *_: _Others.args,
                 **settings: _Others.kwargs) -> LearnedRun: ...

    @overload
    def __call__(self, task: str | os.PathLike[str], *_: _Others.args,
                 **settings: _Others.kwargs) -> Run | LearnedRun: ...

    @overload
    def __call__(self, task: _Environments | list[Any] | tuple[Any, ...], *_: _Others.args,
                 **settings: _Others.kwargs) -> Run: ...


class _Making(Protocol[_Others]):
    """A decorator, of parameters or of nothing; of a function, what the decorator makes of it."""

    @overload
    def __call__(self, parameters: type[Any] | None = ..., *_: _Others.args,
                 **settings: _Others.kwargs) -> Callable[[Callable[..., Any]], Hyperfunction]: ...

    @overload
    def __call__(self, parameters: Callable[..., Any], *_: _Others.args,
                 **settings: _Others.kwargs) -> Hyperfunction: ...

    @overload
    def __call__(self, parameters: object, *_: _Others.args,
                 **settings: _Others.kwargs) -> Callable[[Callable[..., Any]], Hyperfunction]: ...


def by_task(function: Callable[Concatenate[Any, _Others], Any]) -> _Train[_Others]:
    return cast("_Train[_Others]", function)


def by_parameters(function: Callable[Concatenate[Any, _Others], Any]) -> _Making[_Others]:
    return cast("_Making[_Others]", function)
