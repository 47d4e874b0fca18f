// SPDX-License-Identifier: Apache-2.0
// fitness, rule CentredRank, large populations: what fitness_ranks counts, found in the sorted keys by bisection: the
// number of worse members plus that of worse or equal ones. One invocation per member; the ranks take the place of the
// keys of the last pass but one. Class E. Loop iterations per invocation: at most 21 + 21.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#define FITNESS_READS_SCORES
#include "yolk/internal/abi/fitness.h"
#include "fitness_state.glsl"
#include "fitness_sort.glsl"

// How many keys are below `bound`.
uint count_below(uint bound) {
    uint low = 0u;
    uint high = params.population;
    while (low < high) {
        uint middle = (low + high) / 2u;
        if (state[keys_after(3u) + middle] < bound)
            low = middle + 1u;
        else
            high = middle;
    }
    return low;
}

void main() {
    uint member = linear_invocation();
    if (member >= params.population) return;
    uint own = own_key(member);
    state[kStateArray + member] = count_below(own) + count_below(own + 1u);  // a key is never all ones
}
