# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from . import _core
from ._coroutines import Ended, finished, in_thread
from .errors import BadInput

Model = Callable[..., Any]  # model(prompt) -> str, or a coroutine


def checked(model: Any, what: str) -> Any:
    """The model, if it can be called. Raises BadInput that says what to give instead of a name."""
    if isinstance(model, str):
        raise BadInput(f"{what} is the name {model!r}; give a function that takes a prompt and returns a text, such as "
                       f"yolk.models.chat(url, {model!r}).")
    if not callable(model):
        raise BadInput(f"{what} is {model!r}; a function that takes a prompt and returns a text is needed.")
    return model


def _taken_by(model: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that the function has parameters for."""
    try:
        parameters = list(inspect.signature(model).parameters.values())[1:]
    except (TypeError, ValueError):
        return {}
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters):
        return dict(settings)
    return {one.name: settings[one.name] for one in parameters if one.name in settings}


def text_of(reply: Any, model: Any) -> str:
    """The reply, if it is a text. Raises BadInput."""
    named = getattr(model, "__name__", type(model).__name__)
    if not isinstance(reply, str):
        raise BadInput(f"The model {named} returned {reply!r:.200}; a text is needed.")
    try:
        reply.encode()
    except UnicodeEncodeError as reason:
        raise BadInput(f"The model {named} returned a text that is no Unicode: {reason}.") from None
    return reply


def answer(model: Any, messages: list[dict[str, str]], settings: dict[str, Any]) -> tuple[str, int, int, str] | None:
    """The library asks here. (text, prompt tokens, completion tokens, why it ended); None: ended by Ctrl-C."""
    given = messages if getattr(model, "takes_messages", False) else "\n\n".join(one["content"] for one in messages)
    try:
        reply = in_thread(lambda: finished(model(given, **_taken_by(model, settings))))
    except Ended:
        return None
    tokens = [max(0, int(getattr(reply, name, 0) or 0)) for name in ("prompt_tokens", "completion_tokens")]
    return text_of(reply, model)[:], tokens[0], tokens[1], str(getattr(reply, "finish_reason", "") or "")


def model_call(*messages: Any, **settings: Any) -> Any:
    """The reply of a language model, as a traced text: an equation of the system, asked when the graph runs.

        yolk.model_call(("system", prompt()), ("user", mail), temperature=0.2)

    Each message is (role, text), or a text of the user. `System.use_model` says who answers. settings: model,
    temperature, top_p, presence_penalty, frequency_penalty, max_tokens, seed, stop; numbers may be traced. A function
    that answers gets those that it has parameters for.
    """
    if not messages:
        raise BadInput("model_call() has no message; give a text, or (role, text).")
    return _core.model_call([one if isinstance(one, tuple) and len(one) == 2 else ("user", one) for one in messages], settings)
