// SPDX-License-Identifier: Apache-2.0
// Division, square roots, whole parts and comparisons of words, class P by the product rule (docs/adr/0002): operands
// and results below 2^-100 count as zero and keep their sign. Drivers may not preserve infinities and NaN, or may flush
// what is denormal, so whatever is special is told and made by integers (docs/kernels/elementwise.md). Signs of zero,
// infinities and NaN are those of IEEE 754; NaN is always kExactNan.
#ifndef YOLK_EXACT_ARITHMETIC_H
#define YOLK_EXACT_ARITHMETIC_H
#include "yolk/exact/exact_activations.h"
EXACT_BEGIN

EXACT_CONST uint kExactMantissa = 0x007FFFFFu;
EXACT_CONST uint kExactHiddenBit = 0x00800000u;
EXACT_CONST uint kExactTwo = 0x40000000u;
EXACT_CONST uint kExactLeastField = 27u;  // exponent field of 2^-100
EXACT_CONST int kExactLeastResult = 27;
EXACT_CONST int kExactPastLargest = 255;

EXACT_FUNCTION bool exact_is_nan_word(uint x) { return (x & kExactMagnitudeMask) > kExactInfinity; }

// |x|, and 0 where that is below 2^-100.
EXACT_FUNCTION uint exact_flushed_magnitude(uint x) {
    uint magnitude = x & kExactMagnitudeMask;
    return magnitude < kExactProductFloor ? kExactZero : magnitude;
}

// The 24 bits of a number from 1 to below 2 that `guess` is near to, 2^23 to 2^24 - 1.
EXACT_FUNCTION uint exact_significand_near(float guess) {
    uint bits = exact_bits(guess);
    bits = bits < kExactOne ? kExactOne : bits;
    bits = exact_select(bits >= kExactTwo, kExactTwo - 1u, bits);
    return (bits & kExactMantissa) | kExactHiddenBit;
}

// One step of a division: where the rest holds `part`, it is taken, and counts `places`.
EXACT_PROCEDURE exact_take(EXACT_INOUT(uint) rest, EXACT_INOUT(uint) taken, uint part, uint places) {
    bool fits = rest >= part;
    rest -= exact_select(fits, part, 0u);
    taken += exact_select(fits, places, 0u);
}

// The magnitude of a quotient of two significands, rounded to the nearest: floor(n 2^23 / q) by a guess that is at most
// 4 off, whose remainder (below 2^28) is exact in 32 bits whatever they drop. No tie: (2 t + 1) q = n 2^24 has no
// solution with q below 2^24.
EXACT_FUNCTION uint exact_quotient_magnitude(uint a, uint b) {
    uint p = (a & kExactMantissa) | kExactHiddenBit;
    uint q = (b & kExactMantissa) | kExactHiddenBit;
    bool doubled = p < q;
    exact_float inverse = exact_reciprocal(exact_from_bits((b & kExactMantissa) | kExactOne));
    exact_float guess = exact_from_bits((a & kExactMantissa) | (doubled ? kExactTwo : kExactOne)) * inverse;
    uint n = exact_select(doubled, p << 1, p);
    uint t = exact_significand_near(guess) - 4u;
    uint rest = (n << 23) - t * q;
    exact_take(rest, t, q << 3, 8u);
    exact_take(rest, t, q << 2, 4u);
    exact_take(rest, t, q << 1, 2u);
    exact_take(rest, t, q, 1u);
    t += rest << 1 > q ? 1u : 0u;
    int field = int(a >> 23) - int(b >> 23) + 127 - (doubled ? 1 : 0) + int(t >> 24);
    uint bits = (uint(field) << 23) | (t & kExactMantissa);
    bits = field >= kExactPastLargest ? kExactInfinity : bits;
    return field < kExactLeastResult ? kExactZero : bits;
}

// x / y, rounded to the nearest, ties to even: the bits of IEEE 754 but for what counts as zero. x/0 is an infinity,
// 0/0 and infinity/infinity are NaN. 50 operations.
EXACT_FUNCTION uint exact_quotient_word(uint x, uint y) {
    uint a = exact_flushed_magnitude(x);
    uint b = exact_flushed_magnitude(y);
    uint bits = exact_quotient_magnitude(a, b);
    bits = exact_either(a == kExactZero, b == kExactInfinity) ? kExactZero : bits;
    bits = exact_either(a == kExactInfinity, b == kExactZero) ? kExactInfinity : bits;
    bool is_nan = exact_either(a > kExactInfinity, b > kExactInfinity);
    is_nan = exact_either(is_nan, exact_both(a == b, exact_either(a == kExactZero, a == kExactInfinity)));
    return exact_select(is_nan, kExactNan, bits | ((x ^ y) & kExactSignMask));
}

// Of a positive finite number the part from 1 to below 4 whose exponent that leaves is even.
EXACT_FUNCTION uint exact_even_part(uint a) {
    return (a & kExactMantissa) | ((a & kExactHiddenBit) == 0u ? kExactTwo : kExactOne);
}

