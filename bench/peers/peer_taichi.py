# SPDX-License-Identifier: Apache-2.0
"""Taichi with arch=ti.vulkan: kernels over ndarrays, of scalars or of vec4. It has no uniform buffers."""

import numpy as np
import taichi as ti
from common import TEXTBOOK, Built, Kernel, serve
from python_text import LANES, module_of, scalar_tile, vector_tile

EDGE = 16

TEXTBOOK_TEXT = """
@ti.kernel
def tile(a: SCALARS, b: SCALARS, c: SCALARS):
    ti.loop_config(block_dim=256)
    for index in range({count}):
        tile_a = ti.simt.block.SharedArray((16, 16), ti.f32)
        tile_b = ti.simt.block.SharedArray((16, 16), ti.f32)
        local = index % 256
        block = index // 256
        tx = local % 16
        ty = local // 16
        row = block // {blocks} * 16 + ty
        column = block % {blocks} * 16 + tx
        total = 0.0
        for k in range({blocks}):
            tile_a[ty, tx] = a[row, k * 16 + tx]
            tile_b[ty, tx] = b[k * 16 + ty, column]
            ti.simt.block.sync()
            for j in range(16):
                total += tile_a[ty, j] * tile_b[j, tx]
            ti.simt.block.sync()
        c[row, column] = total
"""


def register_text(size, rows, steps, body, kind):
    """One invocation per tile: eight neighbours share their rows, `steps` times eight columns (or vec4) lie under them."""
    width = size // 4 if kind == "VECTORS" else size
    across = width // steps
    lines = ["@ti.kernel", f"def tile(a: {kind}, b: {kind}, c: {kind}):", f"    ti.loop_config(block_dim={LANES})"]
    lines += [f"    for index in range({across * size // rows}):"]
    lines += [f"        row = index // {across} * {rows}"]
    lines += [f"        column = index % {across} // {LANES} * {LANES * steps} + index % {LANES}"]
    return "\n".join(lines + [f"        {line}" for line in body])


class Taichi:
    name = "taichi"

    def __init__(self):
        ti.init(arch=ti.vulkan, offline_cache=False, log_level=ti.WARN)
        if ti.lang.impl.current_cfg().arch != ti.vulkan:  # it falls back to the CPU in silence
            raise RuntimeError("Taichi found no Vulkan device.")
        self.device = "Vulkan (Taichi tells no name)"

    @staticmethod
    def build(text, name, vectors, a, b):
        scope = {
            "ti": ti,
            "ZERO": 0.0,
            "VECTOR": ti.types.vector(4, ti.f32),
            "SCALARS": ti.types.ndarray(dtype=ti.f32, ndim=2),
            "VECTORS": ti.types.ndarray(dtype=ti.types.vector(4, ti.f32), ndim=2),
        }
        function = module_of(text, name, scope).tile
        shape = (len(a), len(a) // 4, 4) if vectors else a.shape
        arrays = []
        for matrix in (a, b, np.full(a.shape, np.nan, np.float32)):
            array = ti.Vector.ndarray(4, ti.f32, shape[:2]) if vectors else ti.ndarray(ti.f32, shape)
            array.from_numpy(matrix.reshape(shape))
            arrays.append(array)

        def prepare(repetitions):
            def run():
                for _ in range(repetitions):
                    function(*arrays)
                ti.sync()

            return run

        return Built(prepare, lambda: arrays[2].to_numpy().reshape(a.shape))

    def kernels(self, size):
        text = TEXTBOOK_TEXT.format(count=size * size, blocks=size // EDGE)
        rows = [Kernel(TEXTBOOK, "AB", lambda a, b: self.build(text, "textbook", False, a, b))]
        for layout in ("vec4 AB", "AB", "ABt"):
            for shape in ((8, 4), (8, 8), (16, 4)):
                vectors = layout.startswith("vec4")

                def build(a, b, layout=layout, shape=shape, vectors=vectors):
                    body = vector_tile(size, *shape) if vectors else scalar_tile(size, layout, *shape, 4)
                    steps = shape[1] // 4 if vectors else shape[1]
                    lines = register_text(size, shape[0], steps, body, "VECTORS" if vectors else "SCALARS")
                    return self.build(lines, "tile", vectors, a, b)

                rows.append(Kernel(f"registers {shape[0]}x{shape[1]} {layout}", layout.split()[-1], build))
        return rows


if __name__ == "__main__":
    serve(Taichi)
