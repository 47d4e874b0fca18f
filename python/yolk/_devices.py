# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from typing import Any

from . import _core


class DeviceList(list):
    """A list of `yolk.Device`; where none can be used, `reason` says why, and what to install."""

    def __init__(self, devices: list[_core.Device], reason: str) -> None:
        super().__init__(devices)
        self.reason = reason

    def __repr__(self) -> str:
        lines = [repr(device) for device in self]
        return "\n".join(lines + ([self.reason] if self.reason else []))


def devices() -> DeviceList:
    """The Vulkan devices of this machine, in the order of the driver loader.

    The index, the UUID or a part of the name of one is what `device=` takes everywhere; without it Yolk takes
    `$YOLK_DEVICE`, else the best one. The list is empty where there is no Vulkan loader or driver: its `reason` says
    what to install.
    """
    found, reason = _core.list_devices()
    return DeviceList(found, reason)


def request_of(device: Any) -> str:
    """What `device=` was, as the library takes it."""
    return "" if device is None else str(getattr(device, "index", device))


class Chosen:
    """Says why an object runs on the device that it runs on."""

    def __init__(self, device: Any) -> None:
        self._several = "all devices" if device == "all" else "a list of devices" if isinstance(device, (list, tuple)) else ""
        self._named = device is not None
        self._request = request_of(device) if self._named and not self._several else os.environ.get("YOLK_DEVICE", "")

    def __str__(self) -> str:
        if self._several:
            return f"{self._several} asked for by device="
        return _core.why_device(self._request, self._named)
