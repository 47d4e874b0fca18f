# SPDX-License-Identifier: Apache-2.0
"""Makes the page of a trial's steps, in Markdown."""
import datetime
import os
import pathlib
import platform
import re
import time

from driver import free_bytes
from process import text_of

# CartPole, seed 1, population 4,096, 20 generations: on every driver so far.
STATE = "5b166e1c19dae23d6d088e1aaa6c40aa"


def number(value):
    """Three digits, with the thousands of large ones apart."""
    if not isinstance(value, (int, float)):
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def table(heads, rows):
    def line(cells):
        return "| " + " | ".join(str(cell).replace("|", "/").replace("\n", " ") for cell in cells) + " |\n"

    return line(heads) + "|" + "---|" * len(heads) + "\n" + "".join(map(line, rows))


def section(title, heads, rows):
    return f"\n## {title}\n\n{table(heads, rows)}" if rows else ""


def families_of(trial):
    """Of each family that was checked: its row of `yolk check`, and how its step ended."""
    steps = {name.removeprefix("check-"): step for name, step in trial.steps.items() if name.startswith("check-")}
    return {name: ((step.last.get("kernels") or [{}])[0], step) for name, step in steps.items()}


def unfinished(kernel, step):
    return not kernel.get("failure_count") and not kernel.get("error") and (step.late or step.status is None)


class Verdict:
    """Rows of the short table, and whether each is as it should be."""

    def __init__(self, trial, device):
        self.trial, self.rows, self.good = trial, [], True
        exact = device.get("exact_arithmetic")
        self.add("exact mode opens", exact, "yes" if exact else f"NO: {device.get('inexact_reason') or device.get('probe_error')}")
        self.add_state()
        self.add_twin()
        self.add_kernels()
        wrong = [check for check in device.get("self_checks", []) if check["result"] == "wrong"]
        if wrong:
            self.add("paths that compute wrongly here, and are closed", True, "; ".join(f"{c['path']}: {c['reason']}" for c in wrong))

    def add(self, question, good, answer):
        self.good = self.good and bool(good)
        self.rows.append([question, answer])

    def add_state(self):
        step = self.trial.steps.get("state")
        if not step:
            return
        state = step.last.get("state_hash")
        answer = f"{state}, as on every device so far" if state == STATE else f"NOT {STATE}"
        if state != STATE:
            answer += f" but {state}" if state else f": {step.ending()}. {step.said}"
        self.add("state after 20 generations of CartPole, population 4,096", state == STATE, answer)

    def add_twin(self):
        step = self.trial.steps.get("state-against-twin")
        if step:
            answer = "the same" if step.good else f"NOT the same, or not finished: {step.ending()}. {step.said}"
            self.add("states of generations beside the exact twin on the host", step.good, answer)

    def add_kernels(self):
        families = families_of(self.trial)
        if not families:
            return
        passed = [name for name, (kernel, step) in families.items() if kernel.get("passed") and step.good]
        late = [name for name, row in families.items() if name not in passed and unfinished(*row)]
        failed = [name for name in families if name not in passed and name not in late]
        answer = f"{len(passed)} of {len(families)} kernel families passed"
        answer += f"; FAILED: {', '.join(failed)}" if failed else ""
        answer += f"; not finished in time: {', '.join(late)}" if late else ""
        differ = sum(kernel.get("twin_mismatches", 0) for kernel, _ in families.values())
        self.add("kernels beside oracle and exact twin", len(passed) == len(families), f"{answer}; {differ} values differ from the twin")


def device_rows(device):
    free = free_bytes(device)
    own = sum(heap["size_bytes"] for heap in device.get("heaps", []) if heap["device_local"])
    checks = [f"{check['path']} {check['result']}" for check in device.get("self_checks", [])]
    shapes = sorted({f"{s['m']}x{s['n']}x{s['k']} {s['a']} to {s['result']}" for s in device.get("cooperative_shapes", [])})
    rows = [
        ["device", f"{device['name']} ({device['kind']}, {device['vendor']} {device['device_id']:#06x})"],
        ["driver", f"{device['driver']}, Vulkan {device['api_version']}"],
        ["memory", f"{own / 2**30:.1f} GiB" + ("" if free is None else f", {free / 2**30:.1f} GiB of it free")],
        ["paths that are open", ", ".join(path["name"] for path in device["paths"] if path["open"])],
        ["paths that are closed", "; ".join(f"{path['name']} needs {path['needs']}" for path in device["paths"] if not path["open"])],
        ["self-checks", ", ".join(checks)],
        ["matrix units", f"{len(shapes)} shapes: {'; '.join(shapes[:6])}" if shapes else "none"],
        ["subgroup", device["limits"]["subgroup_size"]],
        ["loops", f"end after {device['loop_limit']} iterations" if device.get("loop_limit") else "have no limit"],
    ]
    return [row for row in rows if row[1] != ""]


