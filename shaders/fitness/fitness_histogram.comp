// SPDX-License-Identifier: Apache-2.0
// fitness, robust: counts one 8-bit digit of the non-zero pair differences' bits among those that share the digits
// found so far. Items are pairs, strided over the invocations. By group (FITNESS_BY_GROUP) a workgroup counts in shared
// memory first. Class E. Loop iterations per invocation: pairs of it; by group 256 / WORKGROUP_SIZE twice as well.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#define FITNESS_READS_SCORES
#include "yolk/internal/abi/fitness.h"
#include "fitness_state.glsl"

#ifdef FITNESS_BY_GROUP
shared uint bins[256];
#define COUNT(value) atomicAdd(bins[value], 1u)
#else
#define COUNT(value) atomicAdd(state[kStateHistogram + 256u * params.digit + (value)], 1u)
#endif

void take_share(uint first) {
    uint shift = 24u - 8u * params.digit;
    uint prefix = state[kStatePrefix];
    for (uint pair = first; pair < params.population / 2u; pair += params.invocation_count) {
        uint magnitude = floatBitsToUint(pair_difference(pair)) & kExactMagnitudeMask;
        bool shares = params.digit == 0u || (magnitude >> (shift + 8u)) == prefix;
        if (magnitude == 0u || !shares) continue;
        COUNT((magnitude >> shift) & 0xFFu);
    }
}

void main() {
#ifdef FITNESS_BY_GROUP
    for (uint bin = gl_LocalInvocationID.x; bin < 256u; bin += WORKGROUP_SIZE) bins[bin] = 0u;
    barrier();
#endif
    uint first = linear_invocation();
    if (first < params.invocation_count) take_share(first);
#ifdef FITNESS_BY_GROUP
    barrier();
    for (uint bin = gl_LocalInvocationID.x; bin < 256u; bin += WORKGROUP_SIZE) {
        if (bins[bin] != 0u) atomicAdd(state[kStateHistogram + 256u * params.digit + bin], bins[bin]);
    }
#endif
}
