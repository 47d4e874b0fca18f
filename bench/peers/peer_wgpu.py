# SPDX-License-Identifier: Apache-2.0
"""wgpu-py (wgpu-native): WGSL. The only peer here that can read A through a uniform buffer, 64 KiB per dispatch."""

import numpy as np
import shader_text
import wgpu
from common import TEXTBOOK, Built, Kernel, serve

STORAGE = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST | wgpu.BufferUsage.UNIFORM


class Wgpu:
    name = "wgpu"

    def __init__(self):
        adapters = [each for each in wgpu.gpu.enumerate_adapters_sync() if each.info["backend_type"] == "Vulkan"]
        if not adapters:
            raise RuntimeError("wgpu sees no Vulkan device.")
        self.device = adapters[0].info["device"]
        self.gpu = adapters[0].request_device_sync()

    def build(self, text, grid, a, b, uniform):
        c = np.full(a.shape, np.nan, np.float32)
        buffers = [self.gpu.create_buffer_with_data(data=matrix, usage=STORAGE) for matrix in (a, b, c)]
        module = self.gpu.create_shader_module(code=text)
        pipeline = self.gpu.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": "main"})
        rows = shader_text.rows_of_panel(len(a)) if uniform else len(a)
        groups = []
        for panel in range(len(a) // rows):
            part = {"offset": panel * rows * a.shape[1] * 4, "size": rows * a.shape[1] * 4}
            whole = {"offset": 0, "size": b.nbytes}
            parts = [{"buffer": buffer, **where} for buffer, where in zip(buffers, (part, whole, part))]
            entries = [{"binding": at, "resource": resource} for at, resource in enumerate(parts)]
            groups.append(self.gpu.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries))

        def prepare(repetitions):
            def encode():
                encoder = self.gpu.create_command_encoder()
                compute = encoder.begin_compute_pass()
                compute.set_pipeline(pipeline)
                for _ in range(repetitions):
                    for group in groups:
                        compute.set_bind_group(0, group)
                        compute.dispatch_workgroups(*grid)
                compute.end()
                return encoder.finish()

            # A command buffer of WebGPU can be submitted once: some are kept ready, so that encoding is not timed.
            ready = [encode() for _ in range(4)]

            def run():
                self.gpu.queue.submit([ready.pop() if ready else encode()])
                self.gpu._poll_wait()

            return run

        def result():
            return np.frombuffer(self.gpu.queue.read_buffer(buffers[2]), np.float32).reshape(a.shape)

        return Built(prepare, result)

    def kernels(self, size):
        def kernel(name, layout, text_and_grid, uniform=False):
            return Kernel(name, layout, lambda a, b: self.build(*text_and_grid, a, b, uniform))

        rows = [kernel(TEXTBOOK, "AB", shader_text.textbook("wgsl", size))]
        tiles = {"AB": ((8, 8), (16, 8), (8, 16)), "ABt": ((8, 8), (16, 8), (8, 16), (16, 16))}
        for uniform in (False, True):
            for layout, shapes in tiles.items():
                for shape in shapes:
                    text_and_grid = shader_text.register_tile("wgsl", size, layout, *shape, uniform)
                    name = f"{'uniform' if uniform else 'registers'} {shape[0]}x{shape[1]} {layout}"
                    rows.append(kernel(name, layout, text_and_grid, uniform))
        return rows


if __name__ == "__main__":
    serve(Wgpu)
