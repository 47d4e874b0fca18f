#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what the main loop of a compiled pipeline spends beside its multiply-adds.

    count_loop.py FILE|FOLDER...        texts of RADV (ACO, through LLVM's or CLRX' disassembler) or NVK (NAK); in folders
                                        those whose name says "assembly"
    count_loop.py --json FILE...        a line of JSON for each text

An instruction belongs to the innermost loop around it that contains multiply-adds. The main loop is the one to which
most multiply-adds belong. It is counted as written: once, whatever the number of its iterations.

A packed or dual-issued instruction is one instruction and holds two multiply-adds, a 4-element dot product four. So the
share, multiply-adds per instruction, may exceed 100 %. Address arithmetic in integers (v_mad_u32_u24, imad) is no
multiply-add here. Instructions of matrix units hold as many as their shape says, which the text does not show alike for
all: they are counted apart, as a share of the innermost loop that has them, without the blocks in it that end the program.

Kernels of class P have no fused multiply-add, by contract. RDNA and NVK multiply and add in two instructions there; GCN's
v_mac rounds twice, is the same bits, and is one. For these kernels there is a second figure, "exact_loop" of --json: a pair
is a product of f32 that an f32 sum or difference behind it in its block takes, before its register is written again; a sum
takes one product. Pairs count as multiply-adds, also where the main loop is sought, and the share is of the instructions that
multiply and add: (fused ones + two for each pair) / instructions. So both figures are 100 % where a loop does nothing else;
a loop of pairs that dual-issues nothing has half as many multiply-adds for it. The table has this figure where more than half of
a loop's multiply-adds are pairs. Products whose low bits an operand rule flushes
in between (a compare and a select) are no pairs.

