// SPDX-License-Identifier: Apache-2.0
// fitness, robust: counts one 8-bit digit of the non-zero pair differences' bits among those that share the digits
// found so far. Items are pairs, strided over the invocations. Class E. Loop iterations per invocation: pairs of it.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#define FITNESS_READS_SCORES
#include "yolk/abi/fitness.h"
#include "fitness_state.glsl"

void main() {
    uint first = linear_invocation();
    if (first >= params.invocation_count) return;
    uint shift = 24u - 8u * params.digit;
    uint prefix = state[kStatePrefix];
    for (uint pair = first; pair < params.population / 2u; pair += params.invocation_count) {
        uint magnitude = floatBitsToUint(pair_difference(pair)) & kExactMagnitudeMask;
        bool shares = params.digit == 0u || (magnitude >> (shift + 8u)) == prefix;
        if (magnitude == 0u || !shares) continue;
        atomicAdd(state[kStateHistogram + 256u * params.digit + ((magnitude >> shift) & 0xFFu)], 1u);
    }
}
