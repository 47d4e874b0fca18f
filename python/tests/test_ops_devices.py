# SPDX-License-Identifier: Apache-2.0
"""Arrays and their devices: drivers that agree, what is closed or gone, threads, processes."""

import gc
import os
import pathlib
import pickle
import signal
import threading

import numpy as np
import op_cases
import pytest

import yolk

ops = yolk.ops
ICDS = ["/usr/share/vulkan/icd.d/lvp_icd.x86_64.json", "/usr/lib/chromium/vk_swiftshader_icd.json"]
BOTH = """
import hashlib, os, sys
sys.path.insert(0, {tests!r})
import numpy as np, yolk, op_cases
names = [device.name for device in yolk.devices() if device.usable]
assert len(names) > 1, names
hashes = []
for name in names:
    os.environ["YOLK_DEVICE"] = name
    digests = {{}}
    for n in (1, 7, 33):
        results = {{key: run() for key, (run, _, _) in op_cases.cases(n).items()}} | op_cases.random_results(n)
        for key, value in results.items():
            if isinstance(value, yolk.Array):  # else it was made of arrays that were read
                assert value.device == name, (key, value.device, name)
                value = value.numpy()
            digests[key, n] = hashlib.sha256(value.tobytes()).hexdigest()
    hashes.append(digests)
print([key for key in hashes[0] if len({{digests[key] for digests in hashes}}) > 1], len(hashes[0]), len(hashes))
"""


@pytest.mark.once
def test_the_bits_are_the_same_on_both_drivers(python):
    if not all(pathlib.Path(icd).exists() for icd in ICDS):
        pytest.skip("one of the two CPU drivers is not installed")
    both = ":".join(ICDS)
    done = python(BOTH.format(tests=os.path.dirname(__file__)), VK_DRIVER_FILES=both, VK_ICD_FILENAMES=both)
    assert done.returncode == 0, done.stderr
    differing, results, drivers = done.stdout.rsplit(maxsplit=2)
    assert differing == "[]" and int(results) > 200 and drivers == "2", done.stdout


def test_closed_arrays_are_refused():
    a = yolk.array(np.ones(3))
    shared = a.reshape(3, 1)
    a.close()
    for use in (a.numpy, lambda: a + 1, lambda: ops.exp(a), lambda: a[0]):
        with pytest.raises(yolk.BadInput, match="closed"):
            use()
    assert "closed" in repr(a) and shared.numpy().sum() == 3
    assert "YOLK_DEVICE" in shared.why_device or "only" in shared.why_device
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(shared)


def test_arrays_after_their_device_is_gone():
    a = yolk.array(np.ones(3))
    b = a + 1
    ops.close()
    for use in (a.numpy, lambda: b * 2, lambda: a + b):
        with pytest.raises(yolk.BadInput, match="closed"):
            use()
    assert "closed" in a.why_device
    fresh = yolk.array(np.ones(3))
    with pytest.raises(yolk.BadInput, match="two devices"):
        a + fresh
    np.testing.assert_array_equal(fresh + 1, [2, 2, 2])


def test_two_devices_do_not_meet(python):
    if not all(pathlib.Path(icd).exists() for icd in ICDS):
        pytest.skip("one of the two CPU drivers is not installed")
    done = python("import yolk, numpy as np\n"
                  "a, b = (yolk.array(np.ones(3), device=device) for device in yolk.devices()[:2])\n"
                  "try: a + b\n"
                  "except yolk.BadInput as error: print(a.device in str(error) and b.device in str(error))\n"
                  "print((a + yolk.array(b, device=0)).numpy().tolist(), a.device != b.device)\n",
                  VK_DRIVER_FILES=":".join(ICDS), VK_ICD_FILENAMES=":".join(ICDS))
    assert done.stdout.splitlines() == ["True", "[2.0, 2.0, 2.0] True"], done.stderr


def test_threads_share_a_device():
    wrong = []

    def work(seed):
        x = op_cases.numbers(17, 9, seed=seed)
        for _ in range(40):
            got = ops.softmax(yolk.array(x) * 2.0).numpy()
            want = np.exp(2 * x.astype(np.float64))
            if not np.allclose(got, want / want.sum(-1, keepdims=True), atol=1e-5):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_runs_keeps_its_memory():
    # Each result is dropped while the next kernel, which reads it, is still to run.
    x = yolk.array(op_cases.numbers(256, 256))
    y = x
    for _ in range(100):
        y = (y @ x) * 0.05
        gc.collect(0)
    want = x.numpy().astype(np.float64)
    for _ in range(100):
        want = want @ x.numpy() * 0.05
    np.testing.assert_allclose(y.numpy() / np.abs(want).max(), want / np.abs(want).max(), atol=1e-4)


def test_the_interpreter_ends_with_kernels_in_flight(python):
    done = python("import yolk, numpy as np, threading\nx = yolk.array(np.ones((400, 400)))\n"
                  "def work():\n    global y\n    while True: y = x @ x\n"
                  "threading.Thread(target=work, daemon=True).start()\nimport time; time.sleep(1)\n"
                  "z = [x @ x for _ in range(20)]")
    assert done.returncode == 0, done.stderr


def test_a_fork_is_refused(python):
    done = python("import os, yolk\nx = yolk.array([1.0])\nchild = os.fork()\n"
                  "if child == 0:\n    told = 0\n"
                  "    for use in (x.numpy, lambda: x + 1, lambda: yolk.array([2.0])):\n"
                  "        try: use()\n        except yolk.Unsupported as error: told += 'forked' in str(error)\n"
                  "    os._exit(told)\n"
                  "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n")
    assert done.stdout.strip() == "3", done.stderr


def test_a_forked_process_ends_with_its_parent_s_kernels_in_flight(python):
    done = python("import os, sys, yolk, numpy as np\nx = yolk.array(np.ones((700, 700)))\n"
                  "y = [x @ x for _ in range(20)]\nchild = os.fork()\n"
                  "if child == 0:\n    del y[0]\n    sys.exit(7)\n"
                  "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), float(y[-1].sum()) == 700.0**3)\n",
                  timeout=60)
    assert done.stdout.strip() == "7 True", done.stderr


def test_ctrl_c_while_an_array_is_read():
    x = yolk.array(op_cases.numbers(400, 400))
    threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(1000):
            for _ in range(10):
                y = x @ x
            y.numpy()
    assert np.isfinite((x @ x).numpy()).all()
