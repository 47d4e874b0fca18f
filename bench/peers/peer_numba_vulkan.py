# SPDX-License-Identifier: Apache-2.0
"""numba-vulkan: kernels in numba.cuda's style. Arrays hold scalars: no vec4 loads, no uniform buffers."""

import numba_vulkan as nv
import numpy as np
from common import TEXTBOOK, Built, Kernel, serve
from python_text import LANES, module_of, scalar_tile

ZERO = np.float32(0)
EDGE = 16


@nv.jit(fastmath=True)
def textbook(a, b, c):
    tile_a = nv.shared.array((16, 16), np.float32)
    tile_b = nv.shared.array((16, 16), np.float32)
    tx = nv.local_id(0)
    ty = nv.local_id(1)
    row = nv.group_id(1) * 16 + ty
    column = nv.group_id(0) * 16 + tx
    total = ZERO
    for tile in range(a.shape[1] // 16):
        tile_a[ty, tx] = a[row, tile * 16 + tx]
        tile_b[ty, tx] = b[tile * 16 + ty, column]
        nv.barrier()
        for j in range(16):
            total += tile_a[ty, j] * tile_b[j, tx]
        nv.barrier()
    c[row, column] = total


def register_tile(size, layout, rows, columns, unroll):
    lines = ["def tile(a, b, c):"]
    # Unsigned: an index that may be negative costs a comparison and a choice at every load.
    lines += [f"    row = U(nv.group_id(1)) * U({rows})"]
    lines += [f"    column = U(nv.group_id(0)) * U({LANES * columns}) + U(nv.local_id(0))"]
    lines += [f"    {line}" for line in scalar_tile(size, layout, rows, columns, unroll, "U({})")]
    module = module_of("\n".join(lines), f"tile_{layout}_{rows}_{columns}", {"nv": nv, "ZERO": ZERO, "U": np.uint32})
    return nv.jit(fastmath=True)(module.tile)


class NumbaVulkan:
    name = "numba-vulkan"

    def __init__(self):
        first = nv.list_devices()[0]
        nv.select_device(first.index)
        self.device = first.name

    @staticmethod
    def build(function, groups, local_size, flat, a, b):
        shape = (a.size,) if flat else a.shape
        arrays = [nv.to_device(matrix.reshape(shape)) for matrix in (a, b, np.full(a.shape, np.nan, np.float32))]

        def prepare(repetitions):
            def run():
                for _ in range(repetitions):
                    function[groups, local_size](*arrays)
                nv.synchronize()

            return run

        return Built(prepare, lambda: arrays[2].copy_to_host().reshape(a.shape))

    def kernels(self, size):
        edges = (size // EDGE, size // EDGE)
        rows = [Kernel(TEXTBOOK, "AB", lambda a, b: self.build(textbook, edges, (EDGE, EDGE), False, a, b))]
        tiles = {"AB": ((4, 4), (8, 8), (16, 8)), "ABt": ((8, 8), (16, 4), (16, 8), (8, 16))}
        for layout, shapes in tiles.items():
            for shape in shapes:

                def build(a, b, layout=layout, shape=shape):
                    groups = (size // (LANES * shape[1]), size // shape[0])
                    return self.build(register_tile(size, layout, *shape, 4), groups, (LANES, 1), True, a, b)

                rows.append(Kernel(f"registers {shape[0]}x{shape[1]} {layout}", layout, build))
        return rows


if __name__ == "__main__":
    serve(NumbaVulkan)
