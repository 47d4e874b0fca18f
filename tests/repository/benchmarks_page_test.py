# SPDX-License-Identifier: Apache-2.0
"""docs/benchmarks.md is what its data gives, damaged data is refused with file and row, and bench/peers/run reads what the
programs print.

    python3 benchmarks_page_test.py ROOT
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(ROOT / "bench/peers"))
PAGE = ROOT / "bench/figures/page.py"
RUN = ROOT / "bench/peers/run"
GOOD = {"name": "a/b", "what": "steps", "ours": "2 steps/s", "theirs": "b: 1", "ratio": 2, "where": "lavapipe", "when": "2026-11-27",
        "command": "`c`"}  # fmt: skip
ENTRY = {"topic": "systems", "where": "llvmpipe (LLVM 15.0.6, 256 bits), llvmpipe Mesa 22.3.6 (LLVM 15.0.6), 2 cores of AMD EPYC",
         "when": "2026-11-28", "command": "bench/peers/run --only a", "busy": False, "small": False}  # fmt: skip
MEASURED = {"name": "a/b", "peer": "b", "what": "new words", "unit": "steps/s", "ours": [0.5, 0.4, 0.6], "theirs": [1000, 900, 1100],
            "ratio": [0.0005, 0.0004, 0.0006]}  # fmt: skip


def page(*words):
    return subprocess.run([sys.executable, "-B", PAGE, *map(str, words)], capture_output=True, text=True, check=False)


class Case(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.root = pathlib.Path(place.name)
        (self.root / "bench/figures").mkdir(parents=True)
        (self.root / "docs").mkdir()

    def put(self, *rows, topic="systems"):
        (self.root / f"bench/figures/{topic}.json").write_text(json.dumps({"rows": rows}))

    def take(self, entry, *rows):
        file = self.root / "figures.json"
        file.write_text(json.dumps({"comparisons": {"a": entry | {"rows": rows}}}))
        return page("--root", self.root, "--take", file)

    def text(self):
        return (self.root / "docs/benchmarks.md").read_text()

    def data(self):
        return json.loads((self.root / "bench/figures/systems.json").read_text())["rows"]


class Pages(Case):
    def test_the_page_is_what_the_data_gives(self):
        self.assertEqual(page("--check").stderr, "")

    def test_a_page_that_differs_is_found(self):
        self.put(GOOD)
        self.assertEqual(page("--root", self.root).returncode, 0)
        self.assertEqual(page("--root", self.root, "--check").returncode, 0)
        self.put(GOOD | {"ratio": 3})
        said = page("--root", self.root, "--check")
        self.assertEqual(said.returncode, 1)
        self.assertIn("docs/benchmarks.md is not what the data gives", said.stderr)

    def test_rows_that_are_behind_say_so_first(self):
        rows = [GOOD | {"name": str(at), "ratio": ratio} for at, ratio in enumerate((0.9, [0.5, 0.9], [0.9, 1.1], [0.9, 0.8, 1.2], 1, [1.1, 0.9, 2]))]
        self.put(*rows)
        page("--root", self.root)
        lines = [line for line in self.text().splitlines() if "steps/s" in line]
        begins = ["**Behind:** steps", "**Behind:** steps", "**Behind in part:** steps", "**Behind:** steps", "steps", "steps"]
        self.assertEqual([line.split("|")[1].strip() for line in lines], begins)

    def test_damaged_data_is_refused_with_file_and_row(self):
        changes = {"ratio is 0;": {"ratio": 0}, "ratio is true;": {"ratio": True}, "ratio is [2];": {"ratio": [2]},
                   "the lowest comes before": {"ratio": [1, 3, 2]}, "when is \"27.11.2026\"": {"when": "27.11.2026"},
                   "when is \"2026-02-30\"": {"when": "2026-02-30"}, "ours is 5;": {"ours": 5}, "what is \"a | b\"": {"what": "a | b"},
                   "note is \"\"": {"note": ""}, "speed is not a field": {"speed": "x"}, "a line": {"command": "a line\nb"},
                   "the name is also that of bench/figures/systems.json, row 1": {"name": "first"}}  # fmt: skip
        for message, change in changes.items():
            with self.subTest(message):
                self.put(GOOD | {"name": "first"}, GOOD | change)
                said = page("--root", self.root)
                self.assertEqual(said.returncode, 2)
                self.assertRegex(said.stderr, r"^page.py: bench/figures/systems.json, row 2 \((a/b|first)\): ")
                self.assertIn(message, said.stderr)
                self.assertFalse((self.root / "docs/benchmarks.md").exists())

    def test_missing_fields_are_named(self):
        for key in ("what", "ours", "where", "when", "command"):
            self.put({name: value for name, value in GOOD.items() if name != key})
            self.assertIn(f"systems.json, row 1 (a/b): {key} is missing", page("--root", self.root).stderr)
        self.put({name: value for name, value in GOOD.items() if name != "theirs"})
        self.assertIn("row 1 (a/b): ratio and theirs are needed together", page("--root", self.root).stderr)
        self.put("text")
        self.assertIn('row 1: it is "text"; an object is needed', page("--root", self.root).stderr)

    def test_files_that_are_not_data_are_named(self):
        file = self.root / "bench/figures/systems.json"
        for text in ("", "{", "[]", '{"rows": {}}', '{"rows": [], "more": 1}'):
            file.write_text(text)
            said = page("--root", self.root)
            self.assertEqual((said.returncode, said.stderr[:34]), (2, "page.py: bench/figures/systems.jso"), text)
        file.unlink()
        (self.root / "bench/figures/sytems.json").write_text('{"rows": []}')
        self.assertIn("sytems.json: no topic has this name", page("--root", self.root).stderr)

    def test_taken_rows_replace_those_of_the_same_name(self):
        self.put(GOOD | {"note": "old"}, GOOD | {"name": "other"})
        self.assertEqual(self.take(ENTRY, MEASURED).returncode, 0)
        first, other = self.data()
        self.assertEqual(first, GOOD | {"ours": ".50 steps/s (.40 to .60)", "theirs": "b: 1,000 (900 to 1,100)", "when": "2026-11-28",
                                        "ratio": [0.0005, 0.0004, 0.0006], "command": "`bench/peers/run --only a`"})  # fmt: skip
        self.assertEqual(other["name"], "other")
        self.assertIn("**Behind:** steps", self.text())

    def test_taken_rows_of_another_device_are_added(self):
        self.put(GOOD)
        self.take(ENTRY | {"where": "Card 5, driver 1, 16 cores of X"}, MEASURED)
        self.assertEqual([row["name"] for row in self.data()], ["a/b", "a/b on Card 5, driver 1, 16 cores of X"])
        self.assertIn("2026-11-28, Card 5, driver 1, 16 cores of X", self.text())
        lavapipe = "llvmpipe (LLVM 15.0.6, 256 bits), llvmpipe Mesa 22.3.6 (LLVM 15.0.6), 2 cores of X(R) Y"
        self.take(ENTRY | {"where": lavapipe}, MEASURED)
        self.assertIn("2026-11-28, lavapipe 22.3.6, 2 cores of X Y", self.text())

    def test_rows_that_are_no_measurement_are_not_taken(self):
        self.put(GOOD)
        failed = {"name": "a/c", "peer": "c", "what": "w", "failed": "not installed"}
        for entry, row, word in ((ENTRY | {"busy": True}, MEASURED, "--busy"), (ENTRY | {"small": True}, MEASURED, "--small"),
                                 (ENTRY, failed, "a/c is left out: not installed")):  # fmt: skip
            self.assertIn(word, self.take(entry, row).stderr)
            self.assertEqual(self.data(), [GOOD])
        (self.root / "figures.json").write_text("[]")
        said = page("--root", self.root, "--take", self.root / "figures.json")
        self.assertEqual(said.returncode, 2)
        self.assertIn("not a file of bench/peers/run", said.stderr)


class Rows(Case):
    def test_sides_give_ratios_with_spread_and_reasons(self):
        from runner import rows

        lines = [{"side": "yolk", "steps_per_second": 10, "lowest": 8, "highest": 12, "peak_memory_bytes": 1 << 20},
                 {"side": "b", "steps_per_second": 5, "lowest": 4, "highest": 6, "peak_memory_bytes": 2 << 20, "how": "b 1.0"},
                 {"side": "c", "failed": "no module"}]  # fmt: skip
        good, bad = rows.read_sides(lines, "a", "steps", "steps/s")
        self.assertEqual(good["ratio"], [2, 8 / 6, 3])
        self.assertEqual(good["note"], "1 MiB of memory against 2; b 1.0")
        self.assertEqual((bad["name"], bad["failed"]), ("a/c", "no module"))
        lines[0] = {"side": "yolk", "failed": "no device"}
        self.assertEqual(rows.read_sides(lines, "a", "steps", "steps/s")[0]["failed"], "yolk: no device")

    def test_the_better_form_of_vmap_counts(self):
        from runner import rows

        lines = [{"side": "yolk", "members_per_second": 6, "lowest": 6, "highest": 6}, {"side": "torch vmap, formed", "failed": "no"},
                 {"side": "torch vmap, low_rank", "members_per_second": 3, "lowest": 3, "highest": 3}]  # fmt: skip
        found = rows.read_vmap(lines, "t", "pass", "members/s")
        self.assertEqual([(row["name"], row["ratio"][0]) for row in found], [("t/vmap", 2)])
        self.assertEqual(rows.read_vmap(lines[:2], "t", "pass", "members/s")[0]["failed"], "no")

    def test_less_is_better_for_calls_and_seconds(self):
        from runner import rows

        lines = [{"side": "yolk", "budget": 9, "searches": 2, "perfect": 2, "calls": [4, 6]},
                 {"side": "gepa", "budget": 9, "searches": 2, "perfect": 2, "calls": [10, 20]}]  # fmt: skip
        self.assertEqual(rows.read_gepa(lines, "gepa", "calls", "calls")[0]["ratio"], [3, 10 / 6, 5])

    def test_the_best_kernel_of_a_peer_counts(self):
        from runner import rows

        def entry(peer, kind, rate):
            return {"peer": peer, "kind": kind, "size": 128, "kernel": kind, "median": rate, "lowest": rate, "highest": rate}

        lines = [entry("yolk", "own", 6), entry("b", "textbook", 1), entry("b", "best", 3), {"peer": "c", "size": 128, "failed": "gone"}]
        found = rows.read_matmul(lines, "matmul", "matmul", "G")
        self.assertEqual([(row["name"], row.get("ratio", [row.get("failed")])[0]) for row in found],
                         [("matmul/128/b", 2), ("matmul/128/c", "gone")])  # fmt: skip


class Command(Case):
    def run_command(self, *words, **more):
        return subprocess.run([sys.executable, "-B", RUN, "--folder", self.root / "peers", "--busy", "--yolk", "/bin/false", *words],
                              capture_output=True, text=True, check=False, **more)  # fmt: skip

    def test_the_list_and_bad_input(self):
        listed = self.run_command("--list")
        self.assertEqual((listed.returncode, listed.stderr), (0, ""))
        self.assertIn("\nadam ", listed.stdout)
        for words, said in ((("--only", "nonsense"), "--only is nonsense; rollout, "), (("--data", "/missing"), "--data is /missing, which is not a folder.")):
            bad = self.run_command(*words)
            self.assertEqual(bad.returncode, 2)
            self.assertIn(said, bad.stderr)
        (self.root / "other.json").write_text("[]")
        self.assertIn("is not a file of this command", self.run_command("--out", self.root / "other.json").stderr)

    def test_what_does_not_run_is_kept_with_its_reason(self):
        words = ("--only", "adam", "tuner", "--yolk-bench", self.root / "missing")
        made = self.run_command(*words)
        self.assertEqual(made.returncode, 1, made.stderr)
        self.assertRegex(made.stdout, r"adam/computeml +- +- +- +yolk: needs the program yolk_bench")
        self.assertRegex(made.stdout, r"tuner/kernel-tuner +- +- +- +needs the recordings")
        kept = json.loads((self.root / "peers/figures.json").read_text())["comparisons"]
        self.assertEqual(list(kept), ["adam", "tuner"])
        self.assertIn("adam is finished; --again runs it again", self.run_command(*words).stderr)
        self.assertNotIn("is finished", self.run_command(*words, "--again").stderr)

    def test_a_peer_that_does_not_install_has_the_last_line_of_pip(self):
        from runner import environments

        wanted = self.root / "wanted.txt"
        wanted.write_text("yolk-peer-that-is-not-there==1.0\n")
        made = environments.Environments(self.root, False, lambda text: None)
        with mock.patch.dict(environments.FILES, {"torch": wanted}), mock.patch.dict(os.environ, {"PIP_NO_INDEX": "1"}):
            for _ in range(2):  # the second time from memory
                with self.assertRaisesRegex(environments.NotInstalled, "not installed: ERROR: No matching distribution found for yolk-peer"):
                    made.python("torch")
        self.assertFalse((self.root / "torch").exists())
        self.assertIn("ERROR", (self.root / "torch.pip.log").read_text())

    def test_large_files_of_two_environments_are_one(self):
        from runner import environments

        for name in ("one", "two"):
            (self.root / name / "lib").mkdir(parents=True)
            (self.root / name / "installed.txt").write_text("")
            (self.root / name / "lib/same.so").write_bytes(b"a" * environments.SHARED_BYTES)
            (self.root / name / "lib/other.so").write_bytes(name[:1].encode() * environments.SHARED_BYTES)
        environments.Environments(self.root, False, lambda text: None).share(self.root / "two")
        one, two = self.root / "one/lib", self.root / "two/lib"
        self.assertTrue((one / "same.so").samefile(two / "same.so"))
        self.assertFalse((one / "other.so").samefile(two / "other.so"))


# Answers as the command does: a GPU under the driver file gpu.json, else a device of the CPU.
FAKE_YOLK = f"""#!{sys.executable}
import json, os
gpu = os.environ.get("VK_DRIVER_FILES", "").endswith("gpu.json")
device = {{"index": 0, "name": "Card 5" if gpu else "llvmpipe (LLVM 15)", "kind": "discrete" if gpu else "cpu",
          "vendor": "NVIDIA" if gpu else "Mesa", "driver": "NVIDIA 580.1" if gpu else "llvmpipe Mesa 22"}}
