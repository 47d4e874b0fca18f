# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

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
