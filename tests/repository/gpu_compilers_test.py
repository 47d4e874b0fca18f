# SPDX-License-Identifier: Apache-2.0
"""tools/gpu_compilers/judge.py finds each fault of a compiled plan, write_page.py writes before and after, coverage.py goes on where a
run was interrupted or the driver crashed, and the list of shapes has every operation.

    python3 gpu_compilers_test.py ROOT
"""
import json
import os
import re
import sys
import unittest

ROOT = sys.argv.pop(1)
TOOLS = os.path.join(ROOT, "tools/gpu_compilers")
sys.path[:0] = [TOOLS, os.path.join(os.path.dirname(os.path.abspath(__file__)), "gpu_compilers")]
import judge  # noqa: E402
import shapes  # noqa: E402
import write_page  # noqa: E402
from coverage_cases import Coverage  # noqa: E402, F401
from folder import Folder  # noqa: E402
from guard_cases import Guard, Kernels  # noqa: E402, F401
from loops_cases import Loops  # noqa: E402, F401
from script_cases import Scripts  # noqa: E402, F401

SOFTMAX = "softmax rows=4 columns=3"
GOOD = {
    "number": 0, "kernel": "softmax", "shape": SOFTMAX + ", plain", "configuration": {"lanes": 32}, "default": True, "pipeline": "softmax_by_group",
    "registers": 24, "spilled_registers": 0, "scratch_bytes": 0, "shared_bytes": 512, "waves": 8, "waves_of": 16,
    "occupancy": 0.5, "instructions": 1200, "inverse_throughput": 300,
}  # fmt: skip
REFUSED = {"number": 0, "kernel": "softmax", "shape": SOFTMAX, "default": True, "pipeline": "softmax_by_group", "refused": "VK_ERROR_UNKNOWN"}
FEW = {"waves": 3, "occupancy": 3 / 16}
BEGIN = json.dumps({"event": "begin"}) + "\n"
BEFORE = """# commit 1234
target,shape,pipeline,registers,spilled_registers,scratch_bytes,waves,waves_of,instructions,inverse_throughput
navi31,softmax rows=4 columns=3,softmax_by_group,48,0,0,4,16,1200,400
navi31,softmax rows=4 columns=3,softmax_by_row,20,,,,,7,
"""
COVERAGE = """target,mesa,kernels,seed,share,configurations,pipelines,refused
navi31,26.1.6,k1,1,0.00390625,2380,1501,0
vega10,26.1.6,k1,1,1,417000,90000,0
"""


def summary(count, configurations=1):
    return {"event": "summary", "configurations": configurations, "pipelines": count, "refused": 0}


def text_of(*lines, end=True, configurations=1):
    lines = [*lines] + ([summary(len(lines), configurations)] if end else [])
    return "".join(json.dumps(line) + "\n" for line in lines)


