# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, overload

from .. import _core
from ..errors import BadInput

Rule = Callable[..., Any]


class Rules:
    """What has derivatives of its own: they take the place of those of its body (pushforward, pullback)."""

    push: Rule | None = None
    pull: Rule | None = None

    def set_pushforward(self, rule: Rule) -> Rule:
        """rule(operands, tangents, results) -> how the result moves; None: not at all. Operands and tangents are tuples
        of traced values, in the order of the body's arguments; what does not move has a tangent of zeros. A decorator."""
        self.push = _callable(rule)
        return rule

    def set_pullback(self, rule: Rule) -> Rule:
        """rule(operands, results, cotangents) -> what the cotangents of the operands are, a tuple of one for each (or the
        lone one), each of its operand's type; None: none. A decorator."""
        self.pull = _callable(rule)
        return rule


def _callable(rule: Any) -> Rule:
    if not callable(rule):
        raise BadInput(f"The rule is {rule!r}; a function is needed.")
    return rule


class Custom(Rules):
    """A function that graphs hold as one equation; what `yolk.custom` makes."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.name = self.__name__ = name
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    def __call__(self, *operands: Any) -> Any:
        called(self)
        return _core.operations.custom_call(self.name, operands, lambda *values: packed(self.__wrapped__(*values)))

    def __repr__(self) -> str:
        return f"<yolk.Custom {self.name}>"


@overload
def custom(function: Callable[..., Any], *, name: str | None = None) -> Custom: ...


@overload
def custom(function: None = None, *, name: str | None = None) -> Callable[[Callable[..., Any]], Custom]: ...


def custom(function: Callable[..., Any] | None = None, *, name: str | None = None) -> Any:
    """Makes a function over traced values one equation, for which rules can be given.

        @yolk.custom
        def clipped(x):
            return yolk.clip(x, -1.0, 1.0)

        @clipped.set_pullback
        def straight_through(operands, results, cotangents):
            return cotangents
    """
    if function is None:
        return lambda given: custom(given, name=name)
    if not callable(function):
        raise BadInput(f"{function!r} is no function.")
    return Custom(function, name or str(getattr(function, "__name__", "custom")))


def packed(result: Any) -> Any:
    """Several outputs as one: a dict by its names, a tuple by numbers."""
    if isinstance(result, dict):
        return _core.operations.pack(result)
    if isinstance(result, tuple):
        return _core.operations.pack({str(index): value for index, value in enumerate(result)})
    return result


class Calls:
    """While it is entered, the hyperfunctions and custom functions that this thread calls, by name."""

    def __enter__(self) -> dict[str, Any]:
        self._outer = getattr(_running, "calls", None)
        _running.calls = {}
        return _running.calls

    def __exit__(self, *_: Any) -> None:
        _running.calls = self._outer


_running = threading.local()


def called(function: Any) -> None:
    calls = getattr(_running, "calls", None)
    if calls is None:
        return
    known = calls.setdefault(function.name, function)
    if known is not function and type(known) is Custom:
        raise BadInput(f"Two functions of this trace are named '{function.name}'; give one of them another name.")
