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

    def test_other_texts_and_empty_folders_are_refused(self):
        for name, part in ((COUNTER, "neither RADV's"), (TEXTS, "says assembly"), (TEXTS + "/absent", "absent")):
            done = run(name)
            self.assertEqual(done.returncode, 2, name)
            self.assertIn(part, done.stderr)


if __name__ == "__main__":
    unittest.main()
