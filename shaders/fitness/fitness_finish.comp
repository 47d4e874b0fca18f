// SPDX-License-Identifier: Apache-2.0
// fitness, last step: one invocation writes the summary. Integers exact, floats class P. The coefficient brings integer
// weights to the units of the shaped fitness (docs/kernels/fitness.md):
//   PairDifference   scale / 127 / sqrt(var + 1e-5)
//   PairSign         sqrt(2 N / nonzero pairs): members are +-coefficient/2 or 0, of unit root mean square
//   CentredRank      scale / 127 / sqrt(mean of the squares of the centred ranks)
//   ZScore, GroupZScore   1
// Loop iterations: 16 (limbs).
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/fitness.h"
#include "fitness_state.glsl"
#include "spread.glsl"

layout(set = 0, binding = kBindSummary, scalar) writeonly restrict buffer Summaries { Summary summary; };

const uint kReciprocal127Bits = 0x3C010204u;  // 1/127

float sign_coefficient() {
    uint nonzero = state[kStateNonZero];
    if (nonzero == 0u) return 0.0;
    return exact_sqrt(product(float(2u * params.population), exact_reciprocal(float(nonzero))));
}

float rank_coefficient() {
    uint largest = state[kStateDifference];
    if (largest == 0u) return 0.0;
    float squares = uintBitsToFloat(wide_to_float_bits(limbs_of_16(kStateRankSquares, 4u)));
    float deviation = exact_sqrt(product(squares, params.reciprocal_population));
    return product(product(float(largest), exact_reciprocal(deviation)), uintBitsToFloat(kReciprocal127Bits));
}

float difference_coefficient() {
    float scale = uintBitsToFloat(state[ROBUST != 0u ? kStateScale : kStateDifference]);
    float deviations = product(in_spread_units(scale), inverse_deviation(params.invocation_count));
    return product(deviations, uintBitsToFloat(kReciprocal127Bits));
}

float coefficient() {
    if (RULE == kRulePairSign) return sign_coefficient();
    if (RULE == kRuleCentredRank) return rank_coefficient();
    return RULE == kRulePairDifference ? difference_coefficient() : 1.0;
}

void main() {
    if (linear_invocation() != 0u) return;
    bool none = none_finite();
    int quantum = biased_exponent() - int(kBias) - 24;
    float mean = product(signed_to_float(quantized_sum(params.invocation_count)), params.reciprocal_population);
    summary.coefficient = coefficient();
    summary.mean = scaled(mean, quantum);
    summary.best = none ? 0.0 : uintBitsToFloat(bits_of_key(state[kStateBest]));
    summary.worst = none ? 0.0 : uintBitsToFloat(bits_of_key(~state[kStateWorst]));
    summary.variance = scaled(quantized_variance(params.invocation_count), 2 * quantum);
    summary.not_finite_count = state[kStateNotFinite];
    summary.first_not_finite = ~state[kStateFirstNotFinite];
    summary.finite_count = params.population - state[kStateNotFinite];
}