def compared(rows, what, unit, step, rate, peer):
    """Adds a row of a rate beside PyTorch's best; words where the step has none."""
    theirs, name = peer
    if rate is None:
        rows.append([what, step.ending(), "", ""])
    else:
        rows.append([what, f"{number(rate)} {unit}", f"{number(theirs)} ({name})" if theirs else "", number(rate / theirs) if theirs else ""])


def speed_rows(trial):
    steps, rows = trial.steps, []
    state = steps.get("state")
    if state and "evaluations_per_second" in state.last:
        rows.append(["training, population 4,096", f"{number(state.last['evaluations_per_second'] * 1e-6)} million evaluations/s", "", ""])
    for name, step in steps.items():
        if match := re.fullmatch(r"rollout-(exact|fast)-(\d+)", name):
            theirs = [other.last for key, other in steps.items() if key.startswith(f"torch-rollout-{match[2]}-")]
            rates = [(line["evaluations_per_second"] * 1e-6, line["form"]) for line in theirs if "form" in line]
            rate = step.last.get("evaluations_per_second")
            what = f"roll-out, {match[1]}, {int(match[2]):,} members"
            compared(rows, what, "million evaluations/s", step, rate and rate * 1e-6, max(rates, default=(None, "")))
        if match := re.fullmatch(r"product-(f\d+)-(\d+)", name):
            theirs = steps[f"torch-{name}"].last if f"torch-{name}" in steps else {}
            limit = step.last.get("of_limit")
            of_limit = f"GFLOP/s, {number(limit)} of the fp32 limit" if limit and match[1] == "f32" else "GFLOP/s"
            compared(rows, f"product of {match[2]} x {match[2]}, {match[1]}", of_limit, step, step.last.get("gflops"), (theirs.get("gflops"), "matmul"))
    tune = steps.get("tune")
    if tune and tune.last.get("speed_up") is not None:
        rows.append(["`yolk tune`, in the mean", f"{number(tune.last['speed_up'])} times the default", "", ""])
    return rows


def failure_rows(trial):
    bad = {name: step for name, step in trial.steps.items() if not step.good and not re.match(r"devices-\d", name)}
    rows = [[name, step.ending(), step.said] for name, step in bad.items() if step.status is not None]
    for name, (kernel, _) in families_of(trial).items():
        words = [*kernel.get("failures", [])[:2], *filter(None, [kernel.get("error")])]
        if words and not kernel.get("passed"):
            rows.append([f"check-{name}", f"{kernel.get('failure_count', 0)} failures", " ".join(words)[:600]])
    for reason in dict.fromkeys(step.said for step in bad.values() if step.status is None):
        rows.append([", ".join(name for name, step in bad.items() if step.status is None and step.said == reason), "not begun", reason])
    return rows


def machine():
    processor = re.search(r"model name\s*: (.*)", text_of("/proc/cpuinfo"))
    system = re.search(r'PRETTY_NAME="?([^"\n]*)', text_of("/etc/os-release"))
    names = [f"{len(os.sched_getaffinity(0))} cores of {processor[1] if processor else platform.machine()}", system[1] if system else "Linux"]
    return ", ".join([*names, " ".join(platform.libc_ver())])


def page_of(trial, device, version):
    """The page, and whether all is well."""
    verdict = Verdict(trial, device) if device else None
    torch = trial.steps.get("torch")
    found = torch.last if torch else {}
    failures = failure_rows(trial)
    title = device["name"] if device else "a machine without a GPU that can be used"
    text = f"# {version} on {title}\n\n{datetime.date.today()}, {machine()}; {time.monotonic() - trial.begun:.0f} s.\n"
    text += "".join(f"\n- {note}" for note in trial.notes) + ("\n" if trial.notes else "")
    if device:
        text += section("In short", ["", ""], verdict.rows) + section("Device", ["", ""], device_rows(device))
        peer = f"PyTorch {found['torch']} on {found.get('gpu') or 'the CPU'}" if found.get("torch") else "PyTorch: python3 has none"
        text += section("How fast", ["", "Yolk", peer, "times as fast"], speed_rows(trial))
        text += section("What went wrong", ["step", "how it ended", "its last words"], failures)
    text += f"\nAll of it: {pathlib.Path(trial.out)}/results.jsonl, and what each step printed: {trial.out}/logs.\n"
    # A failure of PyTorch's is shown, but says nothing about Yolk on this device.
    return text, bool(verdict and verdict.good and all(row[0].startswith("torch") for row in failures))
