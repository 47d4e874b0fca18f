# SPDX-License-Identifier: Apache-2.0
"""tools/gpu_compilers/compare_checks.py finds a failed kernel, another hash, and a kernel that one driver lacks.

    python3 compare_checks_test.py ROOT
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = sys.argv.pop(1)
COMPARE = os.path.join(ROOT, "tools/gpu_compilers/compare_checks.py")


def outcome(driver, **changed):
    kernels = {"noise": ("01", True), "softmax": ("02", True)}
    kernels.update(changed)
    lines = [{"kernel": name, "output_hash": value[0], "passed": value[1]} for name, value in kernels.items() if value]
    return json.dumps({"driver": driver, "kernels": lines}) + "\n"


def compare(*texts):
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, str(i)) for i in range(len(texts))]
        for name, text in zip(names, texts):
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
        return subprocess.run([sys.executable, "-B", COMPARE, *names], capture_output=True, text=True, check=False)


class CompareChecks(unittest.TestCase):
    def expect(self, second, part):
        done = compare(outcome("one"), second)
        self.assertEqual(done.returncode, 1)
        self.assertIn(part, done.stdout)

    def test_the_same_bytes_are_good(self):
        done = compare(outcome("one"), outcome("two"))
        self.assertEqual((done.returncode, done.stdout), (0, "2 kernels: the same bytes on one, two\n"))

    def test_another_hash(self):
        self.expect(outcome("two", noise=("ff", True)), "two: noise gave output_hash ff, one gave 01")

    def test_a_failed_kernel(self):
        self.expect(outcome("two", softmax=("02", False)), "two: softmax failed")

    def test_a_kernel_that_one_driver_lacks(self):
        self.expect(outcome("two", softmax=None), "softmax was checked on only one")

    def test_one_driver_is_refused(self):
        done = compare(outcome("one"), outcome("one"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("outcomes of 1 drivers", done.stderr)


if __name__ == "__main__":
    unittest.main()
