// SPDX-License-Identifier: Apache-2.0
// What the kernels of fitness share: the state, scores as they count, exact scaling and quantization. E is the exponent
// of the largest finite magnitude, so scores lie below 2^(E+1). A kernel defines FITNESS_READS_SCORES where it reads
// scores.
#ifndef YOLK_FITNESS_STATE_GLSL
#define YOLK_FITNESS_STATE_GLSL
#include "yolk/exact/exact_math.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecRule) const uint RULE = kRulePairDifference;
layout(constant_id = kSpecRobust) const uint ROBUST = 0;
layout(constant_id = kSpecAntithetic) const uint ANTITHETIC = 1;

layout(set = 0, binding = kBindState, scalar) restrict buffer State { uint state[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };

const uint kNotFinite = 0x7F800000u;      // magnitudes from here on
const uint kLargestFinite = 0x7F7FFFFFu;
const uint kFlushedExponent = 27u;        // biased exponent of 2^-100: the product rule
const uint kBias = 127u;
const uint kSixBits = 0x40C00000u;

uint linear_invocation() {
    return (gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x) * WORKGROUP_SIZE + gl_LocalInvocationID.x;
}

// Unsigned integers in the order of the finite floats; never 0 nor all ones.
uint ordered_key(uint bits) { return (bits & kExactSignMask) != 0u ? ~bits : bits | kExactSignMask; }
uint bits_of_key(uint key) { return (key & kExactSignMask) != 0u ? key & kExactMagnitudeMask : ~key; }

// x * 2^power: zero below 2^-100, the largest finite number where it would overflow. Exact in between.
float scaled(float x, int power) {
    uint bits = floatBitsToUint(x);
    uint magnitude = bits & kExactMagnitudeMask;
    if (magnitude == 0u) return 0.0;
    int exponent = int(magnitude >> 23) + power;
    if (exponent < int(kFlushedExponent)) return 0.0;
    uint moved = exponent > 254 ? kLargestFinite : (magnitude & 0x007FFFFFu) | (uint(exponent) << 23);
    return uintBitsToFloat(moved | (bits & kExactSignMask));
}

float product(float x, float y) {
    precise float xy = x * y;
    return exact_flush(xy);
}

// E plus 127; any number will do where all scores are zero or none is finite.
int biased_exponent() {
    uint magnitude = state[kStateMagnitude];
    return int(magnitude == 0u ? kBias : magnitude >> 23);
}

bool none_finite() { return state[kStateNotFinite] == params.population; }

#ifdef FITNESS_READS_SCORES
layout(set = 0, binding = kBindScores, scalar) readonly restrict buffer Scores { float scores[]; };

// The score as it counts: the worst finite one for a member whose own is not finite, zero where none is.
float counted_score(uint member) {
    float score = scores[member];
    if ((floatBitsToUint(score) & kExactMagnitudeMask) < kNotFinite) return score;
    return none_finite() ? 0.0 : uintBitsToFloat(bits_of_key(~state[kStateWorst]));
}

// f+ - f- in units of 2^E, so that it neither overflows nor becomes denormal.
float pair_difference(uint pair) {
    int power = int(kBias) - biased_exponent();
    precise float difference = scaled(counted_score(2u * pair), power) - scaled(counted_score(2u * pair + 1u), power);
    return exact_flush(difference);
}

// The score in multiples of 2^(E-24), half to even; its magnitude is below 2^25. Exact for scores of at least 2^(E-1),
// so scores that differ at the top never collapse and equal sums mean equal scores.
int quantized(uint member) {
    uint bits = floatBitsToUint(counted_score(member));
    uint magnitude = bits & kExactMagnitudeMask;
    int below = biased_exponent() - int(magnitude >> 23);
    if (magnitude == 0u || below > 25) return 0;
    uint significand = (magnitude & 0x007FFFFFu) | 0x00800000u;
    uint count = significand << 1;
    if (below > 0) {
        uint shift = uint(below - 1);
        count = significand >> shift;
        uint rest = significand - (count << shift);
        uint half_way = shift == 0u ? 1u : 1u << (shift - 1u);  // shift 0 leaves no rest
        if (rest > half_way || (rest == half_way && (count & 1u) != 0u)) ++count;
    }
    return (bits & kExactSignMask) != 0u ? -int(count) : int(count);
}
#endif

#endif
