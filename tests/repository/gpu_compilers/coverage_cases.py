# SPDX-License-Identifier: Apache-2.0
"""tools/gpu_compilers/coverage.py goes on where a run was interrupted, and takes no earlier run's word for this one."""
import io
import json
import os
import sys
from unittest import mock

import coverage
from folder import Folder

SOFTMAX = "softmax rows=4 columns=3"


def pipeline(number, **more):
    return {"number": 0, "kernel": "softmax", "shape": SOFTMAX, "configuration": {"lanes": number}, "pipeline": "softmax_by_group", "identity": f"{number:016x}"} | more


def ended(configurations=7, interrupted=False):
    return {"event": "summary", "configurations": configurations, "interrupted": interrupted}


class Coverage(Folder):
    def coverage(self, *arguments, lines=()):
        text = "".join(one if isinstance(one, str) else json.dumps(one) + "\n" for one in lines)
        with mock.patch.object(sys, "stdin", io.StringIO(text)), mock.patch("signal.signal"):
            done = self.run_tool(coverage, *arguments)
        return done.returncode, done.stdout + done.stderr

    def keep(self, *lines, share="1", target="navi31", kernels="k1", run="r1"):
        return self.coverage("keep", self.path(target), target, share, "1", kernels, run, lines=lines)

    def known(self, target="navi31"):
        self.assertEqual(self.coverage("known", self.path(target))[0], 0)
        with open(os.path.join(self.path(target), "known.txt"), encoding="utf-8") as file:
            return [int(line, 16) for line in file.read().split()]

    def report(self, share="1", seed="1", target="navi31", kernels="k1", run="r1"):
        return self.coverage("report", share, seed, kernels, run, f"{target}={self.path(target)}")

    def table(self, kernels="k1"):
        """The rows behind the head."""
        code, said = self.coverage("table", self.path("table"), "26.1", kernels, f"navi31={self.path('navi31')}")
        self.assertEqual(code, 0, said)
        with open(self.path("table"), encoding="utf-8") as file:
            head, *rows = file.read().splitlines()
        self.assertEqual(head, "target,mesa,kernels,seed,share,configurations,pipelines,refused")
        return rows

    def test_a_run_that_was_interrupted_goes_on(self):
        self.assertEqual(self.known(), [], "of a folder that is not there")
        code, said = self.keep(pipeline(1), pipeline(2, kernel="sort"), ended(interrupted=True))
        self.assertEqual(code, 1)
        self.assertIn("navi31: the share 1 did not come to its end; run it again to go on", said)
        self.assertEqual(self.known(), [1, 2])
        code, said = self.report()
        self.assertEqual(code, 1)
        self.assertIn("this run has not brought the share 1 with seed 1 to its end", said)
        self.assertIn("2 pipelines so far", said)
        self.assertEqual(self.keep(pipeline(3), ended()), (0, ""))
        self.assertEqual(self.known(), [1, 2, 3])
        code, said = self.report()
        self.assertEqual(code, 0, said)
        self.assertIn("every configuration of the check cases:\nnavi31: 7 configurations, 3 pipelines, 0 refused\nnothing was refused", said)
        self.assertEqual(sorted(os.listdir(self.path("navi31"))), ["crashed", "flight", "known.txt", "refused.jsonl", "rounds.jsonl", "softmax.known", "sort.known"])

    def test_a_target_remembers_for_itself(self):
        self.keep(pipeline(1), ended())
        self.assertEqual(self.known("vega10"), [])

    def test_a_run_that_was_killed_loses_what_was_in_flight(self):
        self.keep(pipeline(1), json.dumps(pipeline(2))[:-4])
        self.assertEqual(self.known(), [1])
        with open(os.path.join(self.path("navi31"), "softmax.known"), "a", encoding="utf-8") as file:
            file.write("00000000")
        self.assertEqual(self.known(), [1], "a torn line is left out")
        self.keep(pipeline(2), ended())
        self.assertEqual(self.known(), [1, 2], "and does not take the next one with it")

    def test_what_was_refused_is_not_remembered_but_told(self):
        refused = pipeline(2, refused="VK_ERROR_UNKNOWN")
        self.assertEqual(self.keep(pipeline(1), refused, refused, ended())[0], 1)
        self.assertEqual(self.known(), [1])
        code, said = self.report()
        self.assertEqual(code, 1)
        self.assertEqual(said.count("softmax_by_group {'lanes': 2}: refused: VK_ERROR_UNKNOWN"), 1)
        self.assertEqual(self.keep(pipeline(3, pipeline=None, identity=None, refused="too large"), ended(interrupted=True))[0], 1)
        self.assertIn("the plan {'lanes': 3}: refused: too large", self.report()[1])
        self.assertEqual(self.keep(pipeline(2), ended()), (0, ""))
        self.assertEqual(self.report()[0], 0, "mended")

    def test_an_earlier_run_does_not_stand_for_this_one(self):
        self.keep(pipeline(1), ended())
        self.assertEqual(self.keep(run="r2")[0], 1, "yolk crashed before its first line")
        code, said = self.report(run="r2")
        self.assertEqual(code, 1)
        self.assertNotIn("nothing was refused", said)
        self.assertIn("this run has not brought the share 1", said)
        self.keep(ended(), run="r3")
        self.assertEqual(self.report(run="r3")[0], 0)

    def test_other_kernels_do_not_stand_for_these(self):
        self.keep(pipeline(1), pipeline(2, refused="VK_ERROR_UNKNOWN"), ended())
        self.assertEqual(self.report(kernels="k2")[0], 1)
        self.keep(pipeline(3), ended(), kernels="k2")
        code, said = self.report(kernels="k2")
        self.assertEqual(code, 0, said)

    def test_the_report_is_of_its_own_share_and_seed(self):
        self.keep(pipeline(1), ended(), share="0.25")
        code, said = self.report("0.25")
        self.assertEqual(code, 0, said)
        self.assertIn("a share of 0.25 (seed 1) of the configurations of the check cases, and every default:", said)
        for share, seed in (("1", "1"), ("0.0625", "1"), ("0.25", "2")):
            self.assertEqual(self.report(share, seed)[0], 1, f"{share} {seed}")

    def test_the_table_has_the_largest_share_that_came_to_its_end(self):
        self.assertEqual(self.table(), [], "no share was run")
        self.keep(pipeline(1), ended(), share="0.25")
        self.keep(pipeline(2), ended(9), share="0.5")
        self.keep(pipeline(3), ended(interrupted=True), share="1")
        self.assertIn("3 pipelines so far; the share 0.5 with seed 1 came to its end", self.report()[1])
        self.assertEqual(self.table(), ["navi31,26.1,k1,1,0.5,9,2,0"])

    def test_the_table_counts_what_was_refused(self):
        self.keep(pipeline(1), pipeline(2, refused="VK_ERROR_UNKNOWN"), ended(9), share="0.5")
        self.assertEqual(self.table(), ["navi31,26.1,k1,1,0.5,9,1,1"])
        self.keep(pipeline(3, refused="VK_ERROR_UNKNOWN"), ended(interrupted=True))
        self.assertEqual(self.table(), ["navi31,26.1,k1,1,0.5,9,1,2"], "of a larger share that was interrupted, too")
        self.keep(pipeline(2), ended(9), share="0.5")
        self.assertEqual(self.table(), ["navi31,26.1,k1,1,0.5,9,2,1"], "mended")

    def test_the_table_keeps_a_row_of_other_kernels_and_its_name(self):
        self.keep(pipeline(1), ended())
        self.table()
        self.assertEqual(self.table("k2"), ["navi31,26.1,k1,1,1,7,1,0"])
        self.keep(ended(8), kernels="k2", share="0.5")
        self.assertEqual(self.table("k2"), ["navi31,26.1,k2,1,0.5,8,1,0"], "a smaller share of these kernels, and no larger one of others")

    def crash(self, *names, status="139", kernels="k1"):
        """The driver crashes while it compiles these."""
        self.known()
        for name in names:
            self.write(f"navi31/flight/{name}", "")
        return self.coverage("crashed", self.path("navi31"), "navi31", status, kernels)

    def test_a_crash_leaves_out_what_was_in_flight_which_the_next_run_names(self):
        code, said = self.crash("abc")
        self.assertEqual(code, 0)
        self.assertIn("navi31: yolk inspect was ended by SIGSEGV while the driver compiled a pipeline", said)
        self.assertEqual(os.listdir(self.path("navi31/crashed")), ["abc"])
        self.assertEqual(self.keep(pipeline(1, refused="Cannot compile: the driver returned VkResult -1000012000."), ended())[0], 1)
        code, said = self.report()
        self.assertEqual(code, 1)
        self.assertIn("softmax_by_group {'lanes': 1}: refused: the driver's compiler crashed", said)
        self.assertNotIn("more pipelines", said)
        self.assertEqual(self.table(), ["navi31,26.1,k1,1,1,7,0,1"])

    def test_a_crash_outside_of_the_compiler(self):
        code, said = self.crash(status="134")
        self.assertEqual(code, 1, "it would come again")
        self.assertIn("was ended by SIGABRT, and the driver was not compiling", said)

    def test_a_crash_that_no_configuration_names_is_counted(self):
        self.crash("abc")
        self.keep(pipeline(1), ended())
        code, said = self.report()
        self.assertEqual(code, 1)
        self.assertIn("navi31: 1 more pipelines crashed the driver", said)
        self.keep(pipeline(1), ended(), kernels="k2")
        self.assertEqual(self.report(kernels="k2")[0], 0, "it was of other kernels")

    def test_a_run_that_was_killed_leaves_nothing_in_flight(self):
        self.known()
        self.write("navi31/flight/abc", "")
        self.known()
        self.assertEqual(self.crash()[0], 1)

    def test_of_a_plan_that_ends_early_nothing_is_forgotten(self):
        crashed = pipeline(1, refused="VkResult -1000012000")
        self.keep(crashed)
        self.keep(crashed | {"identity": "f" * 16, "pipeline": "softmax_totals"}, ended())
        self.assertEqual(self.table(), ["navi31,26.1,k1,1,1,7,0,2"], "the plan ended before it came to the first")

    def test_small_shares_come_first(self):
        self.assertEqual(self.coverage("rounds", "1"), (0, "0.0009765625\n0.00390625\n0.015625\n0.0625\n0.25\n1\n"))
        self.assertEqual(self.coverage("rounds", "0.02"), (0, "0.0009765625\n0.00390625\n0.015625\n0.02\n"))
        self.assertEqual(self.coverage("rounds", ".0005"), (0, "0.0005\n"))

    def test_progress_has_a_rate_and_an_estimate(self):
        text = coverage.progress_text("navi31", 0.25, 1000, 4000, 300, 60.0)
        self.assertEqual(text, "navi31: 1,000 of 4,000 configurations of the share 0.25, 17 a second, 300 new pipelines, about 3:00 min left of this share")
        self.assertIn("about 3:00 h left", coverage.progress_text("m1", 1, 1, 181, 0, 60.0))
        self.assertNotIn("left", coverage.progress_text("m1", 1, 0, 181, 0, 0.0))

    def test_bad_input(self):
        for share in ("0", "1.5", "much", "nan"):
            code, said = self.coverage("rounds", share)
            self.assertEqual(code, 2)
            self.assertIn(f"the share is '{share}'; it is a number above 0 and at most 1", said)
        self.assertEqual(self.coverage("report", "1", "1", "k1", "r1", "navi31")[0], 2)
        self.assertEqual(self.coverage("keep", "1", "1", "k1")[0], 2)
        self.assertEqual(self.coverage()[0], 2)
