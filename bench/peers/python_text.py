# SPDX-License-Identifier: Apache-2.0
"""The register-tile kernel as Python text for Taichi and Numba: sums are local scalars, so all is written out, not looped over."""

import importlib.util
import pathlib
import tempfile

LANES = 8


def module_of(text, name, scope):
    """Imports `text` from a file (Taichi and Numba read a kernel's source), with the names of `scope` in it."""
    folder = tempfile.mkdtemp(prefix="matmul-peers-")
    path = pathlib.Path(folder) / f"{name}.py"
    path.write_text(text)
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    module.__dict__.update(scope)
    specification.loader.exec_module(module)
    return module


def scalar_tile(size, layout, rows, columns, unroll):
    """The body for given `row` and `column` (of the lane; its other columns lie eight apart), without indentation."""
    lines = [f"s{r}_{j} = ZERO" for r in range(rows) for j in range(columns)]
    lines += [f"for step in range({size // unroll}):"]
    for u in range(unroll):
        lines += [f"    k{u} = step * {unroll} + {u}"]
        lines += [f"    a{r} = a[row + {r}, k{u}]" for r in range(rows)]
        index = "k{u}, column + {at}" if layout == "AB" else "column + {at}, k{u}"
        lines += [f"    b{j} = b[{index.format(u=u, at=LANES * j)}]" for j in range(columns)]
        lines += [f"    s{r}_{j} += a{r} * b{j}" for r in range(rows) for j in range(columns)]
    lines += [f"c[row + {r}, column + {LANES * j}] = s{r}_{j}" for r in range(rows) for j in range(columns)]
    return lines


def vector_tile(size, rows, columns):
    """The same for A B with all three as arrays of vec4; `column` counts vec4 of C."""
    across = columns // 4
    lines = [f"s{r}_{j} = VECTOR(0.0)" for r in range(rows) for j in range(across)]
    lines += [f"for k in range({size // 4}):"]
    lines += [f"    a{r} = a[row + {r}, k]" for r in range(rows)]
    for q in range(4):
        lines += [f"    b{q}_{j} = b[4 * k + {q}, column + {LANES * j}]" for j in range(across)]
        lines += [f"    s{r}_{j} += a{r}[{q}] * b{q}_{j}" for r in range(rows) for j in range(across)]
    lines += [f"c[row + {r}, column + {LANES * j}] = s{r}_{j}" for r in range(rows) for j in range(across)]
    return lines
