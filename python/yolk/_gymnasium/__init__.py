# SPDX-License-Identifier: Apache-2.0
"""Gymnasium's environments, which the host steps. Gymnasium is imported when it is first needed, not with yolk."""
