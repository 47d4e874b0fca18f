# SPDX-License-Identifier: Apache-2.0
"""Times `yolk bench rollout` and rollout_pytorch.py in turn on the same cores, and prints how they compare.

Run it with the Python that has torch: it starts rollout_pytorch.py with the same one.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
QUIET_LOAD = 0.25  # of the last minute: one process that runs a quarter of the time


def last_object(command):
    """The last line of a command's standard output, as JSON."""
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if ran.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {ran.returncode}:\n{ran.stderr[-2000:]}")
    return json.loads(ran.stdout.splitlines()[-1])


def refuse_a_busy_machine(options):
    load = os.getloadavg()[0]
    if load <= QUIET_LOAD:
        return
    told = f"The load average of the last minute is {load:.2f}; a quiet machine has {QUIET_LOAD} at most."
    if not options.busy:
        sys.exit(f"{told} Other work halves rates, and not both sides alike: wait a minute, or say --busy to go on.")
    print(f"warning: {told} These figures are no measurement.", file=sys.stderr)


def spread(rates):
    return {"median": statistics.median(rates), "lowest": min(rates), "highest": max(rates), "rates": rates}


def compare(options, population):
    """Both sides `rounds` times in turn: what the machine does meanwhile falls on both."""
    yolk = [*options.yolk.split(), "bench", "rollout", "--population", str(population), "--json"]
    torch = [sys.executable, str(FOLDER / "rollout_pytorch.py"), "--population", str(population), "--json"]
    if options.device:
        yolk += ["--device", options.device]
    torch += ["--device", options.torch_device, "--form", options.form]
    if options.generations:
        torch += ["--generations", str(options.generations)]
    rows = [(last_object(yolk), last_object(torch)) for _ in range(options.rounds)]
    sides = {
        side: {
            **spread([row[at]["evaluations_per_second"] for row in rows]),
            "peak_memory_bytes": max(row[at]["peak_memory_bytes"] for row in rows),
            "device": rows[0][at]["device"],
        }
        for at, side in enumerate(("yolk", "torch"))
    }
    sides["torch"]["form"] = rows[-1][1]["form"]
    for form in ("eager", "compiled", "graph"):
        rates = [row[1][f"{form}_evaluations_per_second"] for row in rows if f"{form}_evaluations_per_second" in row[1]]
        if rates:
            sides["torch"][form] = spread(rates)
    return {
        "population": population,
        **sides,
        "ratio": sides["yolk"]["median"] / sides["torch"]["median"],
        "lowest_ratio": min(row[0]["evaluations_per_second"] / row[1]["evaluations_per_second"] for row in rows),
    }


def side_text(side):
    return f"{side['median'] / 1e6:9.3f}  ({side['lowest'] / 1e6:.3f} to {side['highest'] / 1e6:.3f})"


def row_text(result):
    yolk, torch = result["yolk"], result["torch"]
    return (
        f"{result['population']:>10}  {side_text(yolk):<30}  {side_text(torch):<30}  {torch['form']:<8}  "
        f"{result['ratio']:6.2f}  {yolk['peak_memory_bytes'] / 2**20:8.0f}  {torch['peak_memory_bytes'] / 2**20:9.0f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--populations", default="4096", help="members, separated by commas")
    parser.add_argument("--rounds", type=int, default=3, help="times that each side runs")
    parser.add_argument(
        "--yolk", default=str(FOLDER.parents[1] / "tools" / "run"), help="the yolk command; default: tools/run"
    )
    parser.add_argument("--device", help="yolk's device; default: its best")
    parser.add_argument("--torch-device", default="cpu", help="cpu or cuda")
    parser.add_argument(
        "--form",
        choices=("eager", "compiled", "graph", "all"),
        default="all",
        help="of the PyTorch side; all: the fastest counts",
    )
    parser.add_argument(
        "--generations", type=int, default=0, help="timed by the PyTorch side; 0: at least 3, at least a second"
    )
    parser.add_argument("--busy", action="store_true", help="only warn on a busy machine")
    parser.add_argument("--json", action="store_true", help="one object per population instead of the table")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds is 1 or more.")
    # The same cores: yolk's drivers and torch both take all that this process may use.
    refuse_a_busy_machine(options)
    if not options.json:
        sides = f"{'yolk, million/s':<30}  {'PyTorch, million/s':<30}"
        print(f"{'population':>10}  {sides}  {'form':<8}  {'ratio':>6}  {'yolk MiB':>8}  {'torch MiB':>9}")
    for population in map(int, options.populations.split(",")):
        result = compare(options, population)
        print(json.dumps(result) if options.json else row_text(result), flush=True)


if __name__ == "__main__":
    main()
