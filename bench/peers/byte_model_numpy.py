#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The byte model's logits in NumPy, from docs/kernels/byte_model.md alone; floor rounding and rank 1.

    byte_model_numpy.py            prints the logits that train/tests/bytes_test.cpp has stored
    byte_model_numpy.py --speed    members per second at the command's defaults

Weights are (7 i mod 61) - 30 by element of the whole list, norms included.
"""
import sys
import time

import numpy as np

SEED, TIME, SHIFT = 42, 7, 4


def philox(block, parameter, domain, pair):
    c = [block, parameter | domain << 24, pair, TIME]
    k = [SEED & 0xFFFFFFFF, SEED >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def noise(count, parameter, domain, pair):
    values = []
    for block in range((count + 7) // 8):
        for word in philox(block, parameter, domain, pair):
            values += [sum(word >> s & 15 for s in (0, 4, 8, 12)) - 30, sum(word >> s & 15 for s in (16, 20, 24, 28)) - 30]
    return np.array(values[:count], dtype=np.int64)


def clip(x):
    return np.clip(x, -127, 127)


class Model:
    def __init__(self, width, pair, side):
        self.width, self.side = width, side
        layer = [(width,), (width, width), (width, width), (width,), (width, width), (width, width), (width,), (width,),
                 (4 * width, width), (width, 4 * width)]
        shapes = [(256, width), *layer, (width,), (256, width)]
        first, self.weights, self.noise = 0, [], []
        for number, shape in enumerate(shapes):
            count = int(np.prod(shape))
            self.weights.append(((7 * np.arange(first, first + count)) % 61 - 30).reshape(shape))
            first += count
            if len(shape) == 1:
                self.noise.append(None)
                self.weights[-1] = clip(self.weights[-1] + (side * 28 * noise(count, number, 2, pair) >> 4 + SHIFT))
            else:
                self.noise.append((noise(shape[0], number, 0, pair), noise(shape[1], number, 1, pair)))
        self.state = np.zeros(width, dtype=np.int64)

    def product(self, number, x):
        a, b = self.noise[number]
        total = self.weights[number] @ x + (3 * self.side * a * int(x @ b) >> 4 + SHIFT)
        return clip(total // (16 * int(np.sqrt(len(x)))))

    def norm(self, number, x):
        return clip(x * self.weights[number] // max(1, int(np.abs(x).sum()) // self.width))

    def read(self, byte):
        if byte == 0:
            self.state[:] = 0
        a, b = self.noise[0]
        x = clip(self.weights[0][byte] + (3 * self.side * a[byte] * b >> 4 + SHIFT))
        h, y = self.state, self.norm(1, x)
        gate = clip(self.product(2, y) + self.product(3, h) + self.weights[4])
        candidate = clip(self.product(5, y) + self.product(6, (gate + 127) * h >> 8) + self.weights[7])
        self.state = h + ((gate + 127) * (candidate - h) >> 8)
        x = clip(x + self.state)
        x = clip(x + self.product(10, self.product(9, self.norm(8, x))))
        return self.product(12, self.norm(11, x))


def speed():
    """One member after the other, as NumPy has no product of all members with perturbations of their own."""
    start, bytes_read, model = time.perf_counter(), 80, Model(32, 0, 1)
    made = time.perf_counter()
    for t in range(bytes_read):
        z = model.read(t % 256)
        np.floor(16 * 2.0 ** ((z + 128) / 16)).sum()
    end = time.perf_counter()
    print(f"{1 / (end - made):.1f} members per second, noise aside; {1 / (end - start):.1f} with it")


if __name__ == "__main__":
    if "--speed" in sys.argv:
        speed()
    else:
        for side in (1, -1):
            model = Model(16, 3, side)
            for byte in b"\0Yolk":
                logits = model.read(byte)
            print(side, ", ".join(str(int(z)) for z in logits[:32]), "sum", int(logits.sum()))