// sqrt(x), rounded to the nearest: the bits of IEEE 754 but for what counts as zero. Zeros keep their sign, negative
// numbers give NaN. The integer root by a guess at most 2 off, as the quotient. 60 operations.
EXACT_FUNCTION uint exact_sqrt_word(uint x) {
    uint a = exact_flushed_magnitude(x);
    uint part = exact_even_part(a);
    exact_float guess = exact_sqrt(exact_from_bits(part));
    uint n = ((a & kExactMantissa) | kExactHiddenBit) << (part >= kExactTwo ? 1 : 0);
    uint t = exact_significand_near(guess) - 2u;
    uint rest = (n << 23) - t * t;
    exact_take(rest, t, (t << 3) + 16u, 4u);
    exact_take(rest, t, (t << 2) + 4u, 2u);
    exact_take(rest, t, (t << 1) + 1u, 1u);
    t += rest > t ? 1u : 0u;
    uint bits = (((a >> 23) + 127u) >> 1 << 23) | (t & kExactMantissa);
    bits = a == kExactInfinity ? kExactInfinity : bits;
    bits = exact_select(a == kExactZero, x & kExactSignMask, bits);
    return exact_either(a > kExactInfinity, exact_both(a != kExactZero, x >= kExactSignMask)) ? kExactNan : bits;
}

// 1 / sqrt(x): an infinity of its sign for a zero, +0 for +infinity, NaN for negative numbers. Relative error at most
// 1.2e-7. Newton's iteration as in exact_sqrt, the last step in residual form. 45 operations.
EXACT_FUNCTION uint exact_rsqrt_word(uint x) {
    uint a = exact_flushed_magnitude(x);
    uint part = exact_even_part(a);
    exact_float m = exact_from_bits(part);
    exact_float h = exact_from_bits(kExactHalf) * m;
    exact_float y = exact_from_bits(kInverseSqrtStart - (part >> 1));
    y = y * (exact_from_bits(kExactThreeHalves) - (h * y) * y);
    y = y * (exact_from_bits(kExactThreeHalves) - (h * y) * y);
    y = y * (exact_from_bits(kExactThreeHalves) - (h * y) * y);
    exact_float residual = exact_from_bits(kExactHalf) - (h * y) * y;
    y = y + y * residual;
    uint bits = exact_bits(y) + ((127u - (((a >> 23) + 127u) >> 1)) << 23);
    bits = a == kExactInfinity ? kExactZero : bits;
    bits = exact_select(a == kExactZero, kExactInfinity | (x & kExactSignMask), bits);
    return exact_either(a > kExactInfinity, exact_both(a != kExactZero, x >= kExactSignMask)) ? kExactNan : bits;
}

// The largest whole number not above x, for every pattern; keeps the sign of zero. Integers.
EXACT_FUNCTION uint exact_floor_word(uint x) {
    uint magnitude = x & kExactMagnitudeMask;
    uint sign = x & kExactSignMask;
    uint places = magnitude > kExactTwoTo23 ? kExactTwoTo23 : magnitude;
    places = (magnitude < kExactOne ? kExactOne : places) >> 23;
    uint fraction = kExactMantissa >> ((places - 127u) & 31u);
    uint bits = (x + (sign == 0u ? 0u : fraction)) & ~fraction;
    uint below_one = exact_select(exact_either(sign == 0u, magnitude == 0u), sign, sign | kExactOne);
    bits = magnitude < kExactOne ? below_one : bits;
    return exact_is_nan_word(x) ? kExactNan : bits;
}

// The nearest whole number, ties to even, for every pattern; keeps the sign of zero.
EXACT_FUNCTION uint exact_round_word(uint x) {
    return exact_select(exact_is_nan_word(x), kExactNan, exact_bits(exact_round_half_even(exact_from_bits(x))));
}

EXACT_FUNCTION uint exact_absolute_word(uint x) {
    return exact_select(exact_is_nan_word(x), kExactNan, x & kExactMagnitudeMask);
}

// Words whose order as unsigned integers is that of the numbers, -0 below +0.
EXACT_FUNCTION uint exact_order(uint x) { return exact_select((x & kExactSignMask) == 0u, x | kExactSignMask, ~x); }

EXACT_FUNCTION uint exact_maximum_word(uint x, uint y) {
    uint greater = exact_order(x) < exact_order(y) ? y : x;
    return exact_either(exact_is_nan_word(x), exact_is_nan_word(y)) ? kExactNan : greater;
}

EXACT_FUNCTION uint exact_minimum_word(uint x, uint y) {
    uint lesser = exact_order(y) < exact_order(x) ? y : x;
    return exact_either(exact_is_nan_word(x), exact_is_nan_word(y)) ? kExactNan : lesser;
}

// Both zeros are equal; NaN is neither less than anything nor equal to it. For every pattern, denormal ones too.
EXACT_FUNCTION bool exact_is_equal(uint x, uint y) {
    bool zeros = ((x | y) & kExactMagnitudeMask) == 0u;
    return exact_both(exact_either(x == y, zeros), !exact_either(exact_is_nan_word(x), exact_is_nan_word(y)));
}
EXACT_FUNCTION bool exact_is_less(uint x, uint y) {
    bool zeros = ((x | y) & kExactMagnitudeMask) == 0u;
    bool counts = !exact_either(zeros, exact_either(exact_is_nan_word(x), exact_is_nan_word(y)));
    return exact_both(exact_order(x) < exact_order(y), counts);
}
EXACT_FUNCTION uint exact_one_if(bool condition) { return condition ? kExactOne : kExactZero; }

EXACT_END
#endif
