# SPDX-License-Identifier: Apache-2.0
"""Other packages' names, run by Yolk: `from yolk.compat import hyperfunc`."""
