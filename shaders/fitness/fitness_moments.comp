// SPDX-License-Identifier: Apache-2.0
// fitness, second step: sums of the quantized scores and of their squares, the largest pair difference, how many pairs
// differ, and (rule GroupZScore) the sum of each group. Items are two members (a pair), strided over the invocations. Class E given
// the scores: integers and maxima, any order gives the same words. An invocation has at most kMaxMembersPerInvocation
// members, so its sum stays below 2^30 and its squares below 2^55; its limbs of 16 bits are added to the state's. Loop
// iterations per invocation: pairs of it.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#define FITNESS_READS_SCORES
#include "yolk/internal/abi/fitness.h"
#include "fitness_state.glsl"
#include "fitness_totals.glsl"
#include "wide_integer.glsl"

void add_to_group(uint member, int count) {
    uint offset = uint(count + (1 << 25));
    uint base = kStateArray + kGroupLimbs * (member / params.group_size);
    atomicAdd(state[base], offset & 0xFFFu);
    atomicAdd(state[base + 1u], (offset >> 12) & 0xFFFu);
    atomicAdd(state[base + 2u], offset >> 24);
}

uvec3 square_of(int count) {
    uint magnitude = uint(abs(count));
    return wide_multiply(uvec3(magnitude, 0u, 0u), magnitude);
}

void take_share(uint first) {
    int sum = 0;
    uvec3 squares = uvec3(0u);
    uint largest = 0u, nonzero = 0u;
    for (uint pair = first; pair < (params.population + 1u) / 2u; pair += params.invocation_count) {
        int plus = quantized(2u * pair);
        bool whole = 2u * pair + 1u < params.population;  // an odd population's last member is alone
        int minus = whole ? quantized(2u * pair + 1u) : 0;
        sum += plus + minus;
        squares = wide_add(squares, wide_add(square_of(plus), square_of(minus)));
        if (ANTITHETIC != 0u) {
            uint magnitude = floatBitsToUint(pair_difference(pair)) & kExactMagnitudeMask;
            largest = max(largest, magnitude);
            if (magnitude != 0u) ++nonzero;
        }
        if (RULE == kRuleGroupZScore) {
            add_to_group(2u * pair, plus);
            if (whole) add_to_group(2u * pair + 1u, minus);
        }
    }
    uint offset_sum = uint(sum) + kSumOffset;
    TOTAL_ADD(kStateSum, offset_sum & 0xFFFFu);
    TOTAL_ADD(kStateSum + 1u, offset_sum >> 16);
    TOTAL_ADD(kStateSquares, squares.x & 0xFFFFu);
    TOTAL_ADD(kStateSquares + 1u, squares.x >> 16);
    TOTAL_ADD(kStateSquares + 2u, squares.y & 0xFFFFu);
    TOTAL_ADD(kStateSquares + 3u, squares.y >> 16);
    if (RULE == kRuleCentredRank) return;  // differences of ranks come later
    TOTAL_MAX(kStateDifference, largest);
    TOTAL_ADD(kStateNonZero, nonzero);
}

void main() {
    TOTALS_BEGIN
    uint first = linear_invocation();
    if (first < params.invocation_count) take_share(first);
    TOTALS_END
}
