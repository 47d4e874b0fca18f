// SPDX-License-Identifier: Apache-2.0
// The natural logarithm of class P (docs/kernels/exact_math.md), by the rules of yolk/exact/exact_math.h.
#ifndef YOLK_EXACT_LOG_H
#define YOLK_EXACT_LOG_H
#include "yolk/exact/exact_math.h"
EXACT_BEGIN

// log(x) for 2^-100 <= x < infinity; below, for zero and for negative x the value at 2^-100 (-69.3); infinity counts as
// the largest finite number; NaN gives one or the other by its sign. Relative error at most 9e-8, near 1 too:
// x = 2^n m with m from sqrt(1/2) to sqrt(2), so that n ln(2) and log(m) never cancel to less than ln(2)/2; m - 1 is
// exact; ln(2) is added in two parts, the first of 9 bits, so that its product with n is exact. log(1) is +0.
// log(1 + f) = f - f^2/2 + f^3 p(f), p of degree 8 (Moshier's Cephes, logf). 36 operations.
EXACT_CONST uint kLogLargest = 0x7F7FFFFFu;
EXACT_CONST uint kLogSplit = 0x004AFB0Du;      // bits(1) - bits(sqrt(1/2))
EXACT_CONST uint kLogBias = 0x42FE0000u;       // 127
EXACT_CONST uint kLogLn2High = 0x3F318000u;    // 355/512
EXACT_CONST uint kLogLn2Low = 0xB95E8083u;     // ln(2) - 355/512
EXACT_CONST uint kLogMinusHalf = 0xBF000000u;
EXACT_CONST uint kLogC11 = 0x3D9021BBu;
EXACT_CONST uint kLogC10 = 0xBDEBD1B8u;
EXACT_CONST uint kLogC9 = 0x3DEF251Au;
EXACT_CONST uint kLogC8 = 0xBDFE5D4Fu;
EXACT_CONST uint kLogC7 = 0x3E11E9BFu;
EXACT_CONST uint kLogC6 = 0xBE2AAE50u;
EXACT_CONST uint kLogC5 = 0x3E4CCEACu;
EXACT_CONST uint kLogC4 = 0xBE7FFFFCu;
EXACT_CONST uint kLogC3 = 0x3EAAAAAAu;
EXACT_FUNCTION float exact_log(float x) {
    uint bits = exact_bits(x);
    bits = bits < kExactProductFloor || bits >= kExactSignMask ? kExactProductFloor : bits;
    bits = bits > kLogLargest ? kLogLargest : bits;
    uint biased = (bits + kLogSplit) >> 23;
    exact_float n = float(biased) - exact_from_bits(kLogBias);
    exact_float f = exact_from_bits(bits + kExactOne - (biased << 23)) - exact_from_bits(kExactOne);
    exact_float u = f * f;
    exact_float p = exact_from_bits(kLogC11) * f + exact_from_bits(kLogC10);
    p = p * f + exact_from_bits(kLogC9);
    p = p * f + exact_from_bits(kLogC8);
    p = p * f + exact_from_bits(kLogC7);
    p = p * f + exact_from_bits(kLogC6);
    p = p * f + exact_from_bits(kLogC5);
    p = p * f + exact_from_bits(kLogC4);
    p = p * f + exact_from_bits(kLogC3);
    exact_float low = (f * u) * p + n * exact_from_bits(kLogLn2Low);
    low = low + exact_from_bits(kLogMinusHalf) * u;
    exact_float result = (f + low) + n * exact_from_bits(kLogLn2High);
    return result;
}

EXACT_END
#endif
