# SPDX-License-Identifier: Apache-2.0
"""The house strategy on every recording beside `bayes`, `greedy` and Kernel Tuner's best five: a row per recording."""

import sys

import surfaces
from compare import BUDGETS, Comparison, line, one_core_each, parser_of, short

YOLK = ("natural", "bayes", "greedy")
# The five that compare.py found best over the six (docs/tuner.md).
KERNEL_TUNER = ("adaptive_tabu_greywolf", "hybrid_vndx", "dual_annealing", "nsga2", "simulated_annealing")
ALLOWED = 0.015  # how far below the best of the others natural may be, beyond two standard errors


def text_of(cell):
    if cell is None:
        return "-"
    means, errors = " ".join(map(short, cell.mean)), " ".join(f"{error:.3f}"[1:] for error in cell.error)
    return f"{means} +- {errors} ({cell.repeats})"


def shortfalls(surface, natural, others):
    """Sentences: where another is ahead by more than is allowed beyond two standard errors of the difference."""
    for i, budget in enumerate(BUDGETS):
        for name, cell in others.items():
            behind = cell.mean[i] - natural.mean[i]
            twice = 2.0 * (cell.error[i] ** 2 + natural.error[i] ** 2) ** 0.5
            if behind > ALLOWED + twice:
                yield f"- {surface} at {budget}: {name} is ahead by {behind:.3f} +- {twice / 2:.3f}"


def table(comparison, strategies):
    cells = {name: comparison.yolk_cells(name) for name in YOLK}
    repeats = comparison.options.kernel_tuner_repeats
    cells |= {name: comparison.kernel_tuner_cells(name, repeats) for name in strategies}
    lines = [line(["recording", *cells]), "|" + "---|" * (len(cells) + 1)]
    below = []
    for surface in comparison.recordings:
        lines.append(line([surface, *(text_of(of.get(surface)) for of in cells.values())]))
        natural = cells["natural"].get(surface)
        others = {name: of[surface] for name, of in cells.items() if name != "natural" and surface in of}
        below += shortfalls(surface, natural, others) if natural else ()
    common = [surface for surface in comparison.recordings if all(surface in of for of in cells.values())]
    means = [
        " ".join(short(sum(of[surface].mean[i] for surface in common) / len(common)) for i in range(len(BUDGETS)))
        if common else "-"
        for of in cells.values()
    ]  # fmt: skip
    lines.append(line([f"mean of the {len(common)} that all have", *means]))
    return "\n".join([*lines, "", f"Below another by more than {ALLOWED} beyond two standard errors:",
                      *(below or ["- nowhere"])])  # fmt: skip


def main():
    parser = parser_of(__doc__, kernel_tuner_repeats=30)
    parser.add_argument("--kernel-tuner", default=",".join(KERNEL_TUNER), help="its strategies; '' for none")
    parser.add_argument("--parts", default="yolk,kernel-tuner", help="what to run; the table is of all that was run")
    options = parser.parse_args()
    one_core_each()
    comparison = Comparison(options, surfaces.SIX | surfaces.OTHERS)
    strategies = [name for name in options.kernel_tuner.split(",") if name]
    parts = options.parts.split(",")
    if "yolk" in parts:
        comparison.run([comparison.yolk_job(surface, name) for name in YOLK for surface in comparison.recordings])
    if "kernel-tuner" in parts:
        of_each = [comparison.kernel_tuner_jobs(surface, name, options.kernel_tuner_repeats)
                   for name in strategies for surface in comparison.recordings]  # fmt: skip
        comparison.run([job for together in zip(*of_each) for job in together])  # all of them advance together
    text = table(comparison, strategies)
    (comparison.out / "everywhere.md").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    sys.exit(main())
