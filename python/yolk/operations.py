# SPDX-License-Identifier: Apache-2.0
"""Operations on traced values, by NumPy's names where NumPy has them."""

from ._core.operations import *  # noqa: F401,F403
from ._graphs import numpy_protocol as _numpy  # NumPy's functions take traced values