Kinds: vector (ALU), scalar (ALU, constant loads, uniform registers), lds (shared memory), memory (all other), control
(branches and barriers), wait (RADV's s_waitcnt, s_delay_alu, s_nop, s_clause; NVK keeps waiting in the instruction).
"""
import argparse
import json
import os
import re
import sys
from dataclasses import dataclass

KINDS = ("vector", "scalar", "memory", "lds", "control", "wait", "matrix")


@dataclass
class Instruction:
    kind: str
    adds: int  # multiply-adds it holds
    target: str = ""  # the block it may jump to
    ends: bool = False  # the program
    steps: tuple = ()  # its halves: ("product", "sum" or "", registers written, registers read)


class NotAssembly(Exception):
    """The text is of no form that is known here."""


# ---- RADV

ACO_ADD = re.compile(r"v_(?:dual_)?(?:fma|fmac|mac|mad|fmaak|fmamk|madak|madmk|fma_mix|mad_mix)(?:lo|hi)?_(?:legacy_)?(?:f32|f16|f64)")
ACO_PACKED = re.compile(r"v_pk_(?:fma|fmac)_f(?:16|32)")
ACO_PRODUCT = re.compile(r"v_(?:dual_|pk_)?mul_(?:legacy_)?f32")
ACO_SUM = re.compile(r"v_(?:dual_|pk_)?(?:add|sub|subrev)_f32")
ACO_WAIT = re.compile(r"s_(?:waitcnt|wait_|delay_alu|nop|clause|set_inst_prefetch|inst_prefetch|sethalt|sleep)")
ACO_CONTROL = re.compile(r"s_(?:c?branch|barrier|endpgm|sendmsg|setpc|swappc|getpc|call)")


def aco_adds(operation):
    if ACO_PACKED.match(operation):
        return 2
    dot = re.match(r"v_dot([248])", operation)
    if dot:
        return int(dot.group(1))
    return 1 if ACO_ADD.match(operation) else 0


def aco_kind(operation):
    if re.match(r"v_(?:wmma|swmmac|mfma)", operation):
        return "matrix"
    for kind, pattern in (("wait", ACO_WAIT), ("control", ACO_CONTROL)):
        if pattern.match(operation):
            return kind
    return {"v_": "vector", "s_": "scalar", "ds": "lds"}.get(operation[:2], "memory")


def aco_step(half):
    """half: "v_pk_mul_f32 v[12:13], v[0:1], v[2:3]"; a store writes its address here, which no product is in."""
    operation, _, operands = half.strip().partition(" ")
    written, *read = [
        tuple(range(int(first or single), int(last or single) + 1)) for single, first, last in re.findall(r"\bv(?:(\d+)|\[(\d+):(\d+)\])", operands)
    ] or [()]
    name = "product" if ACO_PRODUCT.match(operation) else "sum" if ACO_SUM.match(operation) else ""
    return name, written, tuple(one for registers in read for one in registers)


def aco_instruction(text):
    """text: "v_dual_fmac_f32 v1, v2, v3 :: v_dual_fmac_f32 v4, v5, v6"."""
    halves = [half.split()[0] for half in text.split("::")]
    jump = re.search(r"\b(BB\d+)\b", text) if ACO_CONTROL.match(halves[0]) else None
    steps = tuple(map(aco_step, text.split("::")))
    return Instruction(aco_kind(halves[0]), sum(map(aco_adds, halves)), jump.group(1) if jump else "", halves[0] == "s_endpgm", steps)


def aco_blocks(lines):
    blocks = []
    for line in lines:
        text = line.split(";")[0].strip()
        label = re.match(r"(BB\d+):", text)
        repeated = re.match(r"\(then repeated (\d+) times\)", text)
        if label:
            blocks.append((label.group(1), []))
        elif repeated and blocks and blocks[-1][1]:
            blocks[-1][1].extend([blocks[-1][1][-1]] * int(repeated.group(1)))
        elif blocks and re.match(r"[a-z][a-z0-9]*_\w", text):
            blocks[-1][1].append(aco_instruction(text))
    return blocks


# ---- NVK

NAK_CONTROL = ("bra", "bssy", "bsync", "bclear", "break", "brk", "exit", "bar", "membar", "warpsync", "nop", "cal", "ret", "kill")
NAK_MEMORY = ("ld", "st", "atom", "red", "suld", "sust", "suatom", "tex", "tld", "tmml", "txd", "txq", "cctl", "al2p", "ald", "ast")
NAK_UNIFORM = ("ldc", "s2ur", "cs2ur", "r2ur")


def nak_adds(name):
    return {"ffma": 1, "dfma": 1, "hfma2": 2, "idp4": 4, "dp4a": 4, "idp2": 2}.get(name, 0)


def nak_kind(name, parts, destination):
    if name in ("hmma", "imma"):
        return "matrix"
    if name in NAK_CONTROL:
        return "control"
    if name in NAK_UNIFORM or re.match(r"u[rp]\d", destination):
        return "scalar"
    if name == "ldsm" or "shared" in parts:
        return "lds"
    return "memory" if name in NAK_MEMORY else "vector"


def nak_instruction(text):
    """text: "@!p0 r24..28 = ld.shared.b128 [r20], pT", the destination and the predicate may be missing."""
    text = re.sub(r"^@!?u?p\w+\s+", "", text)
    destination, equals, rest = text.partition(" = ")
    parts = (rest if equals else text).split()
    if not parts:
        return None
    name, *modifiers = parts[0].split(".")
    jump = re.search(r"\b(L\d+)\b", text) if name == "bra" else None
    written = nak_registers(destination) if equals else ()
    step = ({"fmul": "product", "fadd": "sum"}.get(name, ""), written, nak_registers(" ".join(parts[1:])))
    return Instruction(nak_kind(name, modifiers, destination if equals else ""), nak_adds(name), jump.group(1) if jump else "", name == "exit", (step,))


def nak_registers(text):
    """Of "r24..28 -r3": 24 to 27, and 3."""
    return tuple(one for first, last in re.findall(r"\br(\d+)(?:\.\.(\d+))?", text) for one in range(int(first), int(last or int(first) + 1)))


def nak_blocks(lines):
    blocks = []
    for line in lines:
        text = line.split("//")[0].strip()
        label = re.match(r"block(?:\.u)? \d+ (L\d+) ", text)
        if label:
            blocks.append((label.group(1), []))
        elif blocks and text and not text.startswith("}"):
            instruction = nak_instruction(text)
            if instruction:
                blocks[-1][1].append(instruction)
    return blocks


# ---- Loops

def blocks_of(text):
    lines = text.splitlines()
    if re.search(r"^block(?:\.u)? \d+ L\d+ ", text, re.M):
        return nak_blocks(lines)
    if re.search(r"^\s*BB\d+:", text, re.M):
        return aco_blocks(lines)
    raise NotAssembly("neither RADV's assembly (blocks BB0:) nor NVK's (block 0 L1)")


def loops_of(blocks):
    """Ranges (first, last) of blocks as they lie in the text: a jump backwards closes a loop. Several to one head are one loop."""
    place = {label: i for i, (label, _) in enumerate(blocks)}
    last = {}
    for i, (_, instructions) in enumerate(blocks):
        for instruction in instructions:
            head = place.get(instruction.target)
            if head is not None and head <= i:
                last[head] = max(i, last.get(head, i))
    return sorted(last.items())


def main_loop(blocks, weigh):
    """The blocks that belong to the main loop, by what weigh says of a block's instructions. Empty: no loop has a multiply-add."""
    weight = [weigh(instructions) for _, instructions in blocks]
    loops = [loop for loop in loops_of(blocks) if sum(weight[loop[0] : loop[1] + 1])]
    owned = {loop: [] for loop in loops}
    for i in range(len(blocks)):
        around = [loop for loop in loops if loop[0] <= i <= loop[1]]
        if around:
            owned[min(around, key=lambda loop: loop[1] - loop[0])].append(i)
    main = max(owned.values(), key=lambda found: sum(weight[i] for i in found), default=[])
    return [blocks[i][1] for i in main]


def fused_in(instructions):
    return sum(one.adds for one in instructions)


def pairs_in(instructions):
    """Products of a block that a sum behind them takes. Both halves of an instruction read before one writes."""
    pairs, products = 0, set()
    for instruction in instructions:
        for name, written, read in instruction.steps:
            if name == "sum":
                # As many as it writes: a packed one takes two.
                taken = [one for one in dict.fromkeys(read) if one in products][: len(written)]
                pairs += len(taken)
                products.difference_update(taken)
        for _, written, _ in instruction.steps:
            products.difference_update(written)
        for name, written, _ in instruction.steps:
            if name == "product":
                products.update(written)
    return pairs


def matrix_loop(text):
    """Matrix instructions of the innermost loop that has some, and all of it; None where no loop has any."""
    blocks = blocks_of(text)
    counted = []
    for first, last in loops_of(blocks):
        inside = [found for _, found in blocks[first : last + 1] if not any(one.ends for one in found)]
        loop = [one for found in inside for one in found]
        matrix = sum(1 for one in loop if one.kind == "matrix")
        if matrix:
            counted.append({"instructions": len(loop), "matrix_instructions": matrix, "share": matrix / len(loop)})
    return min(counted, key=lambda one: one["instructions"], default=None)


def count(text):
    """Figures of a text's main loop, None where no loop has a multiply-add."""
    loop = [one for found in main_loop(blocks_of(text), fused_in) for one in found]
    adds = fused_in(loop)
    if not adds:
        return None
    others = {kind: sum(1 for one in loop if one.kind == kind and not one.adds) for kind in KINDS}
    return {
        "instructions": len(loop),
        "multiply_adds": adds,
        "multiply_add_instructions": sum(1 for one in loop if one.adds),
        "share": adds / len(loop),
        "others": others,
        "per_multiply_add": {kind: number / adds for kind, number in others.items()},
    }


def count_exact(text):
    """Figures of the main loop with its pairs; None where it has none."""
    blocks = main_loop(blocks_of(text), lambda found: fused_in(found) + pairs_in(found))
    pairs, adds, instructions = sum(map(pairs_in, blocks)), sum(map(fused_in, blocks)), sum(map(len, blocks))
    if not pairs:
        return None
    return {"instructions": instructions, "multiply_adds": adds + pairs, "pairs": pairs, "share": (adds + 2 * pairs) / instructions}


# ---- The command

def files_of(names):
    for name in names:
        if not os.path.isdir(name):
            yield name
            continue
        found = sorted(os.path.join(folder, file) for folder, _, files in os.walk(name) for file in files if "assembly" in file.lower())
        if not found:
            raise NotAssembly(f"{name}: no file whose name says assembly")
        yield from found


HEADER = "multiply-adds  instructions   share  " + "  ".join(f"{kind:>7}" for kind in KINDS) + "   (others per multiply-add)"


def is_exact(exact):
    return exact is not None and 2 * exact["pairs"] > exact["multiply_adds"]


def row(figures, matrix, exact):
    if matrix is not None:
        return f"{matrix['matrix_instructions']} of {matrix['instructions']} instructions multiply matrices, {100 * matrix['share']:.1f}%"
    if is_exact(exact):
        return f"{exact['multiply_adds']:13d}  {exact['instructions']:12d}  {100 * exact['share']:5.1f}%  {exact['pairs']} of them pairs"
    if figures is None:
        return "no loop with multiply-adds"
    rates = "  ".join(f"{figures['per_multiply_add'][kind]:7.3f}" for kind in KINDS)
    return f"{figures['multiply_adds']:13d}  {figures['instructions']:12d}  {100 * figures['share']:5.1f}%  {rates}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="a line of JSON for each text")
    parser.add_argument("names", nargs="+", metavar="FILE|FOLDER")
    arguments = parser.parse_args()
    if not arguments.json:
        print(HEADER)
    try:
        for name in files_of(arguments.names):
            with open(name, encoding="utf-8", errors="replace") as file:
                text = file.read()
            try:
                found = {"loop": count(text), "matrix_loop": matrix_loop(text), "exact_loop": count_exact(text)}
            except NotAssembly as error:
                raise NotAssembly(f"{name}: {error}") from None
            print(json.dumps({"file": name} | found) if arguments.json else f"{row(*found.values())}  {name}")
    except (NotAssembly, OSError) as error:
        print(f"count_loop.py: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
