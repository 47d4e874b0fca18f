# SPDX-License-Identifier: Apache-2.0
"""The kernels of a generation, and what their formulas (docs/kernels) give in NumPy's double precision."""

import numpy as np

import yolk

ops = yolk.ops
RULES = ("pair-difference", "pair-sign", "centred-rank", "z-score", "group-z-score")


def scores(population, seed=3):
    return np.random.default_rng([seed, population]).normal(size=population).astype(np.float32)


def shaped(values, rule, group_size=0):
    """The shaped fitness of each pair, before it is rounded to int8."""
    values = values.astype(np.float64)
    count = values.size
    first, second = values[0::2], values[1::2]
    if rule == "pair-sign":
        signs = np.sign(first - second)
        return signs * np.sqrt(2 * count / np.count_nonzero(signs))
    if rule == "centred-rank":
        ranks = np.array([np.mean(np.flatnonzero(np.sort(values) == one)) for one in values])
        return (ranks[0::2] - ranks[1::2]) / np.sqrt(np.mean((ranks - (count - 1) / 2)**2))
    if rule == "group-z-score":
        means = values.reshape(-1, group_size).mean(1).repeat(group_size)
        first, second = (values - means)[0::2], (values - means)[1::2]
    return (first - second) / np.sqrt(values.var() + 1e-5)


def weights_of(made):
    """What the update takes for each pair."""
    return made.weights.numpy().astype(np.float64) * made.summary["coefficient"]


def gradient(weights, shape, parameter, seed, sigma, rank, time, pairs=True):
    """G of docs/kernels/es_update.md, from the noise itself."""
    members = weights.size * (2 if pairs else 1)
    drawn = {"seed": seed, "parameter": parameter, "time": time, "dtype": "int32"}
    total = np.zeros(shape)
    for pair, weight in enumerate(weights):
        if len(shape) == 1:
            total += weight * ops.noise(shape, domain="vector", pair=pair, **drawn).numpy() / np.sqrt(85)
            continue
        a = ops.noise((shape[0], rank), domain="a", pair=pair, **drawn).numpy().astype(np.float64)
        b = ops.noise((shape[1], rank), domain="b", pair=pair, **drawn).numpy().astype(np.float64)
        total += weight * (a @ b.T) / 85 / np.sqrt(rank)
    return np.sqrt(members) / members * sigma * total


def stepped(rule, parameters, gradients, learning_rate):
    """Steps along these gradients, one after the other."""
    p, m, v = parameters.astype(np.float64), 0.0, 0.0
    for t, g in enumerate(np.asarray(gradients, np.float64), start=1):
        if rule == "sgd":
            step = g
        elif rule == "momentum":
            m = 0.9 * m + g
            step = m
        else:
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            step = m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        p = p + learning_rate * step
    return p


def walked(rule, parameters, gradients, learning_rate):
    p, state = parameters, None
    for step, g in enumerate(gradients):
        p, state = ops.optimizer(p, g, state, rule=rule, learning_rate=learning_rate, step=step)
    return p


def cases(n):
    """As op_cases.cases: of n members, or of 2 and more where n is less."""
    draws = np.random.default_rng([5, n])
    start, along = draws.normal(size=(n, 3)).astype(np.float32), draws.normal(size=(3, n, 3)).astype(np.float32)
    found = {f"optimizer {rule}": (lambda rule=rule: walked(rule, start, along, 0.1),
                                   lambda rule=rule: stepped(rule, start, along, 0.1), 1e-4)
             for rule in ("sgd", "momentum", "adam")}
    values = scores(2 * max(1, n))
    for rule in RULES:
        made = ops.fitness(values, rule, group_size=2 if rule == "group-z-score" else 0)
        # Half a step of the quantization to int8, of the largest weight.
        right = shaped(values, rule, 2)
        step = np.abs(right).max() / 127 if rule in ("pair-difference", "centred-rank") else 0.0
        found[f"fitness {rule}"] = (lambda made=made: weights_of(made), lambda right=right: right, 0.51 * step + 1e-4)
    own = shaped(values[:24], "z-score").astype(np.float32)  # the noise of each pair is drawn by itself
    given = {"seed": 11, "sigma": 0.3, "time": 2}
    for shape, rank in (((max(1, n),), 1), ((5, 9), 3)):
        found[f"es_update {shape}"] = (
            lambda shape=shape, rank=rank: ops.es_update(own, shape, rank=rank, **given),
            lambda shape=shape, rank=rank: gradient(own, shape, 0, rank=rank, **given), 1e-4)
    return found
