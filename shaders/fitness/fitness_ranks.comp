// SPDX-License-Identifier: Apache-2.0
// fitness, rule CentredRank: for each member, twice the number of worse members plus the number of equal ones (itself
// included) among other_count members from first_other on. Minus the population that is twice the rank, centred, ties
// averaged. One invocation per member; several dispatches where the loop limit asks for them, the first of which
// overwrites. Class E. Loop iterations per invocation: other_count.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#define FITNESS_READS_SCORES
#include "yolk/abi/fitness.h"
#include "fitness_state.glsl"

void main() {
    uint member = linear_invocation();
    if (member >= params.population) return;
    uint own = ordered_key(floatBitsToUint(counted_score(member)));
    uint count = params.first_other == 0u ? 0u : state[kStateArray + member];
    uint end = params.first_other + params.other_count;
    for (uint other = params.first_other; other < end; ++other) {
        uint key = ordered_key(floatBitsToUint(counted_score(other)));
        count += uint(key < own) + uint(key <= own);
    }
    state[kStateArray + member] = count;
}
