# SPDX-License-Identifier: Apache-2.0
"""Kompute (kp): GLSL through glslc. Its algorithms bind storage buffers only: no form with a uniform buffer."""

import pathlib
import subprocess
import tempfile

import kp
import numpy as np
import shader_text
from common import TEXTBOOK, Built, Kernel, serve


def spirv(text):
    with tempfile.TemporaryDirectory() as folder:
        source, module = pathlib.Path(folder) / "matmul.comp", pathlib.Path(folder) / "matmul.spv"
        source.write_text(text)
        subprocess.run(["glslc", "-O", "--target-env=vulkan1.1", "-o", module, source], check=True)
        return module.read_bytes()


class Kompute:
    name = "kompute"

    def __init__(self):
        self.manager = kp.Manager()
        self.device = self.manager.get_device_properties()["device_name"]

    def build(self, text, grid, a, b):
        c = np.full(a.shape, np.nan, np.float32)
        tensors = [self.manager.tensor(matrix) for matrix in (a, b, c)]
        self.manager.sequence().eval(kp.OpTensorSyncDevice(tensors))
        algorithm = self.manager.algorithm(tensors, spirv(text), grid)

        def prepare(repetitions):
            sequence = self.manager.sequence()
            for _ in range(repetitions):
                sequence.record(kp.OpAlgoDispatch(algorithm))
            return sequence.eval

        def result():
            self.manager.sequence().eval(kp.OpTensorSyncLocal([tensors[2]]))
            return tensors[2].data().reshape(a.shape)

        return Built(prepare, result)

    def kernels(self, size):
        def kernel(name, layout, text_and_grid):
            return Kernel(name, layout, lambda a, b: self.build(*text_and_grid, a, b))

        rows = [kernel(TEXTBOOK, "AB", shader_text.textbook("glsl", size))]
        tiles = {"AB": ((8, 8), (16, 8), (8, 16)), "ABt": ((8, 4), (8, 8), (16, 8), (8, 16))}
        for layout, shapes in tiles.items():
            for shape in shapes:
                text_and_grid = shader_text.register_tile("glsl", size, layout, *shape)
                rows.append(kernel(f"registers {shape[0]}x{shape[1]} {layout}", layout, text_and_grid))
        return rows


if __name__ == "__main__":
    serve(Kompute)
