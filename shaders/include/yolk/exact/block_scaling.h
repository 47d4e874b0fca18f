// SPDX-License-Identifier: Apache-2.0
// How block_inverse scales its blocks (docs/kernels/block_inverse.md), class P: by powers of two, as additions to the
// exponent's bits, so that nothing is rounded and every element is an operand of the operand rule, whatever the scale
// of the input. A block A = 2^e H B H with H = diag(2^h_i): e is the exponent of A's largest magnitude, the h_i bring
// the diagonal of B into [1, 4).
#ifndef YOLK_EXACT_BLOCK_SCALING_H
#define YOLK_EXACT_BLOCK_SCALING_H
#include "yolk/exact/exact_math.h"
EXACT_BEGIN

EXACT_CONST uint kBlockLeastNormal = 0x00800000u;
EXACT_CONST uint kBlockInfinity = 0x7F800000u;
EXACT_CONST uint kBlockMantissa = 0x007FFFFFu;
EXACT_CONST int kBlockLeastField = 87;            // exponent field of 2^-40
EXACT_CONST int kBlockLargestField = 147;         // of 2^20
EXACT_CONST uint kBlockLargest = 0x49800000u;     // 2^20
EXACT_CONST uint kBlockBound = 0x46000000u;       // 2^13
EXACT_CONST uint kBlockFloor = 0x33800000u;       // 2^-24
EXACT_CONST uint kBlockRetryFloor = 0x35800000u;  // 2^-20
EXACT_CONST int kBlockNoExponent = -1000;

// floor(log2 |x|); kBlockNoExponent for zero and denormals.
EXACT_FUNCTION int block_exponent(float x) {
    uint magnitude = exact_bits(x) & kExactMagnitudeMask;
    return exact_select(magnitude < kBlockLeastNormal, kBlockNoExponent, int(magnitude >> 23) - 127);
}

// x 2^shift; zero below 2^-40, and for denormal x; at most 2^20 in magnitude.
EXACT_FUNCTION float block_operand(float x, int shift) {
    uint bits = exact_bits(x);
    uint magnitude = bits & kExactMagnitudeMask;
    int field = int(magnitude >> 23) + shift;
    uint shifted = (uint(field) << 23) | (bits & kBlockMantissa);
    uint scaled = exact_select(field >= kBlockLargestField, kBlockLargest, shifted);
    uint signed_bits = scaled | (bits & kExactSignMask);
    signed_bits = exact_select(field < kBlockLeastField, kExactZero, signed_bits);
    return exact_from_bits(exact_select(magnitude < kBlockLeastNormal, kExactZero, signed_bits));
}

// The bits of x 2^shift; zero where it would be denormal, +infinity where it would be too large.
EXACT_FUNCTION uint block_result(float x, int shift) {
    uint bits = exact_bits(x);
    int field = int((bits & kExactMagnitudeMask) >> 23) + shift;
    uint scaled = (uint(field) << 23) | (bits & (kBlockMantissa | kExactSignMask));
    scaled = exact_select(field > 254, kBlockInfinity, scaled);
    scaled = exact_select(field < 1, kExactZero, scaled);
    return exact_select((bits & kExactMagnitudeMask) < kBlockLeastNormal, kExactZero, scaled);
}

// Zero below 2^-40, at most 2^13 in magnitude: what a column of a positive definite block holds, and no overflow in
// those that are not.
EXACT_FUNCTION float block_bounded(float x) {
    uint magnitude = exact_bits(x) & kExactMagnitudeMask;
    uint bounded = (exact_bits(x) & kExactSignMask) | exact_select(magnitude > kBlockBound, kBlockBound, magnitude);
    return exact_from_bits(exact_select(magnitude < kExactOperandFloor, kExactZero, bounded));
}

// exact_flush_operand without a branch.
EXACT_FUNCTION float block_flush(float x) {
    uint bits = exact_bits(x);
    return exact_from_bits(exact_select((bits & kExactMagnitudeMask) < kExactOperandFloor, kExactZero, bits));
}

// What an attempt adds to the diagonal: the given damping, later 16^attempt max(it, 2^-20 mean).
EXACT_FUNCTION float block_added(uint attempt, float damping, float mean) {
    exact_float least = exact_from_bits(kBlockRetryFloor) * mean;
    exact_float retried = (damping > least ? damping : least) * exact_from_bits((127u + 4u * attempt) << 23);
    return exact_flush_operand(attempt == 0u ? damping : retried);
}

// Element (i, i) of the block in units of 2^exponent, damped.
EXACT_FUNCTION float block_damped(float x, int exponent, float added) {
    exact_float damped = block_operand(x, -exponent) + added;
    return damped;
}

// h_i of InverseMode::Spd, from the damped element; elements that are not positive, or below 2^-24 of the mean, count
// as large as those.
EXACT_FUNCTION int block_half_scale(float damped, float mean) {
    exact_float least = exact_from_bits(kBlockFloor) * mean;
    float size = damped > least ? damped : least;
    return block_exponent(damped > exact_from_bits(kExactZero) ? size : mean) >> 1;
}

// 1 / d of a pivot above the tolerance; zero for others, whose column then changes nothing.
EXACT_FUNCTION float block_pivot_inverse(float d, float tolerance) {
    bool good = d > tolerance;
    exact_float inverse = exact_reciprocal(exact_select(good, d, exact_from_bits(kExactOne)));
    return exact_select(good, inverse, exact_from_bits(kExactZero));
}

EXACT_END
#endif
