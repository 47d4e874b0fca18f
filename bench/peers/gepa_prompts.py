# SPDX-License-Identifier: Apache-2.0
"""The same prompt search by gepa (PyPI) and by yolk.gepa: calls of the metric until a prompt is perfect.

A clerk has to give the codes of colours, and knows those that its instruction has; the feedback names the right one. The
reflecting model is a function: it adds to the instruction the first code that the feedback asks for, and in one answer of
five, drawn by a seed, it forgets what was there. No language model is asked, so this compares the searches, not the models.

Run it with the Python that has gepa; yolk's package is found by PYTHONPATH.
"""

import argparse
import json
import random
import re
import statistics
import time

COLOURS = "red green blue black white brown pink grey".split()
DATA = [{"input": colour, "answer": f"<{7 * i + 3}>", "additional_context": {"rule": f"{colour} is <{7 * i + 3}>"}}
        for i, colour in enumerate(COLOURS)]


def clerk(messages):
    known = dict(re.findall(r"(\w+) is (<\d+>)", messages[0]["content"]))
    return known.get(messages[1]["content"], "?")


def editor_of(seed):
    draw = random.Random(seed)

    def edit(prompt):
        instruction = prompt.split("```")[1].strip()
        wanted = re.findall(r"rule: (\w+ is <\d+>)", prompt)
        if draw.random() < 0.2:
            instruction = "Give the code."
        return f"```\n{instruction} {wanted[0] if wanted else ''}\n```"

    return edit


class Quiet:
    def log(self, message):
        pass


def run(optimize, seed, budget):
    started = time.perf_counter()
    result = optimize(seed_candidate={"system_prompt": "Give the code."}, trainset=DATA, valset=DATA, task_lm=clerk,
                      reflection_lm=editor_of(seed), max_metric_calls=budget, seed=seed, logger=Quiet(),
                      stop_callbacks=lambda state: max(state.program_full_scores_val_set) >= 1.0)
    best = max(result.val_aggregate_scores)
    return best, result.total_metric_calls, time.perf_counter() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budgets", default="100,200,400")
    parser.add_argument("--json", action="store_true", help="one object per row")
    options = parser.parse_args()
    import gepa
    import yolk.gepa
    for budget in map(int, options.budgets.split(",")):
        for name, optimize in (("yolk", yolk.gepa.optimize), ("gepa", gepa.optimize)):
            rows = [run(optimize, seed, budget) for seed in range(options.seeds)]
            calls = [used for best, used, _ in rows if best == 1.0]
            if options.json:
                print(json.dumps({"side": name, "budget": budget, "searches": len(rows), "perfect": len(calls), "calls": calls,
                                  "seconds": [seconds for _, _, seconds in rows]}), flush=True)
                continue
            print(f"{budget:5} metric calls, {name}: perfect {len(calls)} of {len(rows)}"
                  + (f" after {statistics.mean(calls):.0f} (mean)" if calls else "")
                  + f", best mean {statistics.mean(best for best, _, _ in rows):.2f}"
                  + f", most calls {max(used for _, used, _ in rows)}"
                  + f", {statistics.median(seconds for _, _, seconds in rows):.3f} s", flush=True)


if __name__ == "__main__":
    main()
