# SPDX-License-Identifier: Apache-2.0
"""tools/gpu-trial on a CPU driver, and on a stand-in for yolk whose GPU is missing, refused, doubled, full, lost or hanging.

    python3 gpu_trial_test.py ROOT YOLK DRIVER_FILE
"""
import json
import os
import pathlib
import signal
import stat
import subprocess
import sys
import tempfile
import unittest

ROOT, YOLK, DRIVER_FILE = (pathlib.Path(path) for path in sys.argv[1:4])
del sys.argv[1:4]
sys.path.insert(0, str(ROOT / "tools/gpu_trial"))
import driver  # noqa: E402
import page  # noqa: E402
from process import Step, Trial  # noqa: E402

HEAP = {"size_bytes": 80 << 30, "device_local": True, "budget_bytes": 79 << 30, "used_bytes": 1 << 30}
GPU = {
    "index": 0, "name": "Stand-in GPU", "kind": "discrete", "vendor": "NVIDIA", "vendor_id": 0x10DE, "device_id": 0x2330, "driver": "NVIDIA 550.1",
    "api_version": "1.3.277", "heaps": [HEAP], "paths": [{"name": "fp16", "open": True, "needs": ""}, {"name": "int8-dot", "open": False, "needs": "shaderIntegerDotProduct"}],
    "limits": {"subgroup_size": 32}, "cooperative_shapes": [], "self_checks": [], "exact_arithmetic": True, "inexact_reason": "", "loop_limit": None,
}  # fmt: skip
CPU = GPU | {"index": 1, "name": "llvmpipe", "kind": "cpu", "vendor_id": 0x10005, "device_id": 0, "driver": "llvmpipe"}
CHOSEN = {"index": 0, "name": GPU["name"], "uuid": "0"}
# Answers as the command does; what it is given beside comes from the environment.
FAKE = f"""#!{sys.executable}
import json, os, sys
case, arguments = os.environ["FAKE_CASE"], sys.argv[1:]
devices = json.loads(os.environ["FAKE_DEVICES"])
if arguments[0] == "--version": print("yolk 0.0.0")
elif arguments[0] == "devices":
    wanted = os.environ.get("FAKE_DRIVER")
    if wanted and not os.environ.get("VK_DRIVER_FILES", "").endswith(wanted): sys.exit("yolk: error: No Vulkan device was found.")
    print(json.dumps(devices))
elif "--list" in arguments: print(json.dumps([{{"kernel": name}} for name in ("digest", "noise", "reduce")]))
elif arguments[0] == "train": print(json.dumps({{"state_hash": "{page.STATE}", "evaluations_per_second": 5e8}}))
elif "noise" in arguments and case == "lost":
    print(json.dumps({{"kernels": [{{"kernel": "noise", "passed": False, "failure_count": 0, "twin_mismatches": 0, "error": "The device was lost in the middle of a step."}}]}}))
    sys.exit("yolk: error: The device was lost.")
elif "reduce" in arguments and case == "lost": os.kill(os.getpid(), 11)
elif "--kernel" in arguments: print(json.dumps({{"kernels": [{{"kernel": arguments[2], "passed": True, "failure_count": 0, "twin_mismatches": 0}}]}}))
elif arguments[:2] == ["bench", "rollout"]: print(json.dumps({{"evaluations_per_second": 1e9}}))
elif arguments[:2] == ["bench", "kernel"]: print(json.dumps({{"gflops": 4e4, "of_limit": 0.7}}))
elif arguments[0] == "tune": print(json.dumps({{"speed_up": 1.1}}))
"""


def devices(*found, rejections=(), chosen=CHOSEN):
    return {"devices": list(found), "chosen": chosen, "rejections": list(rejections)}


class Case(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)
        self.root = self.folder / "root"
        self.root.mkdir()
        self.fake = self.folder / "yolk"
        self.fake.write_text(FAKE)
        self.fake.chmod(stat.S_IRWXU)

    def put(self, path, text=""):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def trial(self, outcome, wanted="", **more):
        """Whether a device is found where the machine's files are those of `root`, and the trial."""
        trial = Trial(self.folder / "out", [str(self.fake)], 100)
        self.addCleanup(trial.results.close)
        trial.environment |= {"FAKE_CASE": "", "FAKE_DEVICES": json.dumps(outcome)} | more
        return driver.find_device(trial, "", wanted, self.root), trial

    def run_tool(self, *arguments, **more):
        command = [sys.executable, "-B", str(ROOT / "tools/gpu-trial"), "--out", str(self.folder / "out"), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, env=os.environ | more, check=False)