class Judge(Folder):
    def judge(self, text, *options, target="navi31", reasons="", shapes=SOFTMAX):
        done = self.run_tool(
            judge, *options, "--shapes", self.write("shapes", f"# shapes\n{shapes}\n"), "--reasons", self.write("reasons", reasons),
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

    def test_a_reason_for_a_pattern_of_targets_is_judged_where_all_were_compiled(self):
        reasons = "* | softmax_* | * | waves | The row is kept in registers.\n"
        self.expect("* | softmax_* | * excuses no waves any more", GOOD, reasons=reasons)
        code, said = self.judge(text_of(GOOD), "--some", reasons=reasons)
        self.assertEqual(code, 0, said)
        code, said = self.judge(text_of(GOOD), "--some", reasons=reasons.replace("*", "navi31", 1))
        self.assertEqual(code, 1, said)

    def test_figures_that_are_missing(self):
        unknown = {"waves": None, "waves_of": None, "occupancy": None, "scratch_bytes": None, "spilled_registers": None}
        self.expect("no occupancy, which this driver reports", GOOD | unknown)
        self.assertEqual(self.judge(text_of(GOOD | unknown), target="m1")[0], 0)

    def test_what_was_not_inspected_to_its_end(self):
        code, said = self.judge(text_of(GOOD, end=False))
        self.assertEqual(code, 1)
        self.assertIn(f"navi31: yolk inspect did not come to the end of the 1 default plans, behind '{SOFTMAX}'", said)
        self.assertIn("0 configurations were inspected, and 1 were asked for", self.judge(json.dumps(summary(0, 0)))[1])
        self.assertIn("and there are 1", self.judge(text_of(GOOD, end=False) + json.dumps(summary(2)))[1])
        self.assertIn("is no JSON", self.judge(text_of(GOOD)[:-9])[1])

    def test_a_configuration_of_the_list_is_judged_as_a_default_is(self):
        shapes = f"{SOFTMAX}\n{SOFTMAX} | lanes=64 | navi31 m1\n"
        other = GOOD | FEW | {"default": False, "number": 5}
        text = text_of(GOOD) + BEGIN + text_of(other)
        code, said = self.judge(text, shapes=shapes)
        self.assertEqual(code, 1)
        self.assertIn(f"navi31: {SOFTMAX} with lanes=64: softmax_by_group: 3 of 16 waves", said)
        reasons = "navi31 | softmax_* | * with lanes=64 | waves | It is no default.\n"
        self.assertEqual(self.judge(text, shapes=shapes, reasons=reasons)[0], 0)
        self.assertEqual(self.judge(text_of(GOOD), shapes=shapes, target="vega10")[0], 0, "which does not have it")

    def test_a_configuration_of_the_list_that_is_missing_or_not_one(self):
        shapes = f"{SOFTMAX}\n{SOFTMAX} | lanes=64\n"
        for text, part in (
            (text_of(GOOD), "1 of 2 runs of yolk inspect are there"),
            (text_of(GOOD) + BEGIN, f"yolk inspect did not come to the end of '{SOFTMAX} with lanes=64'"),
            (text_of(GOOD) + BEGIN + text_of(GOOD, end=False) + json.dumps(summary(1, 2)), "2 configurations were inspected, and 1 were asked for"),
        ):
            code, said = self.judge(text, shapes=shapes)
            self.assertEqual(code, 1, part)
            self.assertIn(part, said)

    def test_bad_input(self):
        for line in (f"{SOFTMAX} | lanes", f"{SOFTMAX} |", f"{SOFTMAX} | a=1 | navi31 | why"):
            code, said = self.judge(text_of(GOOD), shapes=line)
            self.assertEqual(code, 2)
            self.assertIn("a line is SHAPE, or SHAPE | KNOB=VALUE ... | TARGET ...", said)
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
    def page(self, *lines, coverage=COVERAGE, shapes=SOFTMAX, configurations=1):
        done = self.run_tool(
            write_page, "--mesa", "26.1", "--kernels", "k1", "--date", "2026-11-24", "--shapes", self.write("shapes", shapes), "--before", self.write("before", BEFORE),
            "--coverage", self.write("coverage", coverage), "--plans", os.path.join(TOOLS, "loops"), "--loops-before", os.path.join(TOOLS, "loops_before.csv"),
            "--loops", os.path.join(TOOLS, "loops.csv"), "--figures", self.path("figures.csv"), "--out", self.path("page.md"),
            f"navi31={self.write('lines', text_of(*lines, configurations=configurations))}",
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.read("page.md")

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def figures(self, *lines):
        self.page(*lines)
        return self.read("figures.csv")

    def test_the_figures_are_a_table_of_the_form_of_the_one_before(self):
        figures = self.figures(GOOD, GOOD, GOOD | {"pipeline": "softmax_totals", "inverse_throughput": None})
        row = "navi31,softmax rows=4 columns=3,"
        self.assertEqual(figures.splitlines(), [
            "# kernels k1, compiled by Mesa 26.1 on 2026-11-24",
            BEFORE.splitlines()[1],
            f"{row}softmax_by_group,24,0,0,8,16,1200,300",
            f"{row}softmax_by_group,24,0,0,8,16,1200,300",
            f"{row}softmax_totals,24,0,0,8,16,1200,",
        ])  # fmt: skip
        source, found = write_page.before_of(self.path("figures.csv"))
        self.assertEqual(source, "kernels k1, compiled by Mesa 26.1 on 2026-11-24")
        self.assertEqual(found["navi31", SOFTMAX]["softmax_by_group"], [{name: GOOD[name] for name in write_page.FIGURES}] * 2)

    def test_the_share_that_was_compiled(self):
        page = self.page(GOOD)
        self.assertIn("| navi31 | 26.1.6 | these | .39 % (seed 1) | 2,380 | 1,501 | 0 |", page)
        self.assertIn("| vega10 | 26.1.6 | these | all | 417,000 | 90,000 | 0 |", page)
        self.assertIn(" Nothing was refused.\n", page)
        self.assertNotIn("earlier ones", page)

    def test_what_was_refused_is_told(self):
        page = self.page(GOOD, coverage=COVERAGE.replace("1501,0", "1501,3"))
        self.assertNotIn("Nothing was refused", page)
        self.assertIn("Drivers refused pipelines, or crashed on them: 3 on navi31.", page)
        self.assertIn("| 2,380 | 1,501 | 3 |", page)

    def test_a_share_of_other_kernels_is_told(self):
        page = self.page(GOOD, coverage=COVERAGE.replace("k1", "k0", 1))
        self.assertIn("| navi31 | 26.1.6 | earlier ones | .39 %", page)
        self.assertIn("A row of earlier kernels says nothing", page)

    def test_the_overview_has_the_worst_of_a_plan(self):
        page = self.page(GOOD, GOOD | FEW | {"scratch_bytes": 8})
        self.assertIn("| [softmax](kernels/softmax.md) | 25 % → 19 % scratch |", page)

    def test_the_overview_has_the_worst_of_an_operations_shapes(self):
        second = GOOD | FEW | {"number": 1, "shape": "softmax rows=9 columns=3"}
        page = self.page(GOOD, second, shapes=f"{SOFTMAX}\nsoftmax rows=9 columns=3\n", configurations=2)
        self.assertIn("| [softmax](kernels/softmax.md) | 19 % |", page)
        self.assertEqual(page.count("(kernels/softmax.md)"), 1)

    def test_a_shape_that_was_not_compiled_before_has_one_figure(self):
        page = self.page(GOOD, shapes=f"{SOFTMAX} \n")
        self.assertIn("| [softmax](kernels/softmax.md) | 25 % → 50 % |", page)
        page = self.page(GOOD, shapes="softmax rows=9 columns=3\n")
        self.assertIn("| [softmax](kernels/softmax.md) | 50 % |", page)

    def test_operations_with_all_waves_are_a_sentence(self):
        page = self.page(GOOD | {"waves": 16}, shapes="softmax rows=9 columns=3\n")
        self.assertIn("\nEvery pipeline has all waves, on each GPU that reports them: [softmax](kernels/softmax.md).\n", page)
        self.assertNotIn("| [softmax]", page)
        page = self.page(GOOD | {"waves": 16, "scratch_bytes": 8}, shapes="softmax rows=9 columns=3\n")
        self.assertIn("| [softmax](kernels/softmax.md) | 100 % scratch |", page)
        page = self.page(GOOD | {"waves": 16}, shapes=f"{SOFTMAX}\n")
        self.assertIn("| [softmax](kernels/softmax.md) | 25 % → 100 % |", page)
        self.assertNotIn("Every pipeline has", page)

    def test_only_defaults_are_shown_and_nothing_that_was_refused(self):
        self.assertNotIn("7777", self.figures(GOOD, GOOD | {"default": False, "registers": 7777}))
        self.assertIn("7777", self.figures(GOOD, GOOD | {"registers": 7777}))
        with self.assertRaisesRegex(AssertionError, "was refused"):
            self.page(REFUSED)

    def test_it_has_the_main_loops_and_a_date(self):
        page = self.page(GOOD)
        self.assertIn("26.1, on 2026-11-24.", page)
        self.assertLess(page.index("## Other configurations"), page.index("\n\n## Main loops\n"))
        self.assertLess(page.index("## Main loops"), page.index("|\n\n## Figures"))


class Shapes(unittest.TestCase):
    def test_every_operation_has_one(self):
        with open(os.path.join(ROOT, "docs/kernels/README.md"), encoding="utf-8") as file:
            operations = {m.group(1) for m in re.finditer(r"^\| \[(\w+)\]\(\w+\.md\) \| (?!not declared)", file.read(), re.M)}
        with open(os.path.join(TOOLS, "shapes"), encoding="utf-8") as file:
            lines = [line.strip() for line in file if not line.startswith("#")]
        listed = shapes.shapes_of(os.path.join(TOOLS, "shapes"))
        self.assertGreater(len(operations), 20)
        self.assertEqual(operations, {line.split()[0] for line in lines})
        self.assertEqual(len(lines), len({shape.text for shape in listed}), "a shape is listed twice")
        targets = {target for shape in listed for target in shape.targets}
        self.assertLessEqual(targets, set(write_page.GPUS), "a target is not one of drivers.sh")

    def test_those_of_one_target(self):
        listed = [shapes.shape_of(line) for line in ("matmul m=1", "matmul m=1 | a=1 b=2 | navi31", "matmul m=1 | a=3")]
        self.assertEqual([one.text for one in shapes.plain_of(listed)], ["matmul m=1"])
        self.assertEqual([one.text for one in shapes.chosen_of(listed, "navi31")], ["matmul m=1 with a=1 b=2", "matmul m=1 with a=3"])
        self.assertEqual([one.text for one in shapes.chosen_of(listed, "m1")], ["matmul m=1 with a=3"])


if __name__ == "__main__":
    unittest.main()
