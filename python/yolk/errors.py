# SPDX-License-Identifier: Apache-2.0
"""What Yolk raises. Each is an `Error`, and the built-in exception that fits it best."""


class Error(Exception):
    """Anything that Yolk refuses or cannot do; the message says what was given, what is allowed, and what to do."""


class BadInput(Error, ValueError):
    """Something that is not allowed was given."""


class Unsupported(Error, NotImplementedError):
    """It is legal, but this device, driver or build cannot do it."""


class OutOfMemory(Error, MemoryError):
    """The host's or the device's memory does not suffice; the message names the request."""


class DeviceLost(Error, RuntimeError):
    """The device is gone. What was made on it must be made anew."""


class DriverError(Error, RuntimeError):
    """A call of the driver failed or did not come back."""


class FileError(Error, OSError):
    """A file cannot be read or written."""


class Failed(Error, RuntimeError):
    """Everything that was given is legal, and the work came to nothing: training diverged, say."""


class Cancelled(Error, RuntimeError):
    """The work was ended before it had a result."""


class Untraceable(Error, TypeError):
    """Something that a traced value does not do, since the graph would hold for one example only."""
