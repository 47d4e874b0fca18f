# SPDX-License-Identifier: Apache-2.0
"""What the programs print, as rows: a peer, our figure and its, each as (median, lowest, highest), and the ratio.

A reader takes a program's JSON objects and gives rows. A ratio above 1 means that Yolk is better, also where less is
better (seconds, calls). Its spread is that of the worst and the best pairs of turns.
"""

import statistics


def spread(values):
    values = sorted(values)
    return [statistics.median(values), values[0], values[-1]]


def single(value):
    return [value, value, value]


def failed(name, peer, what, why):
    return {"name": name, "peer": peer, "what": what, "failed": why}


def row(name, peer, what, unit, ours, theirs, less_is_better=False, note=""):
    better, other = (theirs, ours) if less_is_better else (ours, theirs)
    ratio = [better[0] / other[0], better[1] / other[2], better[2] / other[1]]
    made = {"name": name, "peer": peer, "what": what, "unit": unit, "ours": ours, "theirs": theirs, "ratio": ratio}
    return made | ({"note": note} if note else {})


def beside(name, what, unit, ours, others, less_is_better=False):
    """A row per peer. `ours` and each of `others` is the figure, or the reason why it is missing."""
    for peer, theirs in others.items():
        of = f"{name}/{peer}"
        if isinstance(theirs, str):
            yield failed(of, peer, what, theirs)
        elif ours is None or isinstance(ours, str):
            yield failed(of, peer, what, f"yolk: {ours or 'no row'}")
        else:
            yield row(of, peer, what, unit, ours["figure"], theirs["figure"], less_is_better, memory(ours, theirs))


def memory(ours, theirs):
    notes = []
    if ours.get("bytes") and theirs.get("bytes"):
        notes.append(f"{ours['bytes'] >> 20:,} MiB of memory against {theirs['bytes'] >> 20:,}")
    if theirs.get("how"):
        notes.append(theirs["how"])
    return "; ".join(notes)


def side_of(found):
    """A side's line of turns.show_sides."""
    if "failed" in found:
        return found["failed"]
    rate = next(found[key] for key in found if key.endswith("_per_second"))
    figure = {"figure": [rate, found["lowest"], found["highest"]], "bytes": found.get("peak_memory_bytes")}
    return figure | {"how": found.get("how", "")}


def read_sides(lines, name, what, unit):
    sides = {found["side"]: side_of(found) for found in lines}
    ours = sides.pop("yolk", None)
    return list(beside(name, what, unit, ours, sides))


def read_vmap(lines, name, what, unit):
    """The better of the two forms of vmap."""
    ours = next((side_of(found) for found in lines if found["side"] == "yolk"), None)
    forms = [side_of(found) for found in lines if found["side"] != "yolk"]
    ran = [form for form in forms if isinstance(form, dict)]
    best = max(ran, key=lambda form: form["figure"][0]) if ran else next(iter(forms), "no row")
    return list(beside(name, what, unit, ours, {"vmap": best}))


def read_matmul(lines, name, what, unit):
    rows = []
    for size in dict.fromkeys(found["size"] for found in lines):
        sides = {}
        for found in (found for found in lines if found["size"] == size):
            figure = found.get("failed") or {"figure": [found[key] for key in ("median", "lowest", "highest")],
                                             "how": found["kernel"]}  # fmt: skip
            kept = sides.get(found["peer"])
            better = kept is None or isinstance(kept, str)
            if better or (not isinstance(figure, str) and figure["figure"][0] > kept["figure"][0]):
                sides[found["peer"]] = figure
        ours = sides.pop("yolk", None)
        if isinstance(ours, dict):
            ours = ours | {"how": ""}
        rows += beside(f"{name}/{size}", f"{what} {size}", unit, ours, sides)
    return rows


def read_population(lines, name, what, unit):
    rows = []
    for found in lines:
        why = found["failed"]
        rates = found.get("yolk_candidates_per_second", {})
        default = next((rate for key, rate in rates.items() if "population/chunk:default" in key), None)
        ours = {"figure": default, "bytes": found.get("yolk_peak_memory_bytes")} if default else why.get("yolk")
        theirs = why.get(found["peer"]) or {"figure": found["peer_candidates_per_second"],
                                            "bytes": found["peer_peak_memory_bytes"]}  # fmt: skip
        rows += beside(name, f"{what} {found['network']}", unit, ours, {found["peer"]: theirs})
    return rows


def read_programs(lines, name, what, unit):
    rows = []
    for program in dict.fromkeys(found["program"] for found in lines):
        sides = {found["side"]: found for found in lines if found["program"] == program}
        figures = {side: found.get("failed") or {"figure": found["evaluations_per_second"]} for side, found in sides.items()}
        ours = figures.pop("yolk", None)
        rows += beside(f"{name}/{program}", f"{what} {program}", unit, ours, figures)
    return rows


