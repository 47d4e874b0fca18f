# SPDX-License-Identifier: Apache-2.0
"""tools/gpu_compilers/judge.py finds each fault of a compiled plan, write_page.py writes before and after, and the list of shapes
has every operation.

    python3 gpu_compilers_test.py ROOT
"""
import io
import json
import os
import re
import sys
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from types import SimpleNamespace
from unittest import mock

ROOT = sys.argv.pop(1)
TOOLS = os.path.join(ROOT, "tools/gpu_compilers")
sys.path.insert(0, TOOLS)
import judge  # noqa: E402
import write_page  # noqa: E402

SOFTMAX = "softmax rows=4 columns=3"
GOOD = {
    "number": 0, "kernel": "softmax", "shape": SOFTMAX + ", plain", "configuration": {"lanes": 32}, "default": True, "pipeline": "softmax_by_group",
    "registers": 24, "spilled_registers": 0, "scratch_bytes": 0, "shared_bytes": 512, "waves": 8, "waves_of": 16,
    "occupancy": 0.5, "instructions": 1200, "inverse_throughput": 300,
}  # fmt: skip
REFUSED = {"number": 0, "kernel": "softmax", "shape": SOFTMAX, "default": True, "pipeline": "softmax_by_group", "refused": "VK_ERROR_UNKNOWN"}
FEW = {"waves": 3, "occupancy": 3 / 16}
BEFORE = """# commit 1234
target,shape,pipeline,registers,spilled_registers,scratch_bytes,waves,waves_of,instructions,inverse_throughput
navi31,softmax rows=4 columns=3,softmax_by_group,48,0,0,4,16,1200,400
navi31,softmax rows=4 columns=3,softmax_by_row,20,,,,,7,
"""


def summary(count, configurations=1):
    return {"event": "summary", "configurations": configurations, "pipelines": count, "refused": 0}


def text_of(*lines, end=True):
    lines = [*lines] + ([summary(len(lines))] if end else [])
    return "".join(json.dumps(line) + "\n" for line in lines)


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def run_tool(self, module, *arguments):
        """In this process: two dozen interpreters would take longer than all the rest."""
        out, err = io.StringIO(), io.StringIO()
        with mock.patch.object(sys, "argv", [module.__name__, *arguments]), redirect_stdout(out), redirect_stderr(err):
            code = module.main()
        return SimpleNamespace(returncode=code, stdout=out.getvalue(), stderr=err.getvalue())


