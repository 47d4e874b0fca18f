# SPDX-License-Identifier: Apache-2.0
"""tools/endurance: what counts as flat, what is read from the logs of its processes, and bad input. Nothing runs for long.

    python3 endurance_test.py ROOT
"""
import importlib.machinery
import importlib.util
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import types
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(sys.argv[1])
del sys.argv[1]
loader = importlib.machinery.SourceFileLoader("endurance", str(ROOT / "tools/endurance"))
endurance = importlib.util.module_from_spec(importlib.util.spec_from_loader("endurance", loader))
loader.exec_module(endurance)
MIB = 1 << 20


class Soaks(unittest.TestCase):
    def held(self, samples, code=0):
        return endurance.soaked("x", samples, code, 1.0)["held"]

    def test_flat_after_the_warm_up(self):
        self.assertTrue(self.held([k * MIB for k in range(20)] + [200 * MIB, 201 * MIB] * 40))

    def test_growth_is_told(self):
        self.assertFalse(self.held([200 * MIB + k * MIB // 20 for k in range(100)]))

    def test_an_early_end_is_told(self):
        self.assertFalse(self.held([200 * MIB] * 100, code=1))
        self.assertFalse(self.held([]))

    def test_a_process_that_ends_by_itself(self):
        with tempfile.TemporaryDirectory() as folder:
            options = types.SimpleNamespace(soak_minutes=0.05, out=pathlib.Path(folder))
            (early,) = endurance.soak(options, "early", [sys.executable, "-c", "raise SystemExit(3)"])
            self.assertFalse(early["held"])
            self.assertIn("ended with 3", early["note"])
            deaf = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(60)"
            endurance.SECONDS_TO_END = 1.0
            (killed,) = endurance.soak(options, "deaf", [sys.executable, "-c", deaf])
            self.assertFalse(killed["held"])
            self.assertIn("ended with -9", killed["note"])
            endurance.SECONDS_TO_END = 20.0
            before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell's background has it
            (asked,) = endurance.soak(options, "asked", ["sleep", "60"])
            signal.signal(signal.SIGINT, before)
            self.assertLess(asked["seconds"], 15)
            self.assertNotIn("ended with", asked["note"])


class Logs(unittest.TestCase):
    def options(self, folder, script):
        """A checkout whose test programs are this script."""
        program = pathlib.Path(folder) / "build/asan/train/yolk_train_tests"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        drill = pathlib.Path(folder) / "build/dev/train/yolk_train_drill"
        drill.parent.mkdir(parents=True)
        drill.write_text(program.read_text())
        drill.chmod(0o755)
        endurance.ROOT = pathlib.Path(folder)
        return types.SimpleNamespace(out=pathlib.Path(folder), mutations=1000, faults=8)

    def test_mutations(self):
        with tempfile.TemporaryDirectory() as folder:
            options = self.options(folder, "echo '[       OK ] safetensors.mutated_files (1500 ms)'; echo $YOLK_TEST_MUTATIONS")
            (row,) = endurance.mutations(options, "train")
            self.assertEqual((row["what"], row["count"], row["held"], row["seconds"]), ("safetensors.mutated_files", 1000, True, 1.5))

    def test_a_test_that_ran_nothing_has_not_held(self):
        for script in ("true", "echo '[       OK ] a.b (1 ms)'; exit 1"):
            with tempfile.TemporaryDirectory() as folder:
                self.assertFalse(all(row["held"] for row in endurance.mutations(self.options(folder, script), "train")))

    def test_faults_are_counted_where_they_struck(self):
        lines = r"printf 'kill (x): went on, in 1.0 s\nlost (x): resumed 2 times, in 2.0 s\ntorn: met nothing, drawn again, in 1 s\n'"
        with tempfile.TemporaryDirectory() as folder:
            (row,) = endurance.faults(self.options(folder, lines), "policies", 0)
            self.assertEqual((row["count"], row["held"]), (2, True))

    def test_too_few_faults_have_not_held(self):
        with tempfile.TemporaryDirectory() as folder:
            (row,) = endurance.faults(self.options(folder, "true"), "systems", 0)
            self.assertFalse(row["held"])


class Outcomes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        endurance.ROOT = root = pathlib.Path(self.folder.name)
        (root / "a").write_text("a")
        self.git("init", "-q"), self.git("add", "a"), self.git("commit", "-q", "-m", "a")
        self.options = types.SimpleNamespace(out=root / ".git", soak_minutes=1.0, faults=8, mutations=9, again=False)
        outcome = endurance.Outcome(self.options)
        outcome.add("soak-x", [endurance.row("soak", "x", 1, True, 1.0)])
        outcome.add("soak-y", [endurance.row("soak", "y", 1, True, 1.0), endurance.row("soak", "z", 1, False, 1.0)])

    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=self.folder.name, check=True)

    def kept(self):
        return set(endurance.Outcome(self.options).jobs)

    def test_what_held_is_kept(self):
        self.assertEqual(self.kept(), {"soak-x"})

    def test_other_counts_and_again_begin_anew(self):
        self.options.again = True
        self.assertEqual(self.kept(), set())
        self.options.again, self.options.faults = False, 7
        self.assertEqual(self.kept(), set())

    def test_other_sources_begin_anew(self):
        (endurance.ROOT / "a").write_text("b")
        self.assertEqual(self.kept(), set())
        self.git("commit", "-q", "-a", "-m", "b")
        self.assertEqual(self.kept(), set())

    def test_a_damaged_outcome_begins_anew(self):
        for text in ("", "[]", "{}", "{\"jobs\": 1}", "\\xff"):
            (self.options.out / "outcome.json").write_text(text)
            self.assertEqual(self.kept(), set(), text)

    def test_jobs_run_and_are_kept(self):
        ran = []

        def job(options, name, *_, **more):
            ran.append((name, more))
            return [endurance.row("faults", name, 1, True, 1.0)]

        self.options.jobs = 2
        outcome = endurance.Outcome(self.options)
        endurance.run_all(self.options, {"faults-a": (job, "a"), "faults-b": (job, "b", 1)}, outcome)
        self.assertEqual(sorted(name for name, _ in ran), ["a", "b"])
        self.assertEqual(self.kept(), {"soak-x", "faults-a", "faults-b"})


class Command(unittest.TestCase):
    def run_tool(self, *arguments):
        return subprocess.run([ROOT / "tools/endurance", *arguments], capture_output=True, text=True, timeout=60)

    def test_bad_input(self):
        for arguments, part in ((["--soak-minutes", "0"], "--soak-minutes is 0.0; at least 0.5"), (["--faults", "0"], "--faults is 0"),
                                (["--mutations", "many"], "invalid int value"), (["--only", "sleep"], "invalid choice")):  # fmt: skip
            ran = self.run_tool(*arguments)
            self.assertEqual(ran.returncode, 2, ran.stderr)
            self.assertIn(part, ran.stderr)

    def test_the_filters_name_tests_that_are_there(self):
        for module, (pattern, _) in endurance.MUTATIONS.items():
            sources = "\n".join(path.read_text() for path in [*ROOT.glob(f"{module}/tests/*.cpp"), *ROOT.glob("tests/states/*.hpp")])
            for part in re.findall(r"[a-z_]{6,}", pattern):
                self.assertIn(part, sources, module)


if __name__ == "__main__":
    unittest.main()