print(json.dumps({{"devices": [device], "chosen": {{"index": 0}}}}))
"""


class Machines(Case):
    def found(self, variables, *files):
        from runner import machine

        for file in files:
            (self.root / file).write_text("{}")
        fake = self.root / "yolk"
        fake.write_text(FAKE_YOLK)
        fake.chmod(0o700)
        clean = {name: value for name, value in os.environ.items() if not name.startswith("VK_")}
        with mock.patch.dict(os.environ, clean | variables, clear=True), mock.patch.object(machine, "FOLDERS", (self.root,)), \
                mock.patch.object(machine, "driver_files", lambda root, folder: []):  # fmt: skip
            return machine.find(str(fake), self.root)

    def test_a_gpu_is_taken_if_there_is_one(self):
        found = self.found({}, "a_cpu.json", "gpu.json")
        self.assertEqual((found.driver, found.cuda), ("NVIDIA", True))
        self.assertEqual(found.environment, {"VK_DRIVER_FILES": str(self.root / "gpu.json"), "VK_ICD_FILENAMES": str(self.root / "gpu.json"),
                                             "YOLK_DEVICE": "Card 5", "YOLK_PEERS_TORCH": "cuda"})  # fmt: skip
        self.assertTrue(found.where.startswith("Card 5, NVIDIA 580.1, "))

    def test_else_lavapipe(self):
        found = self.found({}, "a_cpu.json")
        self.assertEqual((found.driver, found.cuda, found.environment["YOLK_DEVICE"]), ("llvmpipe", False, "llvmpipe"))

    def test_drivers_that_are_named_are_taken(self):
        found = self.found({"VK_ICD_FILENAMES": "/a/other.json"}, "gpu.json")
        self.assertEqual((found.driver, found.environment["VK_DRIVER_FILES"]), ("llvmpipe", "/a/other.json"))
        self.assertTrue(self.found({"VK_ICD_FILENAMES": "/a/gpu.json"}).cuda)


if __name__ == "__main__":
    unittest.main()
