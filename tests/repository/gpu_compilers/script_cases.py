# SPDX-License-Identifier: Apache-2.0
"""tools/gpu_compilers/compile.sh with a yolk that crashes, says nothing or is interrupted, and a judge who finds something."""
import json
import os
import subprocess
import sys

import coverage
from folder import Folder

TOOLS = os.path.dirname(os.path.abspath(coverage.__file__))
ROOT = os.path.dirname(os.path.dirname(TOOLS))

# What the real script gets from others; $1 is a folder. `inspected` is what yolk inspect does, $1 the call's number.
STUBS = r"""
set -euo pipefail
root=$2 gpu_folder=$1 gpu_targets=(navi31) yolk=$1/yolk
say() { printf '%s\n' "$*" >&2; }
die() { say "error: $1"; exit "${2:-1}"; }
gpu_mesa() { printf 26.1; }
gpu_fetch() { :; }
find_yolk() { :; }
. "$root/tools/gpu_compilers/compile.sh"
make_crash_guard() { :; }
kernels_of_yolk() { cat "$gpu_folder/kernels"; }
folder=$gpu_folder/all/26.1/navi31
on_target() {
  local call=1
  [[ "$*" == *--cases* ]] || return 0
  [ ! -e "$gpu_folder/calls" ] || call=$(($(cat "$gpu_folder/calls") + 1))
  printf '%s' "$call" >"$gpu_folder/calls"
  inspected "$call"
}
crash() { bash -c 'kill -SEGV $$'; }
pipeline() { printf '{"kernel": "softmax", "shape": "softmax", "configuration": {}, "pipeline": "softmax", "identity": "%016d"%s}\n' "$1" "${2:-}"; }
summary() { printf '{"event": "summary", "configurations": 7, "interrupted": false}\n'; }
"""


class Scripts(Folder):
    def script(self, text, kernels="k1"):
        self.write("kernels", kernels + "\n")
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "PATH": os.path.dirname(sys.executable) + ":" + os.environ["PATH"]}
        done = subprocess.run(["bash", "-c", STUBS + text, "test", self.folder.name, ROOT], capture_output=True, text=True, check=False, env=environment)
        return done.returncode, done.stdout + done.stderr

    def all(self, inspected, **options):
        return self.script(f"inspected() {{ {inspected} }}\ncompile_all .0005 1 navi31", **options)

    def test_what_the_driver_takes_is_good(self):
        code, said = self.all("pipeline 1; summary;")
        self.assertEqual(code, 0, said)
        self.assertIn("navi31: 7 configurations, 1 pipelines, 0 refused\nnothing was refused", said)

    def test_a_run_without_a_word_does_not_pass_on_an_earlier_one(self):
        self.assertEqual(self.all("pipeline 1; summary;")[0], 0)
        for silent in ("crash;", "return 2;", "return 0;", "pipeline 2; kill -KILL $BASHPID;"):
            code, said = self.all(silent)
            self.assertNotEqual(code, 0, silent)
            self.assertIn("this run has not brought the share 0.0005", said, silent)

    def test_a_finished_share_of_other_kernels_does_not_pass(self):
        self.assertEqual(self.all("pipeline 1; summary;")[0], 0)
        self.assertEqual(self.all("return 2;", kernels="k2")[0], 1)
        self.assertEqual(self.all("summary;", kernels="k2")[0], 0)

    def test_behind_a_crash_it_goes_on_and_the_crash_is_told(self):
        refused = "pipeline 2 ', \"refused\": \"VkResult -1000012000\"'; pipeline 3; summary; return 1;"
        code, said = self.all(f'case $1 in 1) pipeline 1; : >"$folder/flight/2"; crash ;; *) [ -e "$folder/crashed/2" ]; {refused} esac')
        self.assertEqual(code, 1, said)
        self.assertIn("ended by SIGSEGV while the driver compiled a pipeline", said)
        self.assertIn("7 configurations, 2 pipelines, 1 refused", said)
        self.assertIn("navi31: softmax: softmax {}: refused: the driver's compiler crashed", said)

    def test_a_crash_that_comes_again_ends_the_target(self):
        code, said = self.all("crash;")
        self.assertEqual(code, 1, said)
        self.assertIn("the driver was not compiling", said)

    def test_the_page_is_written_where_nothing_was_found(self):
        page = 'write_page() { say "written"; }\ninspected() { pipeline 1; summary; }\n'
        code, said = self.script(page + "judge() { :; }\ncompile --all --share .0005 --write")
        self.assertEqual((code, "written" in said), (0, True), said)
        for found in ("judge() { return 1; }", "judge() { :; }\ninspected() { crash; }"):
            code, said = self.script(f"{page}{found}\ncompile --all --share .0005 --write")
            self.assertEqual((code, "written\n" in said), (1, False), said)
            self.assertIn("so that the page was not written", said)

    def test_the_rounds_say_whose_they_are(self):
        self.all("summary;")
        with open(self.path("all/26.1/navi31/rounds.jsonl"), encoding="utf-8") as file:
            done = json.loads(file.readline())
        self.assertEqual((done["kernels"], done["share"], done["seed"]), ("k1", 0.0005, 1))
