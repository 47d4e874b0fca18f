# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any

from . import _core


def finished(value: Any) -> Any:
    """What a coroutine comes to; any other value as it is. Also in a thread whose event loop is running."""
    if not inspect.isawaitable(value):
        return value
    import asyncio  # some 30 ms, which most programs need not wait for

    async def awaited() -> Any:
        return await value

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(awaited())
    return in_thread(lambda: asyncio.run(awaited()))


class Ended(Exception):
    """The work was asked to end while a call was under way."""


def in_thread(work: Callable[[], Any]) -> Any:
    """What `work` returns or raises. Raises Ended on Ctrl-C, and leaves a call that never returns to its own thread."""
    done, box = threading.Event(), {}

    def run() -> None:
        try:
            box["result"] = work()
        except BaseException as raised:  # noqa: BLE001: it is raised in the thread that waits
            box["raised"] = raised
        done.set()

    threading.Thread(target=run, daemon=True, name="yolk-call").start()
    while not done.wait(0.05):
        if _core.stop_requested():
            raise Ended
    if "raised" in box:
        raise box["raised"]
    return box["result"]


async def beside(work: Callable[..., Any], *arguments: Any, end: Callable[[], None] | None = None) -> Any:
    """asyncio.to_thread, in a thread that the interpreter's end does not wait for: it ends the work instead.

    `end` makes the work end where the caller is cancelled, and is waited for.
    """
    import asyncio
    import contextvars

    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: Any, raised: BaseException | None) -> None:
        if done.done():
            return
        if raised is None:
            done.set_result(result)
        else:
            done.set_exception(raised)

    def run() -> None:
        result: Any = None
        raised: BaseException | None = None
        try:
            result = context.run(work, *arguments)
        except StopIteration as stopped:  # a future cannot have it
            raised = RuntimeError(f"The work raised {stopped!r}.")
            raised.__cause__ = stopped
        except BaseException as error:  # noqa: BLE001: it is raised where the work is awaited
            raised = error
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, raised)

    threading.Thread(target=run, daemon=True, name="yolk-work").start()
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        if end is not None:
            end()
            while not done.done():
                await asyncio.wait([done])
        raise
