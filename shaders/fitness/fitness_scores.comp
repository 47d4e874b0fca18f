// SPDX-License-Identifier: Apache-2.0
// fitness, first step: scores[m] = (sum over episodes of returns[e, m]) / episodes, and what must be known of all
// scores before anything else: the largest magnitude, best, worst, and the members whose score is not finite. Items are
// members, strided over the invocations. Class P by the product rule (yolk/exact/exact_math.h); the statistics are
// maxima and counts of integers (fitness_totals.glsl), so their order does not matter. A score is not finite where its
// sum or any of its returns is not; NaNs are written as 0x7FC00000. Loop iterations per invocation: members of it *
// (1 + episodes).
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/fitness.h"
#include "fitness_state.glsl"
#include "fitness_totals.glsl"

layout(set = 0, binding = kBindReturns, scalar) readonly restrict buffer Returns { float returns[]; };
layout(set = 0, binding = kBindScores, scalar) writeonly restrict buffer Scores { float scores[]; };

uint score_bits(uint member) {
    precise float sum = 0.0;
    bool finite = true;
    for (uint episode = 0u; episode < params.episodes; ++episode) {
        uint bits = floatBitsToUint(returns[episode * params.population + member]);
        finite = finite && (bits & kExactMagnitudeMask) < kNotFinite;
        sum = sum + exact_flush(uintBitsToFloat(bits));
    }
    uint bits = floatBitsToUint(product(sum, params.reciprocal_episodes));
    uint magnitude = bits & kExactMagnitudeMask;
    bool is_nan = magnitude > kNotFinite || (!finite && magnitude < kNotFinite);
    return is_nan ? 0x7FC00000u : bits;
}

void take_share(uint first) {
    uint largest = 0u, best = 0u, worst = 0u, first_not_finite = 0u, not_finite = 0u;
    for (uint member = first; member < params.population; member += params.invocation_count) {
        uint bits = score_bits(member);
        scores[member] = uintBitsToFloat(bits);
        uint magnitude = bits & kExactMagnitudeMask;
        if (magnitude >= kNotFinite) {
            ++not_finite;
            first_not_finite = max(first_not_finite, ~member);
        } else {
            largest = max(largest, magnitude);
            best = max(best, ordered_key(bits));
            worst = max(worst, ~ordered_key(bits));
        }
    }
    TOTAL_MAX(kStateMagnitude, largest);
    TOTAL_MAX(kStateBest, best);
    TOTAL_MAX(kStateWorst, worst);
    if (not_finite == 0u) return;
    TOTAL_ADD(kStateNotFinite, not_finite);
    TOTAL_MAX(kStateFirstNotFinite, first_not_finite);
}

void main() {
    TOTALS_BEGIN
    uint first = linear_invocation();
    if (first < params.invocation_count) take_share(first);
    TOTALS_END
}
