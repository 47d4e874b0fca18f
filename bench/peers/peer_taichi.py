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


def register_text(size, rows, steps, body, kinds):
    """One invocation per tile: eight neighbours share rows, and own `steps` times eight columns (or vec4) of them."""
    width = size // 4 if kinds[1] == "VECTORS" else size
    across = width // steps
    of_a, of_c = kinds
    lines = ["@ti.kernel", f"def tile(a: {of_a}, b: {of_a}, c: {of_c}):", f"    ti.loop_config(block_dim={LANES})"]
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
    def build(text, kinds, a, b):
        scope = {
            "ti": ti,
            "ZERO": 0.0,
            "VECTOR": ti.types.vector(4, ti.f32),
            "SCALARS": ti.types.ndarray(dtype=ti.f32, ndim=2),
            "FLAT": ti.types.ndarray(dtype=ti.f32, ndim=1),
            "VECTORS": ti.types.ndarray(dtype=ti.types.vector(4, ti.f32), ndim=2),
        }
        function = module_of(text, "tile", scope).tile
        arrays = []
        of_a, of_c = kinds
        for matrix, kind in ((a, of_a), (b, of_a), (np.full(a.shape, np.nan, np.float32), of_c)):
            if kind == "VECTORS":
                array = ti.Vector.ndarray(4, ti.f32, (len(a), len(a) // 4))
                matrix = matrix.reshape(len(a), len(a) // 4, 4)
            else:
                matrix = matrix.reshape(-1) if kind == "FLAT" else matrix
                array = ti.ndarray(ti.f32, matrix.shape)
            array.from_numpy(matrix)
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
        rows = [Kernel(TEXTBOOK, "AB", lambda a, b: self.build(text, ("SCALARS", "SCALARS"), a, b))]
        tiles = {"AB": ((8, 8), (8, 16)), "ABt": ((8, 8), (16, 8), (8, 16))}
        for vectors in (False, True):
            for layout, shapes in tiles.items():
                for shape in shapes:

                    def build(a, b, vectors=vectors, layout=layout, shape=shape):
                        of_a = "VECTORS" if vectors else "FLAT"
                        of_c = "SCALARS" if vectors and layout == "ABt" else of_a
                        kinds = (of_a, of_c)
                        body = vector_tile(size, layout, *shape) if vectors else scalar_tile(size, layout, *shape, 4)
                        steps = shape[1] // 4 if of_c == "VECTORS" else shape[1]
                        return self.build(register_text(size, shape[0], steps, body, kinds), kinds, a, b)

                    name = f"registers {shape[0]}x{shape[1]} {'vec4 ' if vectors else ''}{layout}"
                    rows.append(Kernel(name, layout, build))
        return rows


if __name__ == "__main__":
    serve(Taichi)
