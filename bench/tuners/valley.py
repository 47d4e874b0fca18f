# SPDX-License-Identifier: Apache-2.0
"""An elongated valley as a Kernel Tuner cache: steep in workgroup x, flat in y and z. Synthetic, nothing is measured.

log(cost / optimum) = steep/2 (u - a)^2 + flat/2 ((v - b)^2 + (w - c)^2), with u, v, w in [0, 1] across the domains of
x (64 values), y and z (16 each). The minimum is a configuration of the space.
"""

import argparse
import itertools
import math
import sys

import surfaces

DOMAINS = {
    "workgroup_x": list(range(4, 257, 4)),
    "workgroup_y": list(range(1, 17)),
    "workgroup_z": list(range(1, 17)),
}
LOWEST = (37, 5, 10)  # places in the domains


def valley(steep, flat):
    lengths = [len(values) - 1 for values in DOMAINS.values()]
    costs = {}
    for places in itertools.product(*(range(length + 1) for length in lengths)):
        x, y, z = ((place - lowest) / length for place, lowest, length in zip(places, LOWEST, lengths))
        values = tuple(domain[place] for domain, place in zip(DOMAINS.values(), places))
        costs[values] = math.exp(steep / 2 * x * x + flat / 2 * (y * y + z * z))
    return surfaces.Surface("synthetic", f"valley {steep:g}:{flat:g}", DOMAINS, costs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steep", type=float, default=400.0)
    parser.add_argument("--flat", type=float, default=4.0)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    surfaces.write(valley(options.steep, options.flat), options.out)


if __name__ == "__main__":
    sys.exit(main())
