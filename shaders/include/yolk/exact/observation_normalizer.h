// SPDX-License-Identifier: Apache-2.0
// Normalization of a policy's observations (docs/environments.md,
// docs/adr/0054-observations-are-counted-in-integers.md): how one value enters the policy, class P, and how it is
// counted, class E.
#ifndef YOLK_EXACT_OBSERVATION_NORMALIZER_H
#define YOLK_EXACT_OBSERVATION_NORMALIZER_H
#include "yolk/exact/exact_integers.h"
EXACT_BEGIN

EXACT_CONST uint kExactExponentMask = 0x7F800000u;
EXACT_CONST uint kExactObservationBound = 0x47000000u;   // 2^15: a value beyond it counts, and acts, as the bound
EXACT_CONST uint kExactNormalizedBound = 0x41200000u;    // 10: of what enters the policy
EXACT_CONST uint kExactObservationStepBits = 16u;        // values are counted in steps of 2^-16
EXACT_CONST uint kExactObservationMiddle = 0x80000000u;  // the steps of a value of 0, so that all are from 0 on

// Words for one value of a member's observations: how often it was counted; the sum of its steps, two words; the sum of
// their squares, three. Low words first.
EXACT_CONST uint kExactObservationWords = 6u;

// Finite.
EXACT_FUNCTION bool exact_is_counted(float value) {
    return (exact_bits(value) & kExactExponentMask) != kExactExponentMask;
}

// (value - shift) * scale in [-10, 10], an operand; 0 for a value that is not finite. `shift` and `scale`: operands of
// at most 2^16.
EXACT_FUNCTION float exact_normalized(float value, float shift, float scale) {
    float most = exact_from_bits(kExactObservationBound);
    float least = exact_from_bits(kExactObservationBound | kExactSignMask);
    float bounded = exact_select(exact_is_counted(value), exact_flush_operand(value), shift);
    bounded = bounded < most ? bounded : most;
    bounded = bounded > least ? bounded : least;
    exact_float centred = bounded - shift;
    exact_float scaled = exact_flush_operand(centred) * scale;
    float high = exact_from_bits(kExactNormalizedBound);
    float low = exact_from_bits(kExactNormalizedBound | kExactSignMask);
    float normalized = scaled < high ? scaled : high;
    return exact_flush_operand(normalized > low ? normalized : low);
}

// Steps of 2^-16 above -2^15, rounded towards a value of 0. By the bits: no float is too large for it.
EXACT_FUNCTION uint exact_observation_steps(float value) {
    uint magnitude = exact_bits(value) & kExactMagnitudeMask;
    uint whole = exact_whole_part(magnitude + (kExactObservationStepBits << 23));
    bool negative = exact_bits(value) >= kExactSignMask;
    uint most = negative ? kExactObservationMiddle : kExactObservationMiddle - 1u;
    uint held = whole < most ? whole : most;
    return exact_select(negative, kExactObservationMiddle - held, kExactObservationMiddle + held);
}

// Adds a value to its six words. One that is not finite is left out.
EXACT_PROCEDURE exact_count_observation(float value, EXACT_INOUT(uint) count, EXACT_INOUT(uint) sum_low,
                                        EXACT_INOUT(uint) sum_high, EXACT_INOUT(uint) squares_low,
                                        EXACT_INOUT(uint) squares_middle, EXACT_INOUT(uint) squares_high) {
    if (exact_is_counted(value)) {
        uint steps = exact_observation_steps(value);
        count += 1u;
        sum_low += steps;
        sum_high += sum_low < steps ? 1u : 0u;
        // (low + 2^16 high)^2 = low^2 + 2^17 low high + 2^32 high^2
        uint low = steps & 0xFFFFu;
        uint high = steps >> 16;
        uint crossed = low * high;
        uint square_low = low * low + (crossed << 17);
        uint square_high = high * high + (crossed >> 15) + (square_low < low * low ? 1u : 0u);
        squares_low += square_low;
        uint carry = squares_low < square_low ? 1u : 0u;
        squares_middle += square_high;
        squares_high += squares_middle < square_high ? 1u : 0u;
        squares_middle += carry;
        squares_high += squares_middle < carry ? 1u : 0u;
    }
}

EXACT_END
#endif
