# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numbers
import os
from typing import Any

from . import _core
from .errors import BadInput


class DeviceList(list):
    """A list of `yolk.Device`; where none can be used, `reason` says why, and what to install."""

    def __init__(self, devices: list[_core.Device], reason: str) -> None:
        super().__init__(devices)
        self.reason = reason

    def __repr__(self) -> str:
        lines = [repr(device) for device in self]
        return "\n".join(lines + ([self.reason] if self.reason else []))


def request_of(device: Any) -> str:
    """What the library takes for device=: an index, a UUID or a part of a name; "" for the best one."""
    if device is None:
        return ""
    if isinstance(device, bool) or not isinstance(device, (str, numbers.Integral, _core.Device)):
        raise BadInput(f"device is {device!r}; give an index, a UUID, a part of a name, or one of yolk.devices().")
    return str(device.index if isinstance(device, _core.Device) else device)


def devices() -> DeviceList:
    """The Vulkan devices of this machine, in the order of the driver loader.

    The index, the UUID or a part of the name of one is what `device=` takes everywhere; without it Yolk takes
    `$YOLK_DEVICE`, else the best one. The list is empty where there is no Vulkan loader or driver: its `reason` says
    what to install.
    """
    found, reason = _core.list_devices()
    return DeviceList(found, reason)


class OnDevice:
    """What runs on a device, and says why on that one."""

    _chosen: Chosen

    @property
    def why_device(self) -> str:
        """Which device, and why: asked for, the only one, or the best one and what the others lack."""
        return str(self._chosen)


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
