# SPDX-License-Identifier: Apache-2.0
"""EGGROLL's published formulas in NumPy float64, and how far fp32 arithmetic may be from them.

Sarkar et al., "Evolution Strategies at the Hyperscale", arXiv 2511.16652, written from the mathematics:
    E_m = A_m B_m^T / sqrt(r), members in pairs with one draw and opposite signs
    x (W + sigma E)^T = x W^T + (x B) A^T                       A carries sign * sigma / sqrt(r)
    f = (s - mean) / sqrt(var + 1e-5), the mean by group where there are groups, the variance always of all
    G = sqrt(N)/N * sum over members f_m A_m B_m^T, for vectors f_m * sign * sigma * noise
    Adam: Kingma and Ba 2015, Algorithm 1, along +G
The noise is Yolk's own (docs/kernels/noise.md) over sqrt(85), its standard deviation. Arrays of members begin with the
mean, which is not perturbed.

What a kernel computes in fp32 is returned as Bounded(value, error): `error` bounds, element by element, how far a right
fp32 result may be off, by counting roundings of U as docs/kernels/ states them. A sum or product of n roundings is off
by gamma(n) of the sum of its terms' magnitudes.
"""

import math
from typing import NamedTuple

import numpy as np

U = 2.0**-24  # half a unit in the last place of fp32
OPERAND_FLOOR = 2.0**-40  # smaller operands are taken for zero (docs/adr/0002-denormals-never-arise.md)
SQRT_ERROR, RECIPROCAL_ERROR = 1e-7, 1.3e-7  # relative (docs/kernels/exact_math.md)
EPSILON = 1e-5  # of the z-score
VARIANCE = 85  # of a noise integer
DOMAINS = {"A": 0, "B": 1, "V": 2}


class Bounded(NamedTuple):
    value: np.ndarray
    error: np.ndarray


def gamma(roundings):
    return roundings * U / (1.0 - roundings * U)


# Noise


def philox(counter, key):
    """Philox4x32-10: four arrays of 32-bit words from four, uint64 holding each."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    low = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        left, right = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        high_left, high_right = left >> np.uint64(32), right >> np.uint64(32)
        c0, c1, c2, c3 = high_right ^ c1 ^ np.uint64(k0), right & low, high_left ^ c3 ^ np.uint64(k1), left & low
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0, c1, c2, c3


def noise(seed, parameter, domain, pairs, count, time):
    """Integers [len(pairs), count]: the sum of the four nibbles of a half word, minus 30."""
    blocks = np.arange((count + 7) // 8, dtype=np.uint64)[None, :]
    pair = np.asarray(pairs, dtype=np.uint64)[:, None]
    zero = np.zeros((pair.size, blocks.size), dtype=np.uint64)
    stream = np.uint64(parameter | DOMAINS[domain] << 24)
    words = philox((zero + blocks, zero + stream, zero + pair, zero + np.uint64(time)), (seed & 0xFFFFFFFF, seed >> 32))
    halves = np.stack([word >> np.uint64(16 * half) for word in words for half in (0, 1)], axis=-1)
    nibbles = sum((halves >> np.uint64(shift)) & np.uint64(15) for shift in (0, 4, 8, 12))
    return (nibbles.astype(np.int64) - 30).reshape(pair.size, -1)[:, :count]


# Perturbation


def sides(population):
    """The sign of each member: + then - in every pair."""
    return np.where(np.arange(population) % 2 == 0, 1.0, -1.0)


def low_rank_scale(sigma, rank):
    return sigma / math.sqrt(rank)


def member_factors(a, b, population, sigma):
    """A and B of every member from the pairs' noise integers [pairs, rows, r]; A carries sign * sigma / sqrt(r)."""
    pair = np.arange(population) // 2
    sign = sides(population)[:, None, None]
    unit = 1.0 / math.sqrt(VARIANCE)
    return sign * low_rank_scale(sigma, a.shape[2]) * unit * a[pair], unit * b[pair]


def with_mean(members):
    return np.concatenate([np.zeros_like(members[:1]), members])


