# SPDX-License-Identifier: Apache-2.0
"""The figures of tools/gpu_compilers/count_loop.py on small texts whose instructions were counted by hand.

    python3 count_loop_test.py ROOT
"""
import json
import os
import subprocess
import sys
import unittest

ROOT = sys.argv.pop(1)
TEXTS = os.path.join(ROOT, "tests/repository/count_loop")
COUNTER = os.path.join(ROOT, "tools/gpu_compilers/count_loop.py")


def run(*arguments):
    return subprocess.run([sys.executable, COUNTER, *arguments], capture_output=True, text=True, check=False)


def loop_of(text):
    done = run("--json", os.path.join(TEXTS, text))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["loop"]


class CountLoop(unittest.TestCase):
    def test_dual_issued_and_packed_ones_hold_two(self):
        loop = loop_of("radv.txt")
        self.assertEqual(loop["multiply_adds"], 2 + 1 + 2 + 1)
        self.assertEqual(loop["multiply_add_instructions"], 4)

    def test_only_the_inner_loop_counts_and_repeated_lines_are_unfolded(self):
        loop = loop_of("radv.txt")
        self.assertEqual(loop["instructions"], 12)
        self.assertEqual(
            loop["others"], {"vector": 2, "scalar": 1, "memory": 0, "lds": 1, "control": 1, "wait": 3, "matrix": 0}
        )
        self.assertAlmostEqual(loop["share"], 6 / 12)
        self.assertAlmostEqual(loop["per_multiply_add"]["wait"], 3 / 6)

    def test_a_loop_without_multiply_adds_belongs_to_the_one_around_it(self):
        loop = loop_of("radv_gcn.txt")
        self.assertEqual(loop["instructions"], 8)
        self.assertEqual(loop["multiply_adds"], 2)
        self.assertEqual(
            loop["others"], {"vector": 1, "scalar": 1, "memory": 1, "lds": 1, "control": 2, "wait": 0, "matrix": 0}
        )

    def test_nvk(self):
        loop = loop_of("nvk.txt")
        self.assertEqual(loop["instructions"], 11)
        self.assertEqual(loop["multiply_adds"], 2 + 2)
        self.assertEqual(
            loop["others"], {"vector": 1, "scalar": 2, "memory": 1, "lds": 1, "control": 3, "wait": 0, "matrix": 0}
        )

    def test_matrix_instructions_are_a_share_of_their_loop_without_the_way_out(self):
        name = os.path.join(TEXTS, "nvk_matrix.txt")
        counted = json.loads(run("--json", name).stdout)
        self.assertIsNone(counted["loop"])
        self.assertEqual(counted["matrix_loop"], {"instructions": 7, "matrix_instructions": 2, "share": 2 / 7})
        self.assertIn("2 of 7 instructions multiply matrices, 28.6%", run(name).stdout)
        self.assertIsNone(json.loads(run("--json", os.path.join(TEXTS, "nvk.txt")).stdout)["matrix_loop"])

    def test_no_loop_is_said(self):
        self.assertIsNone(loop_of("no_loop.txt"))
        self.assertIn("no loop with multiply-adds", run(os.path.join(TEXTS, "no_loop.txt")).stdout)

    def test_products_that_are_added_are_pairs(self):
        # Of 15 instructions: v6; v8; v8 once more; v10, since the sum before took v8; both of v12; and the fused one. Not v7, which is
        # written before it is added, nor the product of integers.
        name = os.path.join(TEXTS, "radv_pairs.txt")
        counted = json.loads(run("--json", name).stdout)
        self.assertEqual(counted["exact_loop"], {"instructions": 15, "multiply_adds": 7, "pairs": 6, "share": (1 + 2 * 6) / 15})
        self.assertEqual(counted["loop"]["multiply_adds"], 1)
        self.assertIn("6 of them pairs", run(name).stdout)

    def test_pairs_of_nvk(self):
        counted = json.loads(run("--json", os.path.join(TEXTS, "nvk_pairs.txt")).stdout)
        self.assertIsNone(counted["loop"])
        self.assertEqual(counted["exact_loop"], {"instructions": 9, "multiply_adds": 2, "pairs": 2, "share": 4 / 9})

    def test_without_pairs_there_is_no_exact_loop(self):
        self.assertIsNone(json.loads(run("--json", os.path.join(TEXTS, "radv.txt")).stdout)["exact_loop"])

    def test_other_texts_and_empty_folders_are_refused(self):
        for name, part in ((COUNTER, "neither RADV's"), (TEXTS, "says assembly"), (TEXTS + "/absent", "absent")):
            done = run(name)
            self.assertEqual(done.returncode, 2, name)
            self.assertIn(part, done.stderr)


if __name__ == "__main__":
    unittest.main()
