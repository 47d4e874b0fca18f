# SPDX-License-Identifier: Apache-2.0
"""Holds what Yolk's kernels compute against EGGROLL's published formulas in float64 (eggroll_formulas.py).

With no file: writes cases, has yolk_parity_export run them on every device that VK_ICD_FILENAMES names, and compares.
With a file that yolk_parity_export wrote: compares. Ends with 1 where any value is beyond its tolerance.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

import eggroll_formulas as eggroll
from eggroll_formulas import Bounded

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
EXPORTER = REPOSITORY / "build/bench/bench/yolk_parity_export"
STORED = REPOSITORY / "evolve/tests/data/eggroll_parity.json"
COMMAND = "bench/peers/eggroll_parity.py --store"
PARAMETERS = ("linear", "embedding", "vector", "frozen")  # their ids are their positions
RULES = ("z-score", "group-z-score", "pair-difference")
CHECK_VECTOR = [-8, 13, 2, -6, 13, -15, -9, 6]  # seed 42, parameter 5, domain A, pair 3, time 7 (docs/kernels/noise.md)


# Cases: sizes, settings and inputs, all numbers exact in fp32 but for the settings, which are rounded to it.


def drawn(draw, count, unit=64):
    return [draw.randrange(-unit, unit + 1) / unit for _ in range(count)]


def make_case(name, seed, rank, pairs, group_size, shape):
    draw = random.Random(seed)
    out, into, vocabulary, width, vector, frozen, rows = shape
    sizes = {"out": out, "in": into, "vocabulary": vocabulary, "width": width, "vector": vector, "frozen": frozen}
    settings = {"seed": seed, "rank": rank, "population": 2 * pairs, "group_size": group_size, "generations": 2}
    settings |= {"sigma": 0.1, "learning_rate": 0.05, "beta1": 0.9, "beta2": 0.999}
    inputs = {
        "parameters": drawn(draw, out * into + vocabulary * width + vector + frozen),
        "x": drawn(draw, rows * into),
        "x_transposed": drawn(draw, rows * out),
        "ids": [draw.randrange(vocabulary) for _ in range(rows)],
        "scores": [3 + score for score in drawn(draw, 2 * pairs, 1024)],
    }
    return {"name": name, "settings": settings, "sizes": sizes, "inputs": inputs}


def stored_cases():
    """Small enough for the repository."""
    return [
        make_case("rank 3, groups that part pairs", 0x9E3779B97F4A7C15, 3, 3, 3, (3, 5, 3, 4, 3, 1, 2)),
        make_case("rank 1, groups of whole pairs", 42, 1, 3, 2, (2, 3, 2, 3, 9, 1, 2)),
    ]


def larger_cases():
    """Around the edges of tiles and noise blocks, and more pairs than one word of weights has."""
    return [
        make_case("rank 1", 7, 1, 17, 17, (37, 53, 11, 19, 23, 3, 3)),
        make_case("rank 3", 1 << 40 | 8, 3, 17, 2, (37, 53, 11, 19, 23, 3, 3)),
        make_case("rank 4", 9, 4, 64, 8, (9, 70, 5, 17, 8, 1, 5)),
    ]


# What the formulas give.


class Row:
    """A quantity of an export and what it should be."""

    def __init__(self, quantity, formula, bounded):
        value, error = bounded
        self.quantity, self.formula = quantity, formula
        self.value = np.asarray(value, dtype=np.float64).ravel()
        self.tolerance = np.broadcast_to(np.asarray(error, dtype=np.float64), np.shape(value)).ravel()


def fp32(number):
    return float(np.float32(number))


class Formulas:
    """The quantities of one case."""

    def __init__(self, case):
        self.settings, self.sizes, inputs = case["settings"], case["sizes"], case["inputs"]
        self.population, self.rank = self.settings["population"], self.settings["rank"]
        self.sigma = fp32(self.settings["sigma"])
        self.start = np.array(inputs["parameters"])
        sizes = self.sizes
        self.shapes = {"linear": (sizes["out"], sizes["in"]), "embedding": (sizes["vocabulary"], sizes["width"])}
        lengths = [np.prod(self.shapes["linear"]), np.prod(self.shapes["embedding"]), sizes["vector"]]
        self.parts = dict(zip(PARAMETERS, np.split(self.start, np.cumsum(lengths))))
        self.x = np.array(inputs["x"]).reshape(-1, sizes["in"])
        self.x_transposed = np.array(inputs["x_transposed"]).reshape(-1, sizes["out"])
        self.ids = np.array(inputs["ids"])
        self.scores = np.array(inputs["scores"])

    def weights(self, name):
        return self.parts[name].reshape(self.shapes[name])

    def integers(self, name, domain, time):
        """The noise of every pair: [pairs, rows, rank], of vectors [pairs, n]."""
        rows = self.sizes["vector"] if domain == "V" else self.shapes[name]["AB".index(domain)]
        shape = (rows,) if domain == "V" else (rows, self.rank)
        pairs = range(self.population // 2)
        count = int(np.prod(shape))
        drawn_ = eggroll.noise(self.settings["seed"], PARAMETERS.index(name), domain, pairs, count, time)
        return drawn_.reshape(-1, *shape)

    def factors(self, name, time):
        a, b = (self.integers(name, domain, time) for domain in "AB")
        return eggroll.member_factors(a, b, self.population, self.sigma)

    def vectors(self, time):
        return eggroll.member_vectors(self.integers("vector", "V", time), self.population, self.sigma)

    def noise_rows(self):
        times = range(self.settings["generations"])
        streams = [(name, domain) for name in ("linear", "embedding") for domain in "AB"] + [("vector", "V")]
        for name, domain in streams:
            value = np.stack([self.integers(name, domain, time) for time in times])
            yield Row(f"noise {name} {domain}", "Philox4x32-10, sums of nibbles", Bounded(value, 0.0))

    def member_rows(self):
        time = self.settings["generations"] - 1
        a, b = self.factors("linear", time)
        weights = self.weights("linear")
        yield Row("product", "x W^T + (x B) A^T", eggroll.product(self.x, weights, a, b))
        transposed = eggroll.product(self.x_transposed, weights.T, b, a)
        yield Row("transposed product", "x W + (x A) B^T", transposed)
        table = eggroll.embedding(self.ids, self.weights("embedding"), *self.factors("embedding", time))
        yield Row("embedding", "W[id] + A[id] B^T", table)
        yield Row("vector", "v + sigma n", eggroll.vector(self.parts["vector"], self.vectors(time)))
        frozen = np.tile(self.parts["frozen"], (self.population + 1, 1))
        yield Row("frozen vector", "v", Bounded(frozen, 0.0))

    def shaped(self, rule):
        if rule == "pair-difference":
            return eggroll.pair_difference(self.scores)
        return eggroll.z_score(self.scores, self.settings["group_size"] if rule == "group-z-score" else 0)

    def gradient(self, shaped, time):
        """Of all parameters, zero for what is frozen."""
        parts = [eggroll.low_rank(*self.factors(name, time)) for name in ("linear", "embedding")]
        parts = [eggroll.gradient(shaped, part) for part in (*parts, eggroll.full(self.vectors(time)))]
        parts.append(Bounded(*(np.zeros(self.sizes["frozen"]),) * 2))
        return Bounded(*(np.concatenate(both) for both in zip(*parts)))

    def updated(self, gradients, optimizer):
        """Parameters after each generation, [generations, elements]."""
        settings = self.settings
        rate, beta1, beta2 = (fp32(settings[name]) for name in ("learning_rate", "beta1", "beta2"))
        none = np.zeros_like(self.start)
        parameters, first, second = (Bounded(start, none) for start in (self.start, none, none))
        after = []
        for step, gradient in enumerate(gradients, 1):
            if optimizer == "sgd":
                parameters = eggroll.sgd(parameters, gradient, rate)
            else:
                parameters, first, second = eggroll.adam(
                    parameters, first, second, gradient, rate, beta1, beta2, fp32(1e-8), step
                )
            after.append(parameters)
        return Bounded(*(np.stack(both) for both in zip(*after)))

    def update_rows(self, rule, shaped, results_of=None, formula="published"):
        """`results_of`: the rule whose results these are, where it is another one."""
        results_of = results_of or rule
        yield Row(f"fitness {results_of}", formula, shaped.weights)
        gradients = [self.gradient(shaped, time) for time in range(self.settings["generations"])]
        yield Row(f"gradient {results_of}", formula, gradients[0])
        yield Row(f"sgd {results_of}", formula, self.updated(gradients, "sgd"))
        if rule != "group-z-score" and results_of == rule:
            yield Row(f"adam {results_of}", formula, self.updated(gradients, "adam"))

    def rows(self):
        yield from self.noise_rows()
        yield from self.member_rows()
        shaped = {rule: self.shaped(rule) for rule in RULES}
        integers = shaped["pair-difference"]
        yield Row("int8 pair-difference", "127 d / max |d|, half to even", Bounded(integers.integers, 0.0))
        yield Row("coefficient pair-difference", "max |d| / 127 / sd", Bounded(*map(np.atleast_1d, integers.coefficient)))
        formulas = {"pair-difference": "z-score of int8 differences", "group-z-score": "group mean, sd of all"}
        for rule in RULES:
            yield from self.update_rows(rule, shaped[rule], formula=formulas.get(rule, "(s - mean) / sd"))
        exact = shaped["z-score"]
        off = eggroll.quantization(integers, exact)
        within_int8 = exact._replace(weights=Bounded(exact.weights.value, off))
        yield from self.update_rows("z-score", within_int8, "pair-difference", "(s - mean) / sd, within int8")


# Comparing and showing.


def compare(case, results):
    """One finding per row: the largest error, the largest tolerance, and the largest share of its own tolerance that
    the error of an element is."""
    for row in Formulas(case).rows():
        got = np.array(results.get(row.quantity, []), dtype=np.float64)
        finding = {"case": case["name"], "quantity": row.quantity, "formula": row.formula, "values": row.value.size}
        if got.size != row.value.size:
            yield finding | {"passed": False, "failure": f"{got.size} values instead of {row.value.size}"}
            continue
        error, tolerance = abs(got - row.value), row.tolerance * (1 + 1e-6)  # float64 rounds, too
        share = np.divide(error, tolerance, out=np.where(error > 0, np.inf, 0.0), where=tolerance > 0)
        worst = int(np.argmax(share))
        finding |= {"largest_error": float(error.max()), "largest_tolerance": float(tolerance.max())}
        finding |= {"largest_share": float(share.max()), "passed": bool((share <= 1).all())}
        if not finding["passed"]:
            finding["failure"] = f"element {worst} is {got[worst]:.9g}, not {row.value[worst]:.9g}"
        yield finding


def worst_of(findings):
    """Findings of all cases by quantity and formula: the largest numbers, and the first failure with its case."""
    worst = {}
    for finding in findings:
        row = worst.setdefault((finding["quantity"], finding["formula"]), {"values": 0, "failure": None})
        row["values"] += finding["values"]
        for number in ("largest_error", "largest_tolerance", "largest_share"):
            row[number] = max(row.get(number, 0.0), finding.get(number, 0.0))
        if not finding["passed"] and row["failure"] is None:
            row["failure"] = f"{finding['case']}: {finding['failure']}"
    return worst


def show(device, findings):
    print(f"{device}, {len({finding['case'] for finding in findings})} cases")
    print(f"  {'quantity':<28} {'formula':<32} {'values':>7}  {'error':>8}  {'tolerance':>9}  share")
    for (quantity, formula), row in worst_of(findings).items():
        verdict = f"BEYOND, {row['failure']}" if row["failure"] else "within"
        numbers = f"{row['largest_error']:8.1e}  {row['largest_tolerance']:9.1e}  {row['largest_share']:5.2f}"
        print(f"  {quantity:<28} {formula:<32} {row['values']:>7,}  {numbers}  {verdict}")


def compare_export(exported, as_json):
    passed = bool(exported["runs"])
    for run in exported["runs"]:
        findings = [finding for case in run["cases"] for finding in compare(case, case["results"])]
        passed = passed and bool(findings) and all(finding["passed"] for finding in findings)
        if as_json:
            print("\n".join(json.dumps({"device": run["device"], **finding}) for finding in findings))
        else:
            show(run["device"], findings)
    return passed


def store(path):
    """The cases that the suite runs, with what the formulas give, to twelve digits, and tolerances to three, upwards."""
    made_by = f"{COMMAND} with NumPy {np.__version__}"
    lines = []
    for case in stored_cases():
        rows = []
        for row in Formulas(case).rows():
            values = ", ".join(f"{value:.12g}" for value in row.value)
            tolerances = ", ".join(f"{1.006 * tolerance:.2e}" for tolerance in row.tolerance)
            exact = not row.tolerance.any()
            head = json.dumps({"quantity": row.quantity, "formula": row.formula})[:-1]
            rows.append(f'{head}, "values": [{values}], "tolerances": [{"" if exact else tolerances}]}}')
        head = ",\n".join(f"{json.dumps(key)}: {json.dumps(case[key])}" for key in case)
        lines.append("{" + head + ',\n"expected": [\n' + ",\n".join(rows) + "\n]}")
    text = '{"made_by": ' + json.dumps(made_by) + ', "cases": [\n' + ",\n".join(lines) + "\n]}\n"
    path.write_text(text)


def export(options):
    with tempfile.TemporaryDirectory() as folder:
        cases, results = pathlib.Path(folder, "cases.json"), pathlib.Path(folder, "results.json")
        cases.write_text(json.dumps({"cases": stored_cases() + larger_cases()}))
        try:
            ran = subprocess.run([*options.exporter.split(), str(cases), str(results)])
        except OSError as error:
            sys.exit(f"Cannot start {options.exporter}: {error.strerror}. Build yolk_parity_export (preset bench).")
        if ran.returncode != 0:
            sys.exit(f"{options.exporter} ended with {ran.returncode}.")
        text = results.read_text()
        if options.keep:
            pathlib.Path(options.keep).write_text(text)
        return json.loads(text)


def read_export(path):
    try:
        exported = json.loads(pathlib.Path(path).read_text())
    except (OSError, ValueError) as error:
        sys.exit(f"Cannot read {path}: {error}.")
    if not isinstance(exported, dict) or "runs" not in exported:
        sys.exit(f"{path} has no results: give the second of the files that yolk_parity_export takes.")
    return exported


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", help="what yolk_parity_export wrote")
    parser.add_argument("--exporter", default=str(EXPORTER), metavar="COMMAND", help="default: the preset bench's")
    parser.add_argument("--keep", metavar="FILE", help="keep the export there")
    parser.add_argument("--json", action="store_true", help="one object per case and quantity instead of the table")
    parser.add_argument("--store", action="store_true", help=f"only write {STORED.relative_to(REPOSITORY)}")
    options = parser.parse_args()
    if eggroll.noise(42, 5, "A", [3], 8, 7).ravel().tolist() != CHECK_VECTOR:
        sys.exit("The noise of this script is not that of docs/kernels/noise.md.")
    if options.store:
        return store(STORED)
    exported = read_export(options.file) if options.file else export(options)
    sys.exit(0 if compare_export(exported, options.json) else 1)


if __name__ == "__main__":
    main()
