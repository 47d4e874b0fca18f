# SPDX-License-Identifier: Apache-2.0
"""tools/gpu_compilers/loops.py counts the right files, and its section has before and after."""
import json
import os
import shutil

import loops
from folder import Folder

TEXTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "count_loop")
PLANS = "# plans\nmatmul m=8 | matmul_staged_*\nsoftmax rows=4 | softmax_a softmax_b\n"
PAGE = "# Page\n\n## First\n\nText.\n\n## Main loops\n\nOld.\n\n| a |\n\n## Last\n\nMore.\n"


def line(pipeline, file, **more):
    return {"pipeline": pipeline, "ir": [f"{pipeline}-ACO_IR.txt", file], "waves": 6, "waves_of": 16, "inverse_throughput": 60} | more


class Loops(Folder):
    def setUp(self):
        super().setUp()
        self.plans = self.write("plans", PLANS)
        self.put(0, line("matmul_staged_fast", "a-Assembly.txt"), line("matmul_combine", "b-Assembly.txt"))
        self.put(1, line("softmax_a", "pairs-Assembly.txt"), line("softmax_b", "none-Assembly.txt", inverse_throughput=None))

    def put(self, number, *lines):
        folder = self.path(f"ir/navi31/{number}")
        os.makedirs(folder, exist_ok=True)
        for name, text in (("a", "radv"), ("b", "radv"), ("pairs", "radv_pairs"), ("none", "no_loop")):
            shutil.copy(os.path.join(TEXTS, f"{text}.txt"), os.path.join(folder, f"{name}-Assembly.txt"))
        self.write(f"ir/navi31/{number}/lines.jsonl", "".join(json.dumps(one) + "\n" for one in (*lines, {"event": "summary"})))

    def count(self, name="after"):
        return self.run_tool(loops, "count", self.plans, self.path("ir"), self.path(name), f"{name} it")

    def table(self):
        self.assertEqual(self.count().returncode, 0)
        done = self.run_tool(loops, "table", self.plans, self.path("before"), self.path("after"))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_before_and_after(self):
        self.assertEqual(self.count("before").returncode, 0)
        self.put(0, line("matmul_staged_fast", "a-Assembly.txt", waves=8, inverse_throughput=30))
        text = self.table()
        self.assertIn("- After: after it.\n- Before: before it.\n", text)
        self.assertIn("| matmul m=8 | navi31 | 50 % | 6 of 16 → 8 of 16 |", text)
        self.assertIn("| softmax rows=4: `softmax_a` | navi31 | 87 % p | 6 of 16 |", text)
        self.assertIn("| softmax rows=4: `softmax_b` | navi31 | – | 6 of 16 |", text)

    def test_plans_with_the_same_loops_share_their_rows(self):
        self.write("plans", "matmul m=8 | matmul_staged_*\nmatmul m=9 | matmul_staged_*\n")
        self.put(1, line("matmul_staged_fast", "a-Assembly.txt"))
        self.assertEqual(self.count("before").returncode, 0)
        row = "navi31 | 50 % | 6 of 16 |"
        self.assertTrue(self.table().rstrip().endswith(f"|\n| matmul m=8; matmul m=9 | {row}"), self.table())
        self.put(1, line("matmul_staged_fast", "a-Assembly.txt", waves=8))
        self.assertIn(f"| matmul m=8 | {row}\n| matmul m=9 | navi31 | 50 % | 6 of 16 → 8 of 16 |", self.table())

    def test_of_several_pipelines_the_one_with_most_counts(self):
        self.put(0, line("matmul_staged_small", "none-Assembly.txt"), line("matmul_staged_fast", "a-Assembly.txt"))
        self.assertEqual(self.count().returncode, 0)
        _, rows = loops.rows_of(self.path("after"))
        self.assertEqual(rows["navi31", "matmul m=8", "matmul_staged_*"]["pipeline"], "matmul_staged_fast")

    def test_the_section_is_put_into_the_page(self):
        self.count("before")
        self.count()
        page = self.write("page.md", PAGE)
        self.assertEqual(self.run_tool(loops, "page", self.plans, self.path("before"), self.path("after"), page).returncode, 0)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn("Old.", text)
        self.assertTrue(text.startswith("# Page\n\n## First\n\nText.\n\n## Main loops\n\nThe part of the instructions"), text)
        self.assertTrue(text.endswith("|\n\n## Last\n\nMore.\n"), text)
        self.write("page.md", "# Page\n")
        self.assertEqual(self.run_tool(loops, "page", self.plans, self.path("before"), self.path("after"), page).returncode, 2)

    def test_what_is_missing_is_said(self):
        self.put(0, line("matmul_combine", "b-Assembly.txt"))
        self.assertIn("navi31: matmul m=8 has no pipeline matmul_staged_*; it has matmul_combine", self.count().stderr)
        self.put(0, line("matmul_staged_fast", "ACO.txt"))
        self.assertIn("matmul_staged_fast has 0 files of assembly", self.count().stderr)
        self.write("plans", "matmul m=8\n")
        self.assertIn("a line of", self.count().stderr)
        self.assertEqual(self.run_tool(loops).returncode, 2)

    def test_the_plans_of_the_repository_were_counted(self):
        here = os.path.dirname(os.path.abspath(loops.__file__))
        plans = loops.plans_of(os.path.join(here, "loops"))
        wanted = {(shape, pattern) for shape, patterns in plans for pattern in patterns}
        for name in ("loops.csv", "loops_before.csv"):
            _, rows = loops.rows_of(os.path.join(here, name))
            self.assertEqual({key[1:] for key in rows}, wanted, name)
