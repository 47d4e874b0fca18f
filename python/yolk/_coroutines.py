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
