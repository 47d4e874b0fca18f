# SPDX-License-Identifier: Apache-2.0
"""The stored numbers of the parity test are EGGROLL's formulas, derived a second time: element by element, in Python's
floats, without NumPy and without bench/peers/eggroll_formulas.py. Three wrong formulas are beyond their tolerances.

    python3 eggroll_parity_test.py ROOT
"""

import json
import os
import struct
import sys
import unittest

ROOT = sys.argv.pop(1)
NUMBERS = os.path.join(ROOT, "evolve/tests/data/eggroll_parity.json")
DOMAINS = {"A": 0, "B": 1, "V": 2}
IDS = {"linear": 0, "embedding": 1, "vector": 2}
RULES = ("z-score", "group-z-score", "pair-difference")
DIGITS = 5e-12  # half of the last of twelve digits, relative


def fp32(number):
    return struct.unpack("f", struct.pack("f", number))[0]


def noise_element(seed, parameter, domain, pair, time, index):
    """docs/kernels/noise.md"""
    c = [index // 8, parameter | DOMAINS[domain] << 24, pair, time]
    keys = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        left, right = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [right >> 32 ^ c[1] ^ keys[0], right & 0xFFFFFFFF, left >> 32 ^ c[3] ^ keys[1], left & 0xFFFFFFFF]
        keys = [keys[0] + 0x9E3779B9 & 0xFFFFFFFF, keys[1] + 0xBB67AE85 & 0xFFFFFFFF]
    half = c[index // 2 % 4] >> 16 * (index % 2)
    return sum(half >> shift & 15 for shift in (0, 4, 8, 12)) - 30


class Formulas:
    """`sign`, `root` and `factor`: what a wrong formula has in place of 1, of the square root of the rank, and of
    sqrt(N)/N."""

    def __init__(self, case, sign=1, root=None, factor=None):
        self.__dict__.update(case["settings"] | case["sizes"] | case["inputs"])
        self.sigma, self.rate = sign * fp32(self.sigma), fp32(self.learning_rate)
        self.root = root or self.rank**0.5
        self.factor = factor or self.population**0.5 / self.population
        self.shapes = {"linear": (self.out, getattr(self, "in")), "embedding": (self.vocabulary, self.width)}
        self.times, self.pairs = range(self.generations), range(self.population // 2)
        self.members = range(-1, self.population)  # -1: the mean

    def integer(self, name, domain, member, time, index):
        return noise_element(self.seed, IDS[name], domain, member // 2, time, index)

    def perturbation(self, name, member, time, row, column=0):
        """What the member adds to an element."""
        if member < 0:
            return 0.0
        scale = self.sigma if member % 2 == 0 else -self.sigma
        if name == "vector":
            return scale * self.integer(name, "V", member, time, row) / 85**0.5
        products = (
            self.integer(name, "A", member, time, row * self.rank + k)
            * self.integer(name, "B", member, time, column * self.rank + k)
            for k in range(self.rank)
        )
        return scale / self.root / 85 * sum(products)

    def start(self, name, row, column=0):
        rows, columns = self.shapes["linear"]
        before = {"linear": 0, "embedding": rows * columns, "vector": rows * columns + self.vocabulary * self.width}
        return self.parameters[before[name] + row * self.shapes.get(name, (0, 1))[1] + column]

    def weight(self, name, member, row, column=0):
        return self.start(name, row, column) + self.perturbation(name, member, self.times[-1], row, column)

    def outputs(self):
        """The perturbed weights are formed, as no kernel and not the script does."""
        out, into = self.shapes["linear"]
        rows = range(len(self.ids))
        yield "product", [
            sum(self.x[row * into + i] * self.weight("linear", m, o, i) for i in range(into))
            for m in self.members for row in rows for o in range(out)
        ]  # fmt: skip
        yield "transposed product", [
            sum(self.x_transposed[row * out + o] * self.weight("linear", m, o, i) for o in range(out))
            for m in self.members for row in rows for i in range(into)
        ]  # fmt: skip
        table = [self.weight("embedding", m, i, j) for m in self.members for i in self.ids for j in range(self.width)]
        yield "embedding", table
        yield "vector", [self.weight("vector", m, i) for m in self.members for i in range(self.vector)]
        yield "frozen vector", self.parameters[-self.frozen :] * len(self.members)

    def noises(self):
        lengths = {"linear A": self.out, "linear B": self.shapes["linear"][1]}
        lengths |= {"embedding A": self.vocabulary, "embedding B": self.width, "vector V": self.vector / self.rank}
        for stream, length in lengths.items():
            name, domain = stream.split()
            yield f"noise {stream}", [
                self.integer(name, domain, 2 * pair, time, i)
                for time in self.times for pair in self.pairs for i in range(round(length * self.rank))
            ]  # fmt: skip

    def shaped(self, rule):
        """f of each member."""
        s, n = self.scores, self.population
        deviation = (sum((x - sum(s) / n) ** 2 for x in s) / n + 1e-5) ** 0.5
        if rule == "pair-difference":
            differences = [s[2 * pair] - s[2 * pair + 1] for pair in self.pairs]
            self.step = max(map(abs, differences)) / 127 / deviation
            self.int8 = [round(d / deviation / self.step) for d in differences]
            return [side * self.step * q / 2 for q in self.int8 for side in (1, -1)]
        size = self.group_size if rule == "group-z-score" else n
        means = [sum(s[i // size * size :][:size]) / size for i in range(n)]
        return [(x - mean) / deviation for x, mean in zip(s, means)]

    def gradient(self, f, time):
        places = [(name, i, j) for name, (a, b) in self.shapes.items() for i in range(a) for j in range(b)]
        places += [("vector", i, 0) for i in range(self.vector)]
        moved = [self.factor * sum(x * self.perturbation(p[0], m, time, *p[1:]) for m, x in enumerate(f)) for p in places]
        return moved + [0.0] * self.frozen

    def updated(self, gradients, adam):
        values, first, second, after = self.parameters, [0.0] * 10**3, [0.0] * 10**3, []
        beta1, beta2 = fp32(self.beta1), fp32(self.beta2)
        for t, g in enumerate(gradients, 1):
            first = [beta1 * m + (1 - beta1) * x for m, x in zip(first, g)]
            second = [beta2 * v + (1 - beta2) * x * x for v, x in zip(second, g)]
            root = [(v / (1 - beta2**t)) ** 0.5 + fp32(1e-8) for v in second]
            steps = [m / (1 - beta1**t) / r for m, r in zip(first, root)] if adam else g
            values = [value + self.rate * step for value, step in zip(values, steps)]
            after += values
        return after

    def updates(self):
        for rule in RULES:
            f = self.shaped(rule)
            gradients = [self.gradient(f, time) for time in self.times]
            yield f"fitness {rule}", [f[2 * pair] - f[2 * pair + 1] for pair in self.pairs]
            yield f"gradient {rule}", gradients[0]
            yield f"sgd {rule}", self.updated(gradients, False)
            yield f"adam {rule}", self.updated(gradients, True)
        yield "int8 pair-difference", self.int8
        yield "coefficient pair-difference", [self.step]

    def quantities(self):
        return dict(self.noises()) | dict(self.outputs()) | dict(self.updates())


def within_int8(row):
    return row["formula"].endswith("within int8")


class StoredNumbers(unittest.TestCase):
    def setUp(self):
        with open(NUMBERS) as file:
            self.cases = json.load(file)["cases"]

    def wrong(self, case, **formula):
        """Quantities of which an element is beyond its tolerance."""
        got, found = Formulas(case, **formula).quantities(), set()
        for row in case["expected"]:
            tolerances = row["tolerances"] or [0.0] * len(row["values"])
            allowed = [tolerance + DIGITS * abs(value) for value, tolerance in zip(row["values"], tolerances)]
            if any(abs(a - b) > c for a, b, c in zip(got[row["quantity"]], row["values"], allowed)):
                found.add(row["quantity"])
        return found

    def test_they_are_the_formulas(self):
        self.assertEqual(len(self.cases), 2)
        for case in self.cases:
            quantities = Formulas(case).quantities()
            for row in case["expected"]:
                # What int8 differences are compared with is the z-score's.
                name = row["quantity"].replace("pair-difference", "z-score") if within_int8(row) else row["quantity"]
                with self.subTest(case=case["name"], quantity=name):
                    self.assertEqual(len(quantities[name]), len(row["values"]))
                    self.assertIn(len(row["tolerances"]), (0, len(row["values"])))
                    for mine, stored in zip(quantities[name], row["values"]):
                        self.assertAlmostEqual(mine, stored, delta=DIGITS * abs(stored) + 1e-14)

    def test_right_formulas_are_within_the_tolerances(self):
        for case in self.cases:
            self.assertEqual(self.wrong(case), set())

    def test_wrong_formulas_are_beyond_the_tolerances(self):
        layers = {"product", "transposed product", "embedding"}
        updates = {f"{step} {rule}" for step in ("gradient", "sgd") for rule in RULES}
        adam = {"adam z-score", "adam pair-difference"}
        for case in self.cases:
            members = case["settings"]["population"]
            self.assertEqual(self.wrong(case, sign=-1), layers | {"vector"} | updates | adam)
            self.assertEqual(self.wrong(case, factor=1 / members) - adam, updates)
        self.assertEqual(self.cases[0]["settings"]["rank"], 3)
        self.assertEqual(self.wrong(self.cases[0], root=1) - adam, layers | updates)


unittest.main()