def product(x, weights, a, b):
    """x W^T + (x B) A^T for the mean and every member; the transposed product is product(x, W^T, B, A).

    The longest way of a term: c rounded, x_k B_k, in - 1 sums, c times the sum, times A, and up to r sums.
    A projection below 2^-40 is taken for zero; it would have met noise of at most 30."""
    a, b = with_mean(a), with_mean(b)
    value = (x @ weights.T)[None] + np.einsum("mik,mok->mio", np.einsum("ij,mjk->mik", x, b), a)
    norm = (abs(x) @ abs(weights).T)[None] + np.einsum("mik,mok->mio", np.einsum("ij,mjk->mik", abs(x), abs(b)), abs(a))
    rank, columns = a.shape[2], x.shape[1]
    return Bounded(value, gamma(columns + rank + 3) * norm + 30 * rank * OPERAND_FLOOR)


def embedding(ids, weights, a, b):
    """W[id] + A[id] B^T. Roundings: c, c A, times B, and r sums."""
    a, b = with_mean(a)[:, ids], with_mean(b)
    value = weights[ids][None] + np.einsum("mik,mjk->mij", a, b)
    norm = abs(weights[ids])[None] + np.einsum("mik,mjk->mij", abs(a), abs(b))
    return Bounded(value, gamma(a.shape[2] + 3) * norm + 30 * a.shape[2] * OPERAND_FLOOR)


