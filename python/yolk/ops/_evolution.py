# SPDX-License-Identifier: Apache-2.0
"""A generation of evolution strategies, kernel by kernel: scores to weights, weights to a gradient, a step along it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..errors import BadInput
from . import _array
from ._moves import reshape, split
from ._run import extents, flag, items, real, run, whole, word

if TYPE_CHECKING:
    from ._array import Array

_RULES = ("pair-difference", "pair-sign", "centred-rank", "z-score", "group-z-score")
_INTEGER_RULES = _RULES[:3]
_OPTIMIZERS = {"sgd": 0, "momentum": 1, "adam": 2}  # and arrays of state
_SUMMARY = (("coefficient", np.float32), ("mean", np.float32), ("best", np.float32), ("worst", np.float32),
            ("variance", np.float32), ("not_finite_count", np.uint32), ("first_not_finite", np.uint32),
            ("finite_count", np.uint32))


class Fitness:
    """What `yolk.ops.fitness` makes of a population's returns; `yolk.ops.es_update` takes it.

    scores    float32 [population], the means over episodes, as they came
    weights   int8 or float32, one for each pair of members, or for each member if they do not come in pairs; times
              `summary["coefficient"]` they are the shaped fitness
    """

    def __init__(self, scores: Array, weights: Array, summary: Array, antithetic: bool) -> None:
        self.scores, self.weights, self.antithetic = scores, weights, antithetic
        self._summary = summary

    @property
    def summary(self) -> dict[str, Any]:
        """coefficient, mean, best, worst, variance, not_finite_count, first_not_finite, finite_count; waits for them."""
        words = self._summary.numpy()
        return {name: words[index:index + 1].view(kind)[0].item() for index, (name, kind) in enumerate(_SUMMARY)}

    def __repr__(self) -> str:
        return f"<yolk.ops.Fitness of {self.scores.size} members on {self.scores.device}>"


def fitness(returns: Any, rule: str = "pair-difference", *, robust: bool = False, group_size: int = 0,
            antithetic: bool = True) -> Fitness:
    """One weight for each pair of members, of what they scored; higher is better.

    returns     float32 [population], or [episodes, population]: a member's score is the mean over episodes
    rule        "pair-difference", "pair-sign", "centred-rank", "z-score" or "group-z-score" (with group_size)
    robust      of pair differences: one outlier does not decide the scale
    antithetic  members 2 i and 2 i + 1 are a pair with opposite noise; False: each has noise, and a weight, of its own

    Scores that are not finite count as the worst finite one. Raises BadInput for an odd population of pairs, a rule of
    pairs without pairs, and groups that do not divide the population.
    """
    (values,) = _array.operands(returns, names=("returns",))
    if values.ndim not in (1, 2) or values.dtype != _array.FLOAT32 or 0 in values.shape:
        raise BadInput(f"returns is {values.dtype} {values.shape}; float32 [population] or [episodes, population] is "
                       "needed.")
    population, pairs = values.shape[-1], flag(antithetic, "antithetic")
    if pairs and population % 2:
        raise BadInput(f"There are {population} members; with antithetic=True they come in pairs.")
    fields = (f"population={population} episodes={1 if values.ndim == 1 else values.shape[0]} "
              f"group_size={whole(group_size, 'group_size')} rule={word(rule, 'rule', _RULES)} "
              f"robust={int(flag(robust, 'robust'))} pairs={int(pairs)}")
    kind = _array.INT8 if rule in _INTEGER_RULES else _array.FLOAT32
    scores, weights, summary = run("fitness", fields, [values], [((population,), _array.FLOAT32),
                                                         ((population // 2 if pairs else population,), kind),
                                                         ((len(_SUMMARY),), _array.UINT32)])
    return Fitness(scores, weights, summary, pairs)


def _of_weights(weights: Any, antithetic: bool) -> Fitness:
    (values,) = _array.operands(weights, names=("weights",))
    if values.ndim != 1 or values.dtype != _array.FLOAT32 or not values.size:
        raise BadInput(f"The weights are {values.dtype} {values.shape}; float32 [pairs] is needed, or what "
                       "yolk.ops.fitness returns.")
    words = np.zeros(len(_SUMMARY), np.uint32)
    words[0] = np.float32(1.0).view(np.uint32)
    words[-1] = values.size * (2 if antithetic else 1)
    return Fitness(values, values, _array.upload(words, values._place), antithetic)


def es_update(weights: Any, shape: Any, *, seed: int, sigma: float, rank: int = 1, time: int = 0,
              antithetic: bool = True) -> Any:
    """The estimate of the gradient (of ascent) that EGGROLL makes of a population's weights. The noise is drawn again.

    weights     what `yolk.ops.fitness` returned; or float32 [pairs], shaped(score of 2 i) - shaped(score of 2 i + 1)
    shape       [out, in] of a matrix, whose noise has the rank `rank` (1 to 32), or [size] of a vector; or a list of
                shapes, whose noise is that of parameters 0, 1, ... of `perturbed_linear` and `perturbed_vector`
    seed, sigma, time  as the members were made with
    antithetic  for weights of your own: False, if they are one for each member

    Returns float32 arrays of these shapes: one, or a list of them. docs/kernels/es_update.md has the formula.
    """
    given = weights if isinstance(weights, Fitness) else _of_weights(weights, flag(antithetic, "antithetic"))
    listed = items(shape, "shape") if isinstance(shape, (list, tuple)) else [shape]
    is_one = all(hasattr(one, "__index__") for one in listed)
    shapes = [extents(shape)] if is_one else [extents(one, f"shape {index}") for index, one in enumerate(listed)]
    for one in shapes:
        if len(one) not in (1, 2) or 0 in one:
            raise BadInput(f"A parameter has the shape {one}; [out, in] of a matrix or [size] of a vector is needed.")
    when = _core.When.of(seed=whole(seed, "seed", 0, 2**64 - 1), time=whole(time, "time"), sigma=real(sigma, "sigma"))
    population = given.weights.size * (2 if given.antithetic else 1)
    fields = (f"table={','.join('x'.join(map(str, one)) for one in shapes)} population={population} "
              f"rank={whole(rank, 'rank', 1, 32)} weights={'i8' if given.weights.dtype == _array.INT8 else 'f32'} "
              f"pairs={int(given.antithetic)}")
    sizes = [math.prod(one) for one in shapes]
    gradient = run("es_update", fields, [given.weights, given._summary], [((sum(sizes),), _array.FLOAT32)], None, when)[0]
    if is_one:
        return reshape(gradient, shapes[0])
    parts = split(gradient, sizes)
    return [reshape(part, one) for part, one in zip(parts, shapes)]


def optimizer(parameters: Any, gradient: Any, state: Any = None, *, rule: str = "sgd", learning_rate: float,
              step: int = 0, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8) -> tuple[Array, Array | None]:
    """One step along a gradient of ascent: the new parameters, and the state for the next step.

    parameters, gradient  float32 of one shape
    state                 what the step before returned; None at the first
    rule                  "sgd", "momentum" (beta1) or "adam" (beta1, beta2, epsilon)
    step                  from 0, of Adam's correction of its moments

    The state is float32 [arrays, *shape]: first moments, then Adam's second; None of "sgd". An element whose gradient,
    moments or new value are not finite stays as it is. Values below 2**-40 become 0. Raises BadInput for decays outside
    of [0, 1).
    """
    values, along = _array.operands(parameters, gradient, names=("parameters", "gradient"))
    if values.shape != along.shape or values.dtype != _array.FLOAT32:
        raise BadInput(f"parameters is {values.dtype} {values.shape} and gradient {along.dtype} {along.shape}; float32 of "
                       "one shape is needed.")
    arrays = _OPTIMIZERS[word(rule, "rule", tuple(_OPTIMIZERS))]
    kept = None
    if arrays and state is not None:
        _, kept = _array.operands(values, state, names=("parameters", "state"))
        if kept.shape != (arrays, *values.shape):
            raise BadInput(f"state has the shape {kept.shape}; {rule} needs {(arrays, *values.shape)}, or None.")
    if not arrays and state is not None:
        raise BadInput("rule='sgd' has no state; leave it out.")
    when = _core.When.of(learning_rate=real(learning_rate, "learning_rate"), step=whole(step, "step"))
    numbers = {"beta1": real(beta1, "beta1"), "beta2": real(beta2, "beta2"), "epsilon": real(epsilon, "epsilon")}
    wanted = [(values.shape, values.dtype)] + ([((arrays, *values.shape), values.dtype)] if arrays else [])
    inputs = [along, values] + ([kept] if arrays else [])
    made = run("optimizer", f"elements={values.size} rule={rule}", inputs, wanted, numbers, when)
    return made[0], made[1] if arrays else None
