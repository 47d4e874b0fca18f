# SPDX-License-Identifier: Apache-2.0
"""The matmul kernels as shader text, in GLSL (for Kompute) and in WGSL (for wgpu), from one description of each.

Matrices are square and row-major; sizes are constants of the text, so that a driver may unroll as it likes.
"AB" is C = A B with B as [k, column], "ABt" is C = A B^T with B as [column, k].
"""

LANES = 8  # invocations of a workgroup without barriers: one AVX2 vector of lavapipe
EDGE = 16  # of the textbook kernel's tile
UNIFORM_BYTES = 65536  # of A that one uniform binding holds

DIALECTS = {
    "glsl": {
        "var": "vec4",
        "scalar": "float",
        "zero4": "vec4(0.0)",
        "index": "uint",
        "loop": "for (uint k = 0u; k < {count}u; ++k) {{",
        "lane": "gl_LocalInvocationID.x",
        "group": "gl_WorkGroupID",
    },
    "wgsl": {
        "var": "var",
        "scalar": "var",
        "zero4": "vec4<f32>(0.0)",
        "index": "let",
        "loop": "for (var k = 0u; k < {count}u; k++) {{",
        "lane": "local.x",
        "group": "group",
    },
}


def rows_of_panel(size):
    """Rows of A that fit in one uniform binding."""
    return UNIFORM_BYTES // (4 * size)


def head(dialect, local_size, a_type, b_type, c_type, uniform_vectors=0):
    """Bindings 0 to 2 and the entry point's opening."""
    x, y = local_size
    if dialect == "glsl":
        return [
            "#version 460",
            f"layout(local_size_x = {x}, local_size_y = {y}) in;",
            f"layout(std430, binding = 0) readonly buffer BlockA {{ {a_type} a[]; }};",
            f"layout(std430, binding = 1) readonly buffer BlockB {{ {b_type} b[]; }};",
            f"layout(std430, binding = 2) writeonly buffer BlockC {{ {c_type} c[]; }};",
        ], "void main() {"
    spelled = {"float": "f32", "vec4": "vec4<f32>"}
    a_binding = f"var<storage, read> a: array<{spelled[a_type]}>;"
    if uniform_vectors:
        a_binding = f"var<uniform> a: array<vec4<f32>, {uniform_vectors}>;"
    entry = "@builtin(local_invocation_id) local: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>"
    return [
        f"@group(0) @binding(0) {a_binding}",
        f"@group(0) @binding(1) var<storage, read> b: array<{spelled[b_type]}>;",
        f"@group(0) @binding(2) var<storage, read_write> c: array<{spelled[c_type]}>;",
    ], f"@compute @workgroup_size({x}, {y}, 1) fn main({entry}) {{"


def textbook(dialect, size):
    """C = A B by 16x16 tiles of both operands in shared memory, one element of C per invocation."""
    words = DIALECTS[dialect]
    lines, entry = head(dialect, (EDGE, EDGE), "float", "float", "float")
    if dialect == "glsl":
        lines += [f"shared float tileA[{EDGE}][{EDGE}];", f"shared float tileB[{EDGE}][{EDGE}];", entry]
        lines += ["uint tx = gl_LocalInvocationID.x; uint ty = gl_LocalInvocationID.y; float sum = 0.0;"]
        sync = "barrier();"
        inner = f"for (uint j = 0u; j < {EDGE}u; ++j) {{"
    else:
        shared = f"array<array<f32, {EDGE}>, {EDGE}>"
        lines += [f"var<workgroup> tileA: {shared};", f"var<workgroup> tileB: {shared};", entry]
        lines += ["let tx = local.x; let ty = local.y; var sum = 0.0;"]
        sync = "workgroupBarrier();"
        inner = f"for (var j = 0u; j < {EDGE}u; j++) {{"
    lines += [
        f"{words['index']} row = {words['group']}.y * {EDGE}u + ty;",
        f"{words['index']} column = {words['group']}.x * {EDGE}u + tx;",
        words["loop"].format(count=size // EDGE),
        f"tileA[ty][tx] = a[row * {size}u + k * {EDGE}u + tx];",
        f"tileB[ty][tx] = b[(k * {EDGE}u + ty) * {size}u + column];",
        sync,
        inner,
        "sum += tileA[ty][j] * tileB[j][tx]; }",
        sync,
        "}",
        f"c[row * {size}u + column] = sum;",
        "}",
    ]
    return "\n".join(lines), (size // EDGE, size // EDGE, 1)


def register_tile(dialect, size, layout, rows, columns, uniform=False):
    """No barrier and no shared memory: an invocation owns `rows` x `columns` of C in registers; every load is a vec4.

    AB: `columns` are whole vec4 of C, eight vec4 apart; ABt: single columns, eight apart: lanes lie side by side.
    With `uniform`, A is a panel of rows_of_panel(size) rows in a uniform buffer, and C the rows that belong to it.
    """
    words = DIALECTS[dialect]
    panel_rows = rows_of_panel(size) if uniform else size
    quads = size // 4
    whole = layout == "AB"  # C in whole vec4
    across = columns // 4 if whole else columns  # steps of eight lanes
    width = quads if whole else size  # of a row of C, in what C is stored as
    lines, entry = head(
        dialect, (LANES, 1), "vec4", "vec4", "vec4" if whole else "float", panel_rows * quads if uniform else 0
    )
    lines += [
        entry,
        f"{words['index']} lane = {words['lane']};",
        f"{words['index']} row = {words['group']}.y * {rows}u;",
        f"{words['index']} column = {words['group']}.x * {LANES * across}u + lane;",
    ]
    kind, zero = (words["var"], words["zero4"]) if whole else (words["scalar"], "0.0")
    lines += [f"{kind} s{r}_{j} = {zero};" for r in range(rows) for j in range(across)]
    lines += [words["loop"].format(count=quads)]
    lines += [f"{words['var']} a{r} = a[(row + {r}u) * {quads}u + k];" for r in range(rows)]
    if not whole:
        lines += [f"{words['var']} b{j} = b[(column + {LANES * j}u) * {quads}u + k];" for j in range(across)]
    for q, part in enumerate("xyzw"):
        lines += ["{"]
        if whole:
            lines += [
                f"{words['var']} b{j} = b[(4u * k + {q}u) * {quads}u + column + {LANES * j}u];" for j in range(across)
            ]
        b_part = "" if whole else f".{part}"
        lines += [f"s{r}_{j} += a{r}.{part} * b{j}{b_part};" for r in range(rows) for j in range(across)]
        lines += ["}"]
    lines += ["}"]
    lines += [
        f"c[(row + {r}u) * {width}u + column + {LANES * j}u] = s{r}_{j};" for r in range(rows) for j in range(across)
    ]
    lines += ["}"]
    return "\n".join(lines), (width // (LANES * across), panel_rows // rows, 1)