class Judge(Folder):
    def judge(self, text, target="navi31", reasons=""):
        done = self.run_tool(
            judge, "--shapes", self.write("shapes", f"# shapes\n{SOFTMAX}\n"), "--reasons", self.write("reasons", reasons),
            f"{target}={self.write('lines', text)}",
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    def expect(self, part, *lines, **options):
        code, said = self.judge(text_of(*lines), **options)
        self.assertEqual(code, 1, said)
        self.assertIn(part, said)

    def test_a_good_plan_passes(self):
        code, said = self.judge(text_of(GOOD, GOOD))
        self.assertEqual(code, 0, said)
        self.assertIn("navi31: 1 shapes: no spills", said)

    def test_a_refused_pipeline(self):
        self.expect(f"navi31: {SOFTMAX}: softmax_by_group: refused: VK_ERROR_UNKNOWN", GOOD, REFUSED)
        self.expect(f"navi31: {SOFTMAX}: the plan: refused: too large", GOOD, REFUSED | {"pipeline": None, "refused": "too large"})

    def test_spills_and_scratch_memory(self):
        self.expect("softmax_by_group: 3 spilled registers", GOOD | {"spilled_registers": 3})
        self.expect("softmax_by_group: 832 bytes of scratch memory", GOOD | {"scratch_bytes": 832})

    def test_few_waves(self):
        self.expect("3 of 16 waves, less than a quarter, without a listed reason", GOOD | FEW)

    def test_other_configurations_may_be_bad_but_not_refused(self):
        self.assertEqual(self.judge(text_of(GOOD, GOOD | FEW | {"default": False, "scratch_bytes": 9}))[0], 0)
        self.expect("softmax_by_group {'lanes': 1}: refused", GOOD, REFUSED | {"default": False, "configuration": {"lanes": 1}})

    def test_of_refusals_alone_nothing_else_is_a_fault(self):
        for lines, code, part in (([GOOD | FEW | {"scratch_bytes": 9}], 0, "nothing was refused"), ([GOOD, REFUSED], 1, "refused: VK_")):
            done = self.run_tool(judge, "--refusals", f"navi31={self.write('lines', text_of(*lines))}")
            self.assertEqual(done.returncode, code)
            self.assertIn(part, done.stdout)

    def test_a_listed_reason_excuses_what_it_names_and_nothing_else(self):
        reasons = "navi31 vega10 | softmax_* | softmax rows=4* | waves | The row is kept in registers.\n"
        self.assertEqual(self.judge(text_of(GOOD | FEW), reasons=reasons)[0], 0)
        self.expect("832 bytes of scratch", GOOD | FEW | {"scratch_bytes": 832}, reasons=reasons)
        self.expect("3 of 16 waves", GOOD | FEW, target="navi21", reasons=reasons)
        self.expect("3 of 16 waves", GOOD | FEW | {"pipeline": "sort"}, reasons=reasons)

    def test_spills_and_scratch_memory_may_have_a_reason(self):
        reasons = "navi31 | softmax_* | * | spills scratch | The row does not fit.\n"
        self.assertEqual(self.judge(text_of(GOOD | {"spilled_registers": 3, "scratch_bytes": 832}), reasons=reasons)[0], 0)
        self.expect("excuses no scratch any more", GOOD | {"spilled_registers": 3}, reasons=reasons)
        self.expect("3 of 16 waves", GOOD | FEW | {"spilled_registers": 3, "scratch_bytes": 8}, reasons=reasons)

    def test_a_reason_that_is_not_needed_is_reported_where_its_target_was_compiled(self):
        reasons = "vega10 navi31 | softmax_* | * | waves | The row is kept in registers.\n"
        self.expect("reasons:1: navi31 | softmax_* | * excuses no waves any more", GOOD, reasons=reasons)
        code, said = self.judge(text_of(GOOD), target="navi21", reasons=reasons)
        self.assertEqual(code, 0, said)

    def test_figures_that_are_missing(self):
        unknown = {"waves": None, "waves_of": None, "occupancy": None, "scratch_bytes": None, "spilled_registers": None}
        self.expect("no occupancy, which this driver reports", GOOD | unknown)
        self.assertEqual(self.judge(text_of(GOOD | unknown), target="m1")[0], 0)

    def test_what_was_not_inspected_to_its_end(self):
        code, said = self.judge(text_of(GOOD, end=False))
        self.assertEqual(code, 1)
        self.assertIn("navi31: yolk inspect did not come to its end", said)
        self.assertIn("0 of 1 shapes were inspected", self.judge(json.dumps(summary(0, 0)))[1])
        self.assertIn("and there are 1", self.judge(text_of(GOOD, end=False) + json.dumps(summary(2)))[1])
        self.assertIn("is no JSON", self.judge(text_of(GOOD)[:-9])[1])

    def test_bad_input(self):
        self.assertIn("it takes --shapes with --reasons, or --refusals", self.run_tool(judge, "navi31=lines").stderr)
        for reasons, part in (
            ("navi31 | a | b | waves\n", "an entry is TARGETS"),
            ("navi31 | a | b | waves | \n", "reasons:1"),
            ("navi31 | a | b | time | Slow.\n", "faults are spills, scratch, waves"),
        ):
            code, said = self.judge(text_of(GOOD), reasons=reasons)
            self.assertEqual(code, 2)
            self.assertIn(part, said)
        for changed in ({"number": 1}, {"kernel": "noise"}):
            code, said = self.judge(text_of(GOOD | changed))
            self.assertEqual(code, 2)
            self.assertIn("which is not shape", said)


class Page(Folder):
    def page(self, *lines):
        done = self.run_tool(
            write_page, "--mesa", "26.1", "--shapes", self.write("shapes", SOFTMAX), "--before", self.write("before", BEFORE), "--reasons", self.write("reasons", ""),
            "--out", self.path("page.md"), f"navi31={self.write('lines', text_of(*lines))}",
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("page.md"), encoding="utf-8") as file:
            return file.read()

    def test_before_and_after(self):
        page = self.page(GOOD, GOOD | {"pipeline": "softmax_totals", "inverse_throughput": None})
        self.assertIn("| `softmax_by_group` | navi31 | 48 → 24 | 0 | 0 | 4 of 16 → 8 of 16 | 1,200 | 400 → 300 |", page)
        self.assertIn("| `softmax_totals` | navi31 | · → 24 | · → 0 | · → 0 | · → 8 of 16 | · → 1,200 | · → – |", page)
        self.assertIn("| `softmax_by_row` | navi31 | 20 → · | – → · | – → · | – → · | 7 → · | – → · |", page)

    def test_the_overview_has_the_worst_of_a_plan(self):
        page = self.page(GOOD, GOOD | FEW | {"scratch_bytes": 8})
        self.assertIn(f"| [{SOFTMAX}](#softmax-rows4-columns3) | 25 % → 19 % scratch |", page)

    def test_only_defaults_are_shown_and_nothing_that_was_refused(self):
        self.assertNotIn("77", self.page(GOOD, GOOD | {"default": False, "registers": 77}))
        with self.assertRaisesRegex(AssertionError, "was refused"):
            self.page(REFUSED)


class Shapes(unittest.TestCase):
    def test_every_operation_has_one(self):
        with open(os.path.join(ROOT, "docs/kernels/README.md"), encoding="utf-8") as file:
            operations = {m.group(1) for m in re.finditer(r"^\| \[(\w+)\]\(\w+\.md\) \| (?!not declared)", file.read(), re.M)}
        with open(os.path.join(TOOLS, "shapes"), encoding="utf-8") as file:
            lines = [line.strip() for line in file if not line.startswith("#")]
        self.assertGreater(len(operations), 20)
        self.assertEqual(operations, {line.split()[0] for line in lines})
        self.assertEqual(len(lines), len(set(lines)), "a shape is listed twice")


if __name__ == "__main__":
    unittest.main()
