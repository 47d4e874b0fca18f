#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two ranks of one core each beside one process of one core, in turns: how much faster two are.

bench/distributed/ranks.py [--yolk build/release/cli/yolk] [--repeats 5] [--population 65536] [--generations 6]

Both sides run `yolk train cartpole` on lavapipe with LP_NUM_THREADS=1, each process held to a core of its own by taskset.
Rates are evaluations per second from the end of the first generation to that of the last, so that start and compilation
are left out. Prints the rates of each turn and the median of their ratios, and fails where state hashes differ. Measure
on a quiet machine with two cores at least. Needs mpirun and a build with MPI.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

LAVAPIPE = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"


def run(command, environment):
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    generations, outcome = lines[:-1], lines[-1]
    seconds = generations[-1]["seconds"] - generations[0]["seconds"]
    return sum(line["evaluations"] for line in generations[1:]) / seconds, outcome


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--yolk", default="build/release/cli/yolk")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--population", type=int, default=65536)
    parser.add_argument("--generations", type=int, default=6)
    flags = parser.parse_args()
    environment = dict(os.environ, VK_ICD_FILENAMES=LAVAPIPE, VK_DRIVER_FILES=LAVAPIPE, LP_NUM_THREADS="1",
                       OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    cores = sorted(os.sched_getaffinity(0))[:2]
    train = [flags.yolk, "train", "cartpole", "--json", "--keep-going", "--out", "", "--population",
             str(flags.population), "--generations", str(flags.generations)]
    one = ["taskset", "-c", str(cores[0]), *train]
    two = ["mpirun", "--bind-to", "none", "-n", "1", "taskset", "-c", str(cores[0]), *train,
           ":", "-n", "1", "taskset", "-c", str(cores[1]), *train]
    ratios = []
    for turn in range(flags.repeats):
        rate_of_one, outcome_of_one = run(one, environment)
        rate_of_two, outcome_of_two = run(two, environment)
        if outcome_of_one["state_hash"] != outcome_of_two["state_hash"]:
            sys.exit("the two sides have different states")
        ratios.append(rate_of_two / rate_of_one)
        print(f"turn {turn + 1}: one {rate_of_one / 1e6:.2f} M/s, two {rate_of_two / 1e6:.2f} M/s, "
              f"ratio {ratios[-1]:.3f}", flush=True)
    print(f"median ratio {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f}); received per "
          f"generation {outcome_of_two['received_bytes_per_generation']} bytes")


if __name__ == "__main__":
    main()
