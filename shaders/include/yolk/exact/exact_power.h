// SPDX-License-Identifier: Apache-2.0
// x to the power of y, class P by the product rule: 2^(y log2 x), the logarithm in two floats, since y multiplies its
// error. Splitting by 12 bits (T. J. Dekker, A floating-point technique for extending the available precision, 1971)
// makes the products that matter exact without a fused multiply-add. Special operands as C has them (ISO C, F.10.4.4).
#ifndef YOLK_EXACT_POWER_H
#define YOLK_EXACT_POWER_H
#include "yolk/exact/exact_arithmetic.h"
EXACT_BEGIN

EXACT_CONST uint kPowerUpperHalf = 0xFFFFF000u;  // of a significand: 12 of its 24 bits
EXACT_CONST uint kPowerSplit = 0x004AFB0Du;      // bits(1) - bits(sqrt(1/2))
EXACT_CONST uint kPowerBias = 0x42FE0000u;       // 127
EXACT_CONST uint kTwoLog2E = 0x4038AA3Bu;        // 2 / ln(2)
EXACT_CONST uint kTwoLog2EHigh = 0x4038A000u;    // its upper half
EXACT_CONST uint kTwoLog2ELow = 0x3A23B296u;     // the rest
EXACT_CONST uint kPowerLn2 = 0x3F317218u;
EXACT_CONST uint kPowerLn2High = 0x3F317000u;
EXACT_CONST uint kPowerLn2Low = 0x3805FDF4u;
EXACT_CONST uint kPowerC3 = 0x3EAAAAABu;  // of atanh(s) / s - 1 in s^2, 1.7e-11 off
EXACT_CONST uint kPowerC5 = 0x3E4CCCF6u;
EXACT_CONST uint kPowerC7 = 0x3E122E22u;
EXACT_CONST uint kPowerC9 = 0x3DEEE76Cu;
EXACT_CONST uint kPowerLargestExponent = 0x4F800000u;  // 2^32: no logarithm but 0 needs a larger one
EXACT_CONST uint kPowerTop = 0x43020000u;              // 130
EXACT_CONST uint kPowerBottom = 0xC2DC0000u;           // -110

EXACT_FUNCTION float exact_upper_half(float x) { return exact_from_bits(exact_bits(x) & kPowerUpperHalf); }

// a^y for 2^-100 <= a < infinity, any finite y: +infinity where it overflows, 0 below 2^-100. Relative error at most
// 4e-7. a = 2^n m, m from sqrt(1/2) to sqrt(2); log(m) = 2 atanh(s), s = (m - 1) / (m + 1).
EXACT_FUNCTION uint exact_power_of_positive(uint a, uint y) {
    uint biased = (a + kPowerSplit) >> 23;
    exact_float n = float(biased) - exact_from_bits(kPowerBias);
    exact_float m = exact_from_bits(a + kExactOne - (biased << 23));
    exact_float f = m - exact_from_bits(kExactOne);
    exact_float d = m + exact_from_bits(kExactOne);
    exact_float inverse = exact_reciprocal(d);
    exact_float s = f * inverse;
    // s in two parts: the residual f - s d is exact but for its last product.
    exact_float s_high = exact_upper_half(s);
    exact_float d_high = exact_upper_half(d);
    exact_float d_low = m - (d_high - exact_from_bits(kExactOne));
    exact_float s_low = ((f - s_high * d_high) - s_high * d_low) * inverse;
    s = s_high + s_low;
    exact_float u = s * s;
    exact_float p = exact_from_bits(kPowerC9) * u + exact_from_bits(kPowerC7);
    p = p * u + exact_from_bits(kPowerC5);
    p = (p * u + exact_from_bits(kPowerC3)) * u;
    exact_float tail = s_low + s * p;
    // log2(a) = n + 2/ln(2) (s_high + tail), in two parts of which the upper has 12 bits.
    exact_float first = s_high * exact_from_bits(kTwoLog2EHigh);
    exact_float log_high = n + first;
    exact_float log_low = first - (log_high - n);
    log_low = log_low + (s_high * exact_from_bits(kTwoLog2ELow) + tail * exact_from_bits(kTwoLog2E));
    exact_float upper = exact_upper_half(log_high + log_low);
    exact_float lower = log_low - (upper - log_high);
    // y log2(a), likewise.
    uint size = y & kExactMagnitudeMask;
    size = size > kPowerLargestExponent ? kPowerLargestExponent : size;
    exact_float e = exact_flush_operand(exact_from_bits(size | (y & kExactSignMask)));
    exact_float e_high = exact_upper_half(e);
    exact_float e_low = e - e_high;
    exact_float z_high = e_high * upper;
    exact_float z_low = e_low * upper + e * lower;
    exact_float z = z_high + z_low;
    bool above = z > exact_from_bits(kPowerTop);
    bool below = z < exact_from_bits(kPowerBottom);
    // 2^z = 2^whole exp(ln(2) rest), ln(2) rest in two parts.
    exact_float shifted = z + exact_from_bits(kExactRoundingShift);
    exact_float whole = shifted - exact_from_bits(kExactRoundingShift);
    z_high = z_high - whole;
    exact_float rest = z_high + z_low;
    exact_float rest_high = exact_upper_half(rest);
    exact_float rest_low = z_low - (rest_high - z_high);
    exact_float v = rest_high * exact_from_bits(kPowerLn2High);
    exact_float w = rest_high * exact_from_bits(kPowerLn2Low) + rest_low * exact_from_bits(kPowerLn2);
    exact_float r = v + w;
    exact_float r_low = w - (r - v);
    exact_float q = exact_from_bits(kExpC6) * r + exact_from_bits(kExpC5);
    q = q * r + exact_from_bits(kExpC4);
    q = q * r + exact_from_bits(kExpC3);
    q = q * r + exact_from_bits(kExpC2);
    q = exact_from_bits(kExactOne) + (r + ((r * r) * q + r_low));
    int field = int(exact_bits(q) >> 23) + int(exact_bits(shifted) - kExactRoundingShift);
    uint bits = (uint(field) << 23) | (exact_bits(q) & kExactMantissa);
    bits = exact_either(above, exact_both(!below, field >= kExactPastLargest)) ? kExactInfinity : bits;
    return exact_either(below, exact_both(!above, field < kExactLeastResult)) ? kExactZero : bits;
}

