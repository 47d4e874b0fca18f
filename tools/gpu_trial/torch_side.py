# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of the trial; a line of JSON.

    torch_side.py found                      which PyTorch python3 has, and whether it sees a GPU
    torch_side.py product DEVICE SIZE FORM   the rate of a square product; FORM is f32 (without TF32) or f16
"""
import json
import statistics
import sys
import time


def found():
    try:
        import torch
    except ImportError:
        return {"torch": None}
    gpu = torch.cuda.is_available()
    return {"torch": torch.__version__, "gpu": torch.cuda.get_device_name() if gpu else None}


def product(device, size, form):
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    kind = {"f32": torch.float32, "f16": torch.float16}[form]
    a, b = (torch.randn(size, size, device=device).to(kind) for _ in range(2))
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    calls, times = 1, []
    while len(times) < 8:  # groups of calls, long enough for the clock; the first is the warm-up
        wait()
        begun = time.perf_counter()
        for _ in range(calls):
            torch.matmul(a, b)
        wait()
        seconds = time.perf_counter() - begun
        times = [*times, seconds / calls] if seconds > 0.02 or calls >= 4096 else []
        calls *= 1 if times else 2
    return {"gflops": 2e-9 * size**3 / statistics.median(times[1:])}


print(json.dumps(found() if sys.argv[1] == "found" else product(sys.argv[2], int(sys.argv[3]), sys.argv[4])))