def read_cartpole(lines, name, what, unit):
    def reached(found):
        times = [run["to_475"] for run in found["runs"] if run["to_475"] is not None]
        return {"figure": spread(times)} if len(times) == len(found["runs"]) else "a seed did not reach 475"

    def rate(found):
        figure = [found[key] for key in ("evaluations_per_second", "lowest", "highest")]
        return {"figure": figure, "bytes": int(statistics.median(run["peak_bytes"] for run in found["runs"]))}

    rows = []
    for part, read, words, of, less in (("rate", rate, "", unit, False), ("to_475", reached, " until a mean return of 475", "s", True)):
        sides = {found["peer"]: found.get("failed") or read(found) for found in lines}
        ours = sides.pop("yolk", None)
        rows += beside(f"{name}/{part}", f"{what}{words}", of, ours, sides, less)
    return rows


def read_gymnasium(lines, name, what, unit):
    def side(key, side):
        found = [line for line in lines if line["side"] == side]
        values = [line[key] for line in found if line.get(key) is not None]
        if values and len(values) == len(found):
            return {"figure": spread(values)}
        return next((line["failed"] for line in found if "failed" in line), "a seed did not reach the mark" if found else "no row")

    rows = list(beside(f"{name}/rate", what, unit, side("steps_per_second", "yolk"), {"evosax": side("steps_per_second", "evosax")}))
    mark = (side("steps_to_mark", "yolk"), {"evosax": side("steps_to_mark", "evosax")})
    return rows + list(beside(f"{name}/to_mark", f"{what} until the mark", "steps", *mark, less_is_better=True))


def read_rollout(lines, name, what, unit):
    rows = []
    for found in lines:
        figures = {side: {"figure": [found[side][key] for key in ("median", "lowest", "highest")],
                          "bytes": found[side]["peak_memory_bytes"], "how": found[side].get("form", "")}
                   for side in ("yolk", "torch")}  # fmt: skip
        rows += beside(f"{name}/{found['population']}", f"{what} {found['population']:,} members", unit, figures["yolk"],
                       {"torch": figures["torch"]})  # fmt: skip
    return rows


def read_gepa(lines, name, what, unit):
    rows = []
    for budget in dict.fromkeys(found["budget"] for found in lines):
        sides = {found["side"]: {"figure": spread(found["calls"]), "how": f"{found['perfect']} of {found['searches']} perfect"}
                 if found["calls"] else "no search became perfect" for found in lines if found["budget"] == budget}  # fmt: skip
        ours = sides.pop("yolk", None)
        rows += beside(f"{name}/{budget}", f"{what}, {budget} allowed", unit, ours, sides, less_is_better=True)
    return rows


def read_encoder(lines, name, what, unit):
    found = lines[-1]
    ours = {"figure": single(found["fast"]["texts_per_second"])}
    return list(beside(name, what, unit, ours, {"sentence-transformers": {"figure": single(found["peer_texts_per_second"])}}))


def read_decoder(lines, name, what, unit):
    rows, found = [], lines[-1]
    for key in (key for key in found if key.startswith("yolk_")):
        count = key.removeprefix("yolk_")
        sides = [{"figure": single(found[f"{side}_{count}"]["per_second"])} for side in ("yolk", "torch")]
        rows += beside(f"{name}/{count}", f"{what}, {count} at once", unit, sides[0], {"transformers": sides[1]})
    return rows


def read_encoder_population(lines, name, what, unit):
    """Lines of the two programs in turn; PyTorch's have its version."""
    sides = [[found for found in lines if ("torch" in found) == theirs] for theirs in (False, True)]
    ours, theirs = ({"figure": spread([found["per_second"] for found in side]),
                     "bytes": max(found["peak_mib"] for found in side) << 20} if side else "no row" for side in sides)  # fmt: skip
    return list(beside(name, what, unit, ours, {"torch": theirs}))


def read_tuners(lines, name, what, unit):
    """The house strategy beside Kernel Tuner's best at each budget; the spread is two standard errors."""
    rows = []
    ours = next((found for found in lines if found["strategy"] == "yolk natural"), None)
    others = [found for found in lines if found["strategy"].startswith("KT ")]
    if ours is None or not others:
        return [failed(f"{name}/kernel-tuner", "kernel-tuner", what, "not all six recordings were searched")]
    for at, budget in enumerate(ours["budgets"]):
        best = max(others, key=lambda found: found["means"][at])
        figures = [{"figure": [found["means"][at], found["means"][at] - 2 * found["errors"][at],
                               found["means"][at] + 2 * found["errors"][at]]} for found in (ours, best)]  # fmt: skip
        figures[1]["how"] = best["strategy"].removeprefix("KT ")
        rows += beside(f"{name}/{budget}", f"{what}, {budget} measurements", unit, figures[0], {"kernel-tuner": figures[1]})
    return rows


def read_kernel_rates(lines, name, what, unit):
    rows = []
    for found in lines[-1]["benchmarks"] if lines else ():
        kernel = "/".join(found["name"].split("/")[2:4])
        if found.get("error_occurred"):
            rows.append(failed(f"{name}/{kernel}", "host loop", f"{what}: {kernel}", found["error_message"]))
            continue
        rows.append(row(f"{name}/{kernel}", "host loop", f"{what}: {kernel}", unit, single(found["items_per_second"]),
                        single(found["host_items_per_second"])))  # fmt: skip
    return rows
