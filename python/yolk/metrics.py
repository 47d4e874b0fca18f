# SPDX-License-Identifier: Apache-2.0
"""Metrics that are ready: higher is better. `yolk.metric` makes one of a function."""

from ._core import (classification, cross_entropy, exact_match, numeric_distance, output_as_reward,
                    sequence_cross_entropy)

__all__ = ["classification", "cross_entropy", "exact_match", "numeric_distance", "output_as_reward",
           "sequence_cross_entropy"]
