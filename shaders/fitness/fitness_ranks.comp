// SPDX-License-Identifier: Apache-2.0
// fitness, rule CentredRank, small populations: for each member, twice the number of worse members plus the number of
// equal ones (itself included). Minus the population that is twice the rank, centred, ties averaged. One invocation per
// member. Class E. Loop iterations per invocation: population.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#define FITNESS_READS_SCORES
#include "yolk/internal/abi/fitness.h"
#include "fitness_state.glsl"

void main() {
    uint member = linear_invocation();
    if (member >= params.population) return;
    uint own = ordered_key(floatBitsToUint(counted_score(member)));
    uint count = 0u;
    for (uint other = 0u; other < params.population; ++other) {
        uint key = ordered_key(floatBitsToUint(counted_score(other)));
        count += uint(key < own) + uint(key <= own);
    }
    state[kStateArray + member] = count;
}
