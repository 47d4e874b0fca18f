#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a hash of the kernels that a yolk contains: the same kernels have the same hash in every build and checkout.

    kernels_hash.py YOLK

The kernels are SPIR-V modules in the program's constants. A module begins with its magic number and ends behind its last function;
the hash is of all of them, whatever their order. Exit code 2: there is no kernel in the file.
"""
import hashlib
import struct
import sys

MAGIC = struct.pack("<I", 0x07230203)
HEADER_WORDS = 5
FUNCTION, FUNCTION_END, LINE, NO_LINE = 54, 56, 8, 317


class BadInput(Exception):
    """What was given, and what is needed."""


def module_at(data, begin):
    """The bytes of the module there; None where the magic number stands for something else."""
    if begin + 4 * HEADER_WORDS > len(data):
        return None
    _, version, _, bound, schema = struct.unpack_from("<5I", data, begin)
    if not (0x10000 <= version <= 0x1FF00 and version & 0xFF == 0 and bound and schema == 0):
        return None
    at, end = begin + 4 * HEADER_WORDS, None
    while at + 4 <= len(data):
        word = struct.unpack_from("<I", data, at)[0]
        words, operation = word >> 16, word & 0xFFFF
        if words == 0 or at + 4 * words > len(data):
            break
        if end is not None and operation not in (FUNCTION, LINE, NO_LINE):
            break
        at += 4 * words
        end = at if operation == FUNCTION_END else None if operation == FUNCTION else end
    return data[begin:end] if end is not None else None


def modules_of(data):
    found, at = set(), data.find(MAGIC)
    while at >= 0:
        module = module_at(data, at)
        if module is not None:
            found.add(module)
        at = data.find(MAGIC, at + (len(module) if module else 4))
    return found


def hash_of(data):
    modules = modules_of(data)
    if not modules:
        raise BadInput("it contains no kernel; a yolk that is built is needed")
    whole = hashlib.sha256()
    for one in sorted(hashlib.sha256(module).digest() for module in modules):
        whole.update(one)
    return whole.hexdigest()[:16]


def main():
    try:
        if len(sys.argv) != 2:
            raise BadInput("it takes one file")
        with open(sys.argv[1], "rb") as file:
            print(hash_of(file.read()))
    except (BadInput, OSError) as error:
        print(f"kernels_hash.py: error: {' '.join(sys.argv[1:])}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