class Missing(Case):
    """What is said where the machine has a GPU, and its loader no driver for it."""

    def words(self, outcome=None, **more):
        found, trial = self.trial(outcome or devices(CPU, chosen={"index": 1}), **more)
        self.assertIsNone(found)
        return " ".join(trial.notes)

    def nvidia(self):
        self.put("sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n")
        self.put("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n")

    def loaded(self):
        self.put("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue\n")
        self.put("dev/nvidiactl")

    def test_no_gpu(self):
        self.assertIn("shows no GPU", self.words())

    def test_a_virtual_display_is_not_a_gpu(self):
        self.put("sys/bus/pci/devices/0000:01:00.0/class", "0x030000\n")
        self.put("sys/bus/pci/devices/0000:01:00.0/vendor", "0x1234\n")
        self.assertIn("shows no GPU", self.words())

    def test_nvidia_without_its_module(self):
        self.nvidia()
        self.assertIn("kernel module is not loaded", self.words())

    def test_nvidia_without_device_files(self):
        self.nvidia()
        self.loaded()
        (self.root / "dev/nvidiactl").unlink()
        self.assertIn("--gpus all", self.words())

    def test_nvidia_without_its_vulkan_driver(self):
        self.loaded()  # and a container that hides the bus
        said = self.words()
        for word in ("550.54.15", "libGLX_nvidia.so.0", "nvidia-vulkan-icd", "libnvidia-gl-550", "NVIDIA_DRIVER_CAPABILITIES=all"):
            self.assertIn(word, said)

    def test_nvidia_s_library_that_offers_nothing(self):
        self.loaded()
        self.put("usr/lib64/libGLX_nvidia.so.0")
        self.assertIn("offers no device", self.words())

    def test_a_driver_that_fails_is_quoted(self):
        self.assertIn("No Vulkan device was found", self.words(FAKE_DRIVER="none.json"))

    def test_amd_and_intel(self):
        self.put("sys/bus/pci/devices/0000:03:00.0/class", "0x120000\n")
        self.put("sys/bus/pci/devices/0000:03:00.0/vendor", "0x1002\n")
        self.put("sys/bus/pci/devices/0000:04:00.0/class", "0x030000\n")
        self.put("sys/bus/pci/devices/0000:04:00.0/vendor", "0x8086\n")
        said = self.words()
        self.assertIn("amdgpu", said)
        self.assertIn("i915", said)
        self.put("dev/dri/renderD128")
        self.put("usr/share/vulkan/icd.d/radeon_icd.x86_64.json")
        said = self.words()
        self.assertIn("A driver for AMD is installed", said)
        self.assertIn("names a driver for the Intel GPU. Install mesa-vulkan-drivers", said)

    def test_a_gpu_that_lacks_extensions(self):
        refused = {"index": 0, "name": "Old GPU", "reason": "below the portable floor: timelineSemaphore"}
        said = self.words(devices(GPU, CPU, chosen={"index": 1}, rejections=[refused]))
        self.assertIn("Old GPU was refused: below the portable floor: timelineSemaphore", said)


