// SPDX-License-Identifier: Apache-2.0
// fitness, integer rules: one int8 weight per pair, four to a word. Items are words, one per invocation; the last word
// is padded with zeros.
//   PairDifference, CentredRank   q = 127 d / scale, rounded half to even (exactly: in integers), clipped to +-127
//   PairSign                      q = sign(d)
// Class E given the scores' differences. Loop iterations per invocation: 4.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#define FITNESS_READS_SCORES
#include "yolk/internal/abi/fitness.h"
#include "fitness_state.glsl"

layout(set = 0, binding = kBindWeights, scalar) writeonly restrict buffer Weights { uint weights[]; };

// 127 * part / (whole * 2^shift), half to even; part and whole below 2^24, part not above whole * 2^shift.
uint rounded_share(uint part, uint whole, uint shift) {
    uint twice = 254u * part;
    uint quotient = twice / whole;
    bool inexact = quotient * whole != twice || (quotient & ((1u << shift) - 1u)) != 0u;
    uint halves = quotient >> shift;  // twice the result, rounded down
    uint share = halves / 2u;
    bool up = (halves & 1u) != 0u && (inexact || (share & 1u) != 0u);
    return up ? share + 1u : share;
}

uint significand(uint magnitude) { return (magnitude & 0x007FFFFFu) | 0x00800000u; }

int weight_of_difference(uint pair) {
    uint bits = floatBitsToUint(pair_difference(pair));
    uint magnitude = bits & kExactMagnitudeMask;
    bool negative = (bits & kExactSignMask) != 0u;
    if (magnitude == 0u) return 0;
    if (RULE == kRulePairSign) return negative ? -1 : 1;
    uint scale = state[ROBUST != 0u ? kStateScale : kStateDifference];
    uint share = 127u;
    if (magnitude < scale) {
        uint shift = (scale >> 23) - (magnitude >> 23);
        // From 2^9 on the share is below one half.
        share = shift > 8u ? 0u : rounded_share(significand(magnitude), significand(scale), shift);
    }
    return negative ? -int(share) : int(share);
}

// Without antithetic sampling `pair` is a member, and its weight is its own rank's.
int weight_of_ranks(uint pair) {
    int difference;
    if (ANTITHETIC != 0u) difference = int(state[kStateArray + 2u * pair]) - int(state[kStateArray + 2u * pair + 1u]);
    else difference = int(state[kStateArray + pair]) - int(params.population);
    uint largest = state[kStateDifference];
    if (largest == 0u) return 0;
    int share = int(rounded_share(uint(abs(difference)), largest, 0u));
    return difference < 0 ? -share : share;
}

void main() {
    uint word = linear_invocation();
    uint pairs = params.population >> ANTITHETIC;
    if (word >= params.invocation_count) return;
    uint packed = 0u;
    for (uint lane = 0u; lane < 4u; ++lane) {
        uint pair = 4u * word + lane;
        if (pair >= pairs) break;
        int weight = RULE == kRuleCentredRank ? weight_of_ranks(pair) : weight_of_difference(pair);
        packed |= (uint(weight) & 0xFFu) << (8u * lane);
    }
    weights[word] = packed;
}
