# SPDX-License-Identifier: Apache-2.0
"""Times fp32 matrix products of four Vulkan peers and, if asked, of yolk, in turn on one driver."""

import argparse
import json
import pathlib
import statistics
import sys

import turns
from turns import Failed, objects_of

FOLDER = pathlib.Path(__file__).resolve().parent
PEERS = ("kompute", "taichi", "wgpu", "numba-vulkan")
TEXTBOOK = "textbook 16x16"
FINALISTS = 3  # kernels of a peer that run in every round


def yolk_gflops(command, size):
    """One product of yolk's, in GFLOP/s."""
    shape = f"matmul m={size} n={size} k={size}"
    rows = objects_of([*command.split(), "bench", "kernel", "--shape", shape, "--json"], 600)
    if not rows or "gflops" not in rows[-1]:
        raise Failed('the last line has no "gflops"')
    return rows[-1]["gflops"]


def peer_rows(options, peer, size, kernels=()):
    """One process of a peer: its device, and a row per kernel (all of them where `kernels` names none)."""
    script = FOLDER / f"peer_{peer.replace('-', '_')}.py"
    command = [options.python.get(peer, sys.executable), str(script), "--size", str(size), "--seconds"]
    command += [str(options.seconds), *(word for kernel in kernels for word in ("--kernel", kernel))]
    head, *rows = objects_of(command, options.limit)
    return head["device"], rows


def choose(options, peer, size):
    """Runs every kernel of a peer once: the entries to measure are the textbook one and the FINALISTS of the others."""
    device, rows = peer_rows(options, peer, size)
    candidates = {row["kernel"]: row.get("gflops", row.get("failed")) for row in rows}
    others = [row for row in rows if row["kernel"] != TEXTBOOK and "gflops" in row]
    chosen = [row for row in rows if row["kernel"] == TEXTBOOK]
    chosen += sorted(others, key=lambda row: row["gflops"])[-FINALISTS:]
    entries = []
    for row in chosen:
        kind = "textbook" if row["kernel"] == TEXTBOOK else "best"
        entry = {"peer": peer, "size": size, "kind": kind, "kernel": row["kernel"], "device": device, "rates": []}
        entry |= {"cores": [], "candidates": candidates if kind == "best" else {}}
        if "failed" in row:
            entry["failed"] = row["failed"]
        entries.append(entry)
    if not others:
        none = {"peer": peer, "size": size, "kind": "best", "kernel": "none", "failed": "no kernel ran"}
        entries.append({**none, "candidates": candidates})
    return entries


def one_round(options, size, entries):
    """Every side once, so that what the machine does meanwhile falls on all of them."""
    for peer in dict.fromkeys(entry["peer"] for entry in entries):
        own = {entry["kernel"]: entry for entry in entries if entry["peer"] == peer and "failed" not in entry}
        try:
            if peer == "yolk":
                own["matmul"]["rates"].append(yolk_gflops(options.yolk, size))
                continue
            for row in peer_rows(options, peer, size, own)[1] if own else ():
                if "failed" in row:
                    own[row["kernel"]]["failed"] = row["failed"]
                else:
                    own[row["kernel"]]["rates"].append(row["gflops"])
                    own[row["kernel"]]["cores"].append(row["cores"])
        except Failed as failure:
            for entry in own.values():
                entry["failed"] = str(failure)


def compare(options, size):
    entries = []
    if options.yolk:
        entries.append({"peer": "yolk", "size": size, "kind": "own", "kernel": "matmul", "rates": [], "cores": []})
    for peer in options.peers:
        try:
            entries += choose(options, peer, size)
        except Failed as failure:
            entries.append({"peer": peer, "size": size, "kind": "all", "kernel": "all", "failed": str(failure)})
    for _ in range(options.rounds):
        one_round(options, size, entries)
    for entry in entries:
        rates = entry.get("rates")
        if rates and "failed" not in entry:
            entry |= {"median": statistics.median(rates), "lowest": min(rates), "highest": max(rates)}
        if entry.get("cores"):
            entry["cores"] = statistics.median(entry["cores"])
        else:
            entry.pop("cores", None)
    return [entry for entry in entries if not beaten(entry, entries)]


def beaten(entry, entries):
    """Whether another finalist of the same peer is the better one: only the best is reported."""

    def rank(each):
        return each.get("median", 0.0), each["kernel"]

    rivals = [each for each in entries if (each["peer"], each["kind"]) == (entry["peer"], entry["kind"])]
    return any(rank(each) > rank(entry) for each in rivals)


def row_text(entry):
    named = f"{entry['size']:>5}  {entry['peer']:<13} {entry['kind']:<9} {entry.get('kernel', ''):<24}"
    if "failed" in entry:
        return f"{named}  {entry['failed']}"
    cores = f"{entry['cores']:5.2f}" if "cores" in entry else "    -"
    return f"{named} {entry['median']:8.2f}  ({entry['lowest']:.2f} to {entry['highest']:.2f})  {cores}"


def python_of(text):
    peer, _, path = text.partition("=")
    if peer not in PEERS or not path:
        raise argparse.ArgumentTypeError(f"{text} is not PEER=PATH with one of {', '.join(PEERS)}")
    return peer, path


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="512,1024", help="edges of the square matrices: of 128, 256, 512 and 1024")
    parser.add_argument("--rounds", type=int, default=5, help="times that each side runs, its best kernel chosen")
    parser.add_argument("--seconds", type=float, default=0.5, help="that one sample takes about; a run takes three")
    parser.add_argument("--limit", type=float, default=600, help="seconds after which a peer's process is given up")
    parser.add_argument("--peers", default=",".join(PEERS), help=f"of {', '.join(PEERS)}")
    parser.add_argument(
        "--python", type=python_of, action="append", default=[], help="PEER=PATH: the Python that has that peer"
    )
    parser.add_argument("--yolk", help="the yolk command, to measure it in the same rounds")
    parser.add_argument("--busy", action="store_true", help="only warn on a busy machine")
    parser.add_argument("--json", action="store_true", help="one object per row instead of the table")
    options = parser.parse_args()
    options.peers = options.peers.split(",")
    options.python = dict(options.python)
    sizes = [int(size) for size in options.sizes.split(",")]
    if set(sizes) - {128, 256, 512, 1024}:
        parser.error("--sizes are of 128, 256, 512 and 1024: the kernels have no edges, panels 16 rows or more.")
    if options.rounds < 1 or set(options.peers) - set(PEERS):
        parser.error(f"--rounds is 1 or more, --peers of {', '.join(PEERS)}.")
    turns.prepare(options)
    if not options.json:
        print(f"{'size':>5}  {'peer':<13} {'kind':<9} {'kernel':<24} {'GFLOP/s':>8}  (lowest to highest)  cores busy")
    for size in sizes:
        for entry in compare(options, size):
            print(json.dumps(entry) if options.json else row_text(entry), flush=True)


if __name__ == "__main__":
    main()