class Found(Case):
    def test_a_file_is_made_for_nvidia_s_library(self):
        self.put("usr/lib64/libEGL_nvidia.so.0")
        found, trial = self.trial(devices(GPU), FAKE_DRIVER="out/libEGL_nvidia.so.0.json")
        self.assertEqual(found["name"], GPU["name"])
        made = json.loads((self.folder / "out/libEGL_nvidia.so.0.json").read_text())
        self.assertEqual(made["ICD"]["library_path"], str(self.root / "usr/lib64/libEGL_nvidia.so.0"))
        self.assertIn(f"LD_LIBRARY_PATH={self.root}/usr/lib64", trial.notes[0])
        self.assertIn("VK_DRIVER_FILES", trial.environment)

    def test_a_file_where_the_loader_does_not_look(self):
        self.put("usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json", '{"ICD": {"library_path": "libGLX_nvidia.so.0"}}')
        found, trial = self.trial(devices(GPU), FAKE_DRIVER="/nvidia_icd.json")
        self.assertIsNotNone(found)
        self.assertIn(f"LD_LIBRARY_PATH={self.root}/usr/local/nvidia/lib64", trial.notes[0])

    def test_a_cpu_driver_counts_where_it_is_asked_for(self):
        outcome = devices(CPU, chosen={"index": 1})
        self.assertIsNone(self.trial(outcome)[0])
        self.assertEqual(self.trial(outcome, "llvmpipe")[0]["kind"], "cpu")

    def test_two_drivers_of_one_gpu(self):
        other = GPU | {"index": 2, "driver": "NVK Mesa 25.0"}
        found, trial = self.trial(devices(GPU, CPU, other))
        self.assertEqual(found["index"], 0)
        self.assertIn("Two drivers offer this GPU. NVIDIA 550.1 is tried here; --device 2 tries NVK Mesa 25.0.", trial.notes)
        self.assertEqual(self.trial(devices(GPU, GPU | {"index": 2}))[1].notes, [])  # two GPUs of a kind

    def test_little_free_memory(self):
        full = GPU | {"heaps": [HEAP | {"used_bytes": (79 << 30) - (300 << 20)}]}
        self.assertIn("Only 300 MiB of the device's memory are free", self.trial(devices(full))[1].notes[0])
        self.assertEqual(self.trial(devices(GPU))[1].notes, [])


