#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the topics of a module's tests that take their devices themselves: pools, ranks and whole runs, whose cases are not named
after a device as those of YOLK_FOR_EACH_DEVICE are.

    topics.py FOLDER...      folders of tests; a topic a line

A topic counts where a case of it takes a device, or where something before the cases does, in the file or in a header of the folder: a
fixture, or a function that they call. One whose file starts processes is left out: they would find no driver (drivers.sh).
"""
import glob
import os
import re
import sys

TAKES = re.compile(r"shared_device\(|\bdevices\(\)|Device::create\(")
STARTS = re.compile(r"\bfork\(|posix_spawn|\bexec[lv]p?e?\(|popen\(|(?:EXPECT|ASSERT)_(?:DEATH|EXIT)|std::system\(")


def text_of(path):
    """Without comments, behind the headers of the same folder, where fixtures may be."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"//.*", "", file.read())
    beside = [os.path.join(os.path.dirname(path), name) for name in re.findall(r'#include "(\w+\.hpp)"', text)]
    return "".join(text_of(one) for one in beside if os.path.exists(one)) + text


def topics_of(path):
    text = text_of(path)
    head, *cases = re.split(r"^(?=TEST(?:_F|_P)?\()", text, flags=re.M)
    if STARTS.search(text):
        return set()
    found = set()
    for case in cases:
        kind, topic = re.match(r"TEST(_F|_P)?\((\w+),", case).groups()
        if kind != "_P" and (TAKES.search(case) or TAKES.search(head)):
            found.add(topic)
    return found


def main():
    folders = sys.argv[1:]
    if not folders or not all(map(os.path.isdir, folders)):
        print(f"topics.py: error: '{' '.join(folders)}'; it takes folders of tests", file=sys.stderr)
        return 2
    found = [topics_of(path) for folder in folders for path in glob.glob(os.path.join(folder, "*.cpp"))]
    print("".join(topic + "\n" for topic in sorted(set().union(*found))), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
