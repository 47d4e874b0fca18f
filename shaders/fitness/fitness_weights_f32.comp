// SPDX-License-Identifier: Apache-2.0
// fitness, float rules: one fp32 weight per pair, the difference of the members' z-scores. Items are pairs, one per
// invocation.
//   ZScore        w = (f+ - f-) / sqrt(var + 1e-5); the mean cancels
//   GroupZScore   w = ((f+ - mean of its group) - (f- - mean of its group)) / sqrt(var + 1e-5); the means cancel
//                 unless the pair straddles two groups, which happens where the group size is odd
// Without antithetic sampling one per member, w = (f - mean) / sqrt(var + 1e-5), or its group's mean: from the quantized
// scores, so that the difference is one exact integer, and equal scores give zeros.
// Class T by contract; written in class P operations. Loop iterations per invocation: 8 (limbs).
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#define FITNESS_READS_SCORES
#include "yolk/internal/abi/fitness.h"
#include "fitness_state.glsl"
#include "spread.glsl"

layout(set = 0, binding = kBindWeights, scalar) writeonly restrict buffer Weights { float weights[]; };

// Sum of the quantized scores of a group, two words in two's complement.
uvec2 group_sum(uint group) {
    uint base = kStateArray + kGroupLimbs * group;
    uvec3 sum = uvec3(0u);
    for (uint limb = 0u; limb < kGroupLimbs; ++limb) sum = wide_add(sum, wide_shifted(state[base + limb], 12u * limb));
    uvec3 offset = wide_multiply(uvec3(1u << 25, 0u, 0u), params.group_size);
    uint borrow;
    uint low = usubBorrow(sum.x, offset.x, borrow);
    return uvec2(low, sum.y - offset.y - borrow);
}

// Its mean, in units of 2^E.
float group_mean(uint group) {
    return scaled(product(signed_to_float(group_sum(group)), params.reciprocal_group_size), -24);
}

float group_difference(uint pair) {
    uint plus_group = 2u * pair / params.group_size;
    uint minus_group = (2u * pair + 1u) / params.group_size;
    if (plus_group == minus_group) return pair_difference(pair);
    precise float shift = group_mean(minus_group) - group_mean(plus_group);
    precise float difference = pair_difference(pair) + shift;
    return exact_flush(difference);
}

// f - mean in units of 2^E: (count f - sum) / count, the integer exact.
float member_difference(uint member) {
    bool grouped = RULE == kRuleGroupZScore;
    uvec2 sum;
    if (grouped) sum = group_sum(member / params.group_size);
    else sum = quantized_sum(params.invocation_count);
    int own = quantized(member);
    uvec2 times = wide_multiply(uvec3(uint(abs(own)), 0u, 0u), grouped ? params.group_size : params.population).xy;
    if (own < 0) times = uvec2(~times.x + 1u, ~times.y + (times.x == 0u ? 1u : 0u));
    uint borrow;
    uint low = usubBorrow(times.x, sum.x, borrow);
    float total = signed_to_float(uvec2(low, times.y - sum.y - borrow));
    return scaled(product(total, grouped ? params.reciprocal_group_size : params.reciprocal_population), -24);
}

void main() {
    uint pair = linear_invocation();
    if (pair >= params.population >> ANTITHETIC) return;
    float difference;
    if (ANTITHETIC == 0u) difference = member_difference(pair);
    else difference = RULE == kRuleGroupZScore ? group_difference(pair) : pair_difference(pair);
    weights[pair] = product(in_spread_units(difference), inverse_deviation(params.invocation_count));
}