class Page(Case):
    def trial_of(self, case, *arguments, device=GPU):
        return self.run_tool("--small", "--yolk", self.fake, *arguments, FAKE_CASE=case, FAKE_DEVICES=json.dumps(devices(device, CPU)))

    def test_all_is_well(self):
        ran = self.trial_of("")
        self.assertEqual(ran.returncode, 0, ran.stderr + ran.stdout)
        for words in ("# yolk 0.0.0 on Stand-in GPU", "as on every device so far", "3 of 3 kernel families passed", "1,000 million evaluations/s",
                      "40,000 GFLOP/s, 0.7 of the fp32 limit", "int8-dot needs shaderIntegerDotProduct", "80.0 GiB, 78.0 GiB of it free"):  # fmt: skip
            self.assertIn(words, ran.stdout)
        self.assertNotIn("What went wrong", ran.stdout)
        self.assertEqual((self.folder / "out/page.md").read_text(), ran.stdout)

    def test_a_lost_device_and_a_crash_end_their_steps_alone(self):
        ran = self.trial_of("lost")
        self.assertEqual(ran.returncode, 1)
        for words in ("1 of 3 kernel families passed; FAILED:", "The device was lost in the middle of a step.", "crashed by signal 11",
                      "as on every device so far", "1,000 million evaluations/s"):  # fmt: skip
            self.assertIn(words, ran.stdout)

    def test_what_hangs_is_ended_and_twice_is_the_device_s_fault(self):
        trial = Trial(self.folder / "out", [], 100)
        self.addCleanup(trial.results.close)
        self.assertEqual(trial.run("polite", 3, ["sleep", "100"], {}).status, -15)
        trial.patience = ((signal.SIGTERM, 0.2), (signal.SIGKILL, 60))
        before = signal.signal(signal.SIGTERM, signal.SIG_IGN)  # as its children do, from their beginning on
        self.assertEqual(trial.run("stubborn", 3, ["sleep", "100"], {}).status, -9)
        signal.signal(signal.SIGTERM, before)
        self.assertEqual(trial.stuck, 0)
        trial.patience = ()  # as if nothing could end it
        waiting = self.folder / "waiting"
        os.mkfifo(waiting)
        stuck = [trial.run(f"stuck-{number}", 3, ["cat", str(waiting)], {}) for number in range(2)]
        os.close(os.open(waiting, os.O_WRONLY))  # now they end
        self.assertTrue(all(step.late and not step.good for step in stuck))
        last = trial.run("after", 3, ["true"], {})
        self.assertEqual((last.status, "hangs" in last.said), (None, True))

    def test_a_signal_ends_the_trial_with_a_page(self):
        trial = subprocess.Popen([sys.executable, "-B", str(ROOT / "tools/gpu-trial"), "--yolk", YOLK, "--icd", DRIVER_FILE, "--out", self.folder / "out"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
        for line in trial.stderr:
            if "trying" in line:
                break
        trial.send_signal(signal.SIGINT)
        text, _ = trial.communicate(timeout=300)
        self.assertEqual(trial.returncode, 1)
        self.assertIn("The trial was interrupted.", text)
        self.assertIn("No time was left.", text)

    def test_exact_mode_that_is_closed(self):
        ran = self.trial_of("", device=GPU | {"exact_arithmetic": False, "inexact_reason": "fma is contracted"})
        self.assertEqual(ran.returncode, 1)
        self.assertIn("| exact mode opens | NO: fma is contracted |", ran.stdout)

    def test_another_state(self):
        trial = Trial(self.folder / "out", [], 100)
        self.addCleanup(trial.results.close)
        trial.steps["state"] = Step("state", status=0, lines=[{"state_hash": "0" * 32}])
        text, good = page.page_of(trial, GPU, "yolk")
        self.assertIn(f"NOT {page.STATE} but {'0' * 32}", text)
        self.assertFalse(good)

    def test_pytorch_beside_it(self):
        trial = Trial(self.folder / "out", [], 100)
        self.addCleanup(trial.results.close)
        lines = {"torch": {"torch": "2.9", "gpu": "GPU"}, "rollout-exact-4096": {"evaluations_per_second": 6e8},
                 "torch-rollout-4096-eager": {"evaluations_per_second": 1e8, "form": "eager"},
                 "torch-rollout-4096-graph": {"evaluations_per_second": 2e8, "form": "graph"}}  # fmt: skip
        trial.steps = {name: Step(name, status=0, lines=[line]) for name, line in lines.items()}
        text, _ = page.page_of(trial, GPU, "yolk")
        self.assertIn("| PyTorch 2.9 on GPU |", text)
        self.assertIn("| roll-out, exact, 4,096 members | 600 million evaluations/s | 200 (graph) | 3 |", text)

    def test_pytorch_side(self):
        stub = """import time
__version__, float32, float16 = "2.9", 0, 1
class Tensor:
    def to(self, kind): return self
def randn(*shape, device): return Tensor()
def matmul(a, b): time.sleep(0.001)
class cuda:
    is_available = staticmethod(lambda: False)
class backends:
    class cuda:
        class matmul: allow_tf32 = True
"""
        (self.folder / "torch.py").write_text(stub)

        def said(folder, *arguments):
            ran = subprocess.run([sys.executable, "-B", str(ROOT / "tools/gpu_trial/torch_side.py"), *arguments], capture_output=True, text=True,
                                 env=os.environ | {"PYTHONPATH": str(folder)}, check=True)  # fmt: skip
            return json.loads(ran.stdout)

        self.assertEqual(said(self.folder, "found"), {"torch": "2.9", "gpu": None})
        (self.root / "torch.py").write_text("raise ImportError('none')")
        self.assertEqual(said(self.root, "found"), {"torch": None})
        # 2e6 operations in a millisecond and the call's own time.
        rate = said(self.folder, "product", "cpu", "100", "f32")["gflops"]
        self.assertLess(rate, 2.0)
        self.assertGreater(rate, 0.02)

    def test_what_pytorch_fails_at_is_told_and_does_not_count(self):
        trial = Trial(self.folder / "out", [], 100)
        self.addCleanup(trial.results.close)
        trial.steps = {"torch-product-f32-8": Step("torch-product-f32-8", status=1, said="no kernel image")}
        text, good = page.page_of(trial, GPU, "yolk")
        self.assertIn("no kernel image", text)
        self.assertTrue(good)
        trial.steps = {"tune": Step("tune", status=1, said="no kernel image")}
        self.assertFalse(page.page_of(trial, GPU, "yolk")[1])

    def test_bad_input(self):
        for arguments, words in ((("--seconds", 1), "at least 10"), (("--icd", "/none.json"), "is not a file"), (("--yolk", "/none"), "cannot be started")):
            ran = self.run_tool(*arguments)
            self.assertEqual(ran.returncode, 2, ran.stderr)
            self.assertIn(words, ran.stderr)


class OnACpuDriver(Case):
    def test_the_whole_of_it(self):
        ran = self.run_tool("--small", "--yolk", YOLK, "--icd", DRIVER_FILE, "--seconds", 3000)  # on a busy machine
        self.assertEqual(ran.returncode, 0, ran.stderr + ran.stdout)
        for words in ("| exact mode opens | yes |", f"{page.STATE}, as on every device so far", "on the host | the same |", "3 of 3 kernel families passed",
                      "roll-out, exact, 1,024 members", "GFLOP/s", "times the default"):  # fmt: skip
            self.assertIn(words, ran.stdout)


if __name__ == "__main__":
    unittest.main()
