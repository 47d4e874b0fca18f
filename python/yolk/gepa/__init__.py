# SPDX-License-Identifier: Apache-2.0
"""Prompt search by the argument names of the package gepa (0.1.4), run by Yolk's own GEPA.

    import yolk.gepa as gepa
    result = gepa.optimize(seed_candidate={"system_prompt": "..."}, trainset=..., valset=..., task_lm=..., reflection_lm=...)
"""

from ._optimize import optimize
from ._types import DefaultAdapter, EvaluationBatch, EvaluationResult, GEPAAdapter, GEPAResult

__all__ = ["DefaultAdapter", "EvaluationBatch", "EvaluationResult", "GEPAAdapter", "GEPAResult", "optimize"]
