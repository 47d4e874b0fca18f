// SPDX-License-Identifier: Apache-2.0
// fitness, robust: one invocation finds the next digit of the lower median of the non-zero pair differences from its
// histogram, which by group (FITNESS_BY_GROUP) its workgroup has brought to shared memory; after the last digit it sets
// the scale to the smaller of the largest difference and six medians. Class E and, for the product with six, P. Loop
// iterations: 256; by group 256 / WORKGROUP_SIZE as well.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/fitness.h"
#include "fitness_state.glsl"

#ifdef FITNESS_BY_GROUP
shared uint bins[256];
#define COUNT_OF(value) bins[value]
#else
#define COUNT_OF(value) state[kStateHistogram + 256u * params.digit + (value)]
#endif

void main() {
#ifdef FITNESS_BY_GROUP
    for (uint bin = gl_LocalInvocationID.x; bin < 256u; bin += WORKGROUP_SIZE)
        bins[bin] = state[kStateHistogram + 256u * params.digit + bin];
    barrier();
#endif
    if (linear_invocation() != 0u || state[kStateNonZero] == 0u) return;
    uint remaining = params.digit == 0u ? (state[kStateNonZero] - 1u) / 2u : state[kStateRemaining];
    uint bin = 0u;
    for (; bin < 255u; ++bin) {
        uint count = COUNT_OF(bin);
        if (remaining < count) break;
        remaining -= count;
    }
    uint prefix = (params.digit == 0u ? 0u : state[kStatePrefix] << 8) | bin;
    state[kStateRemaining] = remaining;
    state[kStatePrefix] = prefix;
    if (params.digit < 3u) return;
    float six_medians = product(uintBitsToFloat(kSixBits), uintBitsToFloat(prefix));
    state[kStateScale] = min(state[kStateDifference], floatBitsToUint(six_medians));
}