// 0 where it has a fraction, 1 where it is odd, 2 where it is even: of a finite magnitude.
EXACT_FUNCTION uint exact_wholeness(uint magnitude) {
    uint field = magnitude >> 23;
    uint below_one = magnitude == 0u ? 2u : 0u;
    uint significand = (magnitude & kExactMantissa) | kExactHiddenBit;
    uint fraction_bits = exact_select(field - 127u < 24u, 150u - field, 0u) & 31u;  // of 1 to below 2^24
    uint whole = ((significand >> fraction_bits) & 1u) == 1u ? 1u : 2u;
    whole = (significand & ((1u << fraction_bits) - 1u)) == 0u ? whole : 0u;
    whole = field > 150u ? 2u : whole;
    return magnitude < kExactOne ? below_one : whole;
}

// x to the power of y. Zeros, infinities and NaN as in C: anything to the power of 0 is 1, and so is 1 to the power of
// anything, NaN included; a negative number to the power of one with a fraction is NaN. x^1 is x and x^2 is x x rounded
// once. About 150 operations.
EXACT_FUNCTION uint exact_power_word(uint x, uint y) {
    uint a = exact_flushed_magnitude(x);
    uint b = exact_flushed_magnitude(y);
    bool negative = x >= kExactSignMask;
    bool inverse = y >= kExactSignMask;
    uint wholeness = exact_select(b >= kExactInfinity, 2u, exact_wholeness(b));
    uint sign = exact_both(negative, wholeness == 1u) ? kExactSignMask : 0u;
    uint bits = exact_power_of_positive(a, y);
    exact_float square = exact_from_bits(a) * exact_from_bits(a);
    bits = exact_select(exact_both(y == kExactTwo, bits < kExactInfinity), exact_bits(exact_flush(square)), bits);
    bits = y == kExactOne ? a : bits;
    // Infinite exponents, and what lies beyond the positive numbers.
    bool grows = (a > kExactOne) != inverse;
    uint limit = grows ? kExactInfinity : kExactZero;
    bits = exact_either(a == kExactZero, exact_either(a >= kExactInfinity, b >= kExactInfinity)) ? limit : bits;
    bits = a == kExactOne ? kExactOne : bits;
    bool is_nan = exact_either(a > kExactInfinity, b > kExactInfinity);
    bool is_number = a - 1u < kExactInfinity - 1u;  // neither zero nor an infinity
    is_nan = exact_either(is_nan, exact_both(exact_both(negative, wholeness == 0u), is_number));
    bits = exact_select(is_nan, kExactNan, bits | sign);
    return exact_either(b == kExactZero, x == kExactOne) ? kExactOne : bits;
}

EXACT_END
#endif
