# SPDX-License-Identifier: Apache-2.0
"""The register-tile kernel as Python text for Taichi and Numba: sums are local scalars, so loops are written out."""

import importlib.util
import pathlib
import tempfile

LANES = 8


def module_of(text, name, scope):
    """Imports `text` from a file (Taichi and Numba read a kernel's source), with the names of `scope` in it."""
    folder = tempfile.TemporaryDirectory(prefix="matmul-peers-")
    path = pathlib.Path(folder.name) / f"{name}.py"
    path.write_text(text)
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    module.__dict__.update(scope, folder_until_exit=folder)
    specification.loader.exec_module(module)
    return module


def scalar_tile(size, layout, rows, columns, unroll, number="{}"):
    """The body for given `row` and `column` (of the lane; its other columns lie eight apart), without indentation.

    A, B and C are flat: what does not depend on k is added up before the loop. `number` spells an index constant.
    """
    n = number.format
    lines = [f"s{r}_{j} = ZERO" for r in range(rows) for j in range(columns)]
    lines += [f"at_a{r} = (row + {n(r)}) * {n(size)}" for r in range(rows)]
    factor = "" if layout == "AB" else f" * {n(size)}"
    lines += [f"at_b{j} = (column + {n(LANES * j)}){factor}" for j in range(columns)]
    lines += [f"for step in range({n(size // unroll)}):"]
    for u in range(unroll):
        lines += [f"    k{u} = step * {n(unroll)} + {n(u)}"]
        lines += [f"    a{r} = a[at_a{r} + k{u}]" for r in range(rows)]
        ahead = f"k{u} * {n(size)}" if layout == "AB" else f"k{u}"
        lines += [f"    b{j} = b[at_b{j} + {ahead}]" for j in range(columns)]
        lines += [f"    s{r}_{j} += a{r} * b{j}" for r in range(rows) for j in range(columns)]
    lines += [f"c[at_a{r} + column + {n(LANES * j)}] = s{r}_{j}" for r in range(rows) for j in range(columns)]
    return lines


def vector_tile(size, layout, rows, columns):
    """The same with A and B as arrays of vec4, and of A B with C so, too; `column` then counts vec4 of C."""
    whole = layout == "AB"
    across = columns // 4 if whole else columns
    zero = "VECTOR(0.0)" if whole else "ZERO"
    lines = [f"s{r}_{j} = {zero}" for r in range(rows) for j in range(across)]
    lines += [f"for k in range({size // 4}):"]
    lines += [f"    a{r} = a[row + {r}, k]" for r in range(rows)]
    if not whole:
        lines += [f"    b{j} = b[column + {LANES * j}, k]" for j in range(across)]
    for q in range(4):
        if whole:
            lines += [f"    b{q}_{j} = b[4 * k + {q}, column + {LANES * j}]" for j in range(across)]
        factor = f"b{q}_{{j}}" if whole else f"b{{j}}[{q}]"
        lines += [f"    s{r}_{j} += a{r}[{q}] * {factor.format(j=j)}" for r in range(rows) for j in range(across)]
    lines += [f"c[row + {r}, column + {LANES * j}] = s{r}_{j}" for r in range(rows) for j in range(across)]
    return lines