def member_vectors(integers, population, sigma):
    """sign * sigma * noise of every member, from the pairs' integers [pairs, n]."""
    return sides(population)[:, None] * sigma / math.sqrt(VARIANCE) * integers[np.arange(population) // 2]


def vector(values, noises):
    """v + noise. Roundings: the constant, its product, the sum."""
    noises = with_mean(noises)
    return Bounded(values[None] + noises, gamma(3) * (abs(values)[None] + abs(noises)))


# Fitness


class Shaped(NamedTuple):
    members: np.ndarray  # the shaped fitness f of each
    weights: Bounded  # f+ - f- of each pair, which is what the kernels give and take
    integers: np.ndarray | None = None  # int8 of pair differences
    coefficient: Bounded | None = None  # what they are multiplied with


def inverse_deviation(scores):
    """1 / sqrt(var + 1e-5), and its relative error: scores are quantized to 25 bits of the largest, the variance
    takes five roundings, epsilon and its sum two; then the kernels' own root and reciprocal."""
    quantum = 2.0 ** (math.frexp(abs(scores).max())[1] - 26)
    variance = scores.var()
    error = 2 * quantum * math.sqrt(variance) + quantum**2 + 5.1 * U * variance + 2.1 * U * (variance + EPSILON)
    relative = 0.51 * error / (variance + EPSILON) + SQRT_ERROR + RECIPROCAL_ERROR
    return 1.0 / math.sqrt(variance + EPSILON), relative, quantum


def pair_weights(members):
    return members[0::2] - members[1::2]


def z_score(scores, group_size=0):
    inverse, relative, quantum = inverse_deviation(scores)
    size = group_size or scores.size
    means = np.repeat(scores.reshape(-1, size).mean(axis=1), size)
    members = (scores - means) * inverse
    weights = pair_weights(members)
    # The difference and its product; groups: two quantized means of three roundings, each below 4 times the largest
    # power of two in the scores, 2^25 quanta.
    absolute = (2 * quantum + 10 * U * 4 * 2.0**25 * quantum) * inverse if group_size else 0.0
    return Shaped(members, Bounded(weights, abs(weights) * (relative + 2.1 * U) + absolute))


def pair_difference(scores):
    """Yolk's default: differences in 127ths of the largest, as int8, times what makes them z-scores again."""
    inverse, relative, _ = inverse_deviation(scores)
    difference = pair_weights(scores)
    largest = abs(difference).max()
    exact = 127 * difference / largest
    if (abs(abs(exact % 1.0) - 0.5) < 127 * 3.1 * U).any():
        raise ValueError("a difference lies on the edge between two int8 values: take other scores")
    integers = np.rint(exact)
    coefficient = Bounded(largest / 127 * inverse, largest / 127 * inverse * (relative + 5.1 * U))
    weights = coefficient.value * integers
    members = np.stack([weights / 2, -weights / 2], axis=1).ravel()
    return Shaped(members, Bounded(weights, abs(integers) * coefficient.error), integers, coefficient)


def quantization(shaped, exact):
    """How far int8 weights may be from the z-score's: half a step, beside the roundings of both."""
    return 0.5 * shaped.coefficient.value + shaped.weights.error + exact.weights.error


# Update


def population_factor(population):
    return math.sqrt(population) / population


class Perturbation(NamedTuple):
    """What every member adds to a parameter, flat."""

    members: np.ndarray  # [N, elements], signs and scales included
    magnitude: np.ndarray  # [N/2, elements]: of a pair's terms, whose sum that is
    terms: int  # of a pair


def low_rank(a, b):
    magnitude = np.einsum("mik,mjk->mij", abs(a[0::2]), abs(b[0::2]))
    members = np.einsum("mik,mjk->mij", a, b)
    return Perturbation(members.reshape(len(a), -1), magnitude.reshape(len(a) // 2, -1), a.shape[2])


def full(noises):
    return Perturbation(noises, abs(noises[0::2]), 1)


def gradient(shaped, perturbation):
    """sqrt(N)/N * sum over members f_m E_m.

    In int8 sums are exact: four roundings remain, those of the factor, of its product with the coefficient, of the
    sum's conversion and of the scaling. In floats a term meets two products, its sum's additions, and four more. What
    the weights are off comes on top."""
    factor = population_factor(shaped.members.size)
    value = factor * (shaped.members @ perturbation.members)
    error = factor * (shaped.weights.error @ perturbation.magnitude)
    if shaped.integers is None:
        roundings = perturbation.terms * shaped.weights.value.size + 6
        error = error + gamma(roundings) * factor * (abs(shaped.weights.value) @ perturbation.magnitude)
    else:
        error = error + gamma(4) * abs(value)
    return Bounded(value, error)


def sgd(parameters, gradient_, rate):
    """Roundings: the product and the sum; a parameter below 2^-40 becomes zero."""
    value = parameters.value + rate * gradient_.value
    rounded = 1.01 * U * (rate * abs(gradient_.value) + abs(value))
    return Bounded(value, parameters.error + rate * gradient_.error + rounded + OPERAND_FLOOR)


def moment(beta, old, new):
    """beta m + (1 - beta) g: a rounding of each product, one of 1 - beta, one of the sum."""
    value = beta * old.value + (1 - beta) * new.value
    rounded = U * (abs(beta * old.value) + 2 * abs((1 - beta) * new.value) + 1.01 * abs(value))
    return Bounded(value, beta * old.error + (1 - beta) * new.error + rounded)


def adam(parameters, first, second, gradient_, rate, beta1, beta2, epsilon, step):
    """One step, `step` counted from 1; returns parameters and both moments. The direction is taken at both ends of the
    moments' errors; its own arithmetic is below 11 roundings (docs/kernels/optimizer.md)."""
    g, off = gradient_
    square = Bounded(g**2, 2 * abs(g) * off + off**2 + U * g**2)
    first, second = moment(beta1, first, gradient_), moment(beta2, second, square)
    unbias1, unbias2 = 1 / (1 - beta1**step), 1 / (1 - beta2**step)

    def direction(m, v):
        return m * unbias1 / (np.sqrt(np.maximum(v, 0) * unbias2) + epsilon)

    value = direction(first.value, second.value)
    largest = direction(abs(first.value) + first.error, second.value - second.error)
    smallest = direction(np.maximum(abs(first.value) - first.error, 0), second.value + second.error)
    off = np.maximum(largest - abs(value), abs(value) - smallest) + gamma(11) * largest
    return sgd(parameters, Bounded(value, off), rate), first, second
