// SPDX-License-Identifier: Apache-2.0
// Elementary functions of class P (docs/kernels/exact_math.md): the same bits on every device that passes the
// arithmetic probe, and in C++. Only fp32 additions, subtractions, multiplications, comparisons, selects and integer
// bit operations. Each function states its domain, its largest error there (measured against double by
// oracle/tests/exact_math_test.cpp), and how many operations it takes.
#ifndef YOLK_EXACT_MATH_H
#define YOLK_EXACT_MATH_H
#include "yolk/exact/exact_prelude.h"
EXACT_BEGIN

EXACT_CONST uint kExactSignMask = 0x80000000u;
EXACT_CONST uint kExactMagnitudeMask = 0x7FFFFFFFu;
EXACT_CONST uint kExactZero = 0u;
EXACT_CONST uint kExactHalf = 0x3F000000u;
EXACT_CONST uint kExactOne = 0x3F800000u;
EXACT_CONST uint kExactThreeHalves = 0x3FC00000u;
EXACT_CONST uint kExactProductFloor = 0x0D800000u;  // 2^-100
EXACT_CONST uint kExactOperandFloor = 0x2B800000u;  // 2^-40
EXACT_CONST uint kExactTwoTo23 = 0x4B000000u;
EXACT_CONST uint kExactRoundingShift = 0x4B400000u;  // 1.5 * 2^23: adding it leaves the rounded value in the low bits

EXACT_FUNCTION float exact_abs(float x) { return exact_from_bits(exact_bits(x) & kExactMagnitudeMask); }

// The product rule: |x| below 2^-100 becomes zero, so that sums of such products are multiples of 2^-123 and never
// denormal.
EXACT_FUNCTION float exact_flush(float x) {
    return exact_select((exact_bits(x) & kExactMagnitudeMask) < kExactProductFloor, exact_from_bits(kExactZero), x);
}

// The operand rule: |x| below 2^-40 becomes zero, so that products are zero or at least 2^-80 and sums multiples of
// 2^-103.
EXACT_FUNCTION float exact_flush_operand(float x) {
    return exact_select((exact_bits(x) & kExactMagnitudeMask) < kExactOperandFloor, exact_from_bits(kExactZero), x);
}

// Nearest integer, ties to even, for every finite x; keeps the sign of zero. Exact. 5 operations.
EXACT_FUNCTION float exact_round_half_even(float x) {
    uint magnitude = exact_bits(x) & kExactMagnitudeMask;
    exact_float shifted = exact_from_bits(magnitude) + exact_from_bits(kExactTwoTo23);
    exact_float rounded = shifted - exact_from_bits(kExactTwoTo23);
    uint bits = exact_select(magnitude < kExactTwoTo23, exact_bits(rounded), magnitude);
    return exact_from_bits(bits | (exact_bits(x) & kExactSignMask));
}

// 1/x for 2^-100 <= |x| <= 2^100; unspecified elsewhere (but never a trap). Relative error at most 1.3e-7.
// kReciprocalStart minus the bits is 1/x times 0.707 to 0.729: brought to 1 +- 1.5 % by one factor, then two steps of
// Newton's iteration, the first centred (2.0001 for 2), the second in residual form. 12 operations. (The constant
// nearest to 1/x itself starts 5 % off and costs a step more.)
EXACT_CONST uint kReciprocalStart = 0x7EB50800u;
EXACT_CONST uint kReciprocalScale = 0x3FB24FF8u;   // 1.393065
EXACT_CONST uint kReciprocalCentre = 0x400001D4u;  // 2.000112
EXACT_FUNCTION float exact_reciprocal(float x) {
    uint magnitude = exact_bits(x) & kExactMagnitudeMask;
    exact_float a = exact_from_bits(magnitude);
    exact_float y = exact_from_bits(kReciprocalStart - magnitude) * exact_from_bits(kReciprocalScale);
    y = y * (exact_from_bits(kReciprocalCentre) - a * y);
    exact_float residual = exact_from_bits(kExactOne) - a * y;
    y = y + y * residual;
    return exact_from_bits(exact_bits(y) | (exact_bits(x) & kExactSignMask));
}

// sqrt(x) for 2^-100 <= x <= 2^100; 0 below, negative x included. Relative error at most 1e-7. Newton's iteration for
// 1/sqrt from the exponent (3.5 % off), then one correction of the root itself. 20 operations.
EXACT_CONST uint kInverseSqrtStart = 0x5F375A86u;
EXACT_FUNCTION float exact_sqrt(float x) {
    exact_float h = exact_from_bits(kExactHalf) * x;
    exact_float y = exact_from_bits(kInverseSqrtStart - (exact_bits(x) >> 1));
    y = y * (exact_from_bits(kExactThreeHalves) - (h * y) * y);
    y = y * (exact_from_bits(kExactThreeHalves) - (h * y) * y);
    y = y * (exact_from_bits(kExactThreeHalves) - (h * y) * y);
    exact_float s = x * y;
    exact_float residual = x - s * s;
    s = s + (exact_from_bits(kExactHalf) * y) * residual;
    bool inside = exact_bits(x) - kExactProductFloor < kExactSignMask - kExactProductFloor;
    return exact_select(inside, s, exact_from_bits(kExactZero));
}

// tanh(x) for every x; 0 where |x| is below 2^-40, so that the result is an operand of the operand rule; NaN gives 1 or
// -1 by its sign. Absolute error at most 1.2e-6, and |tanh| < 1. Odd rational of degrees 7 over 6, fitted to the
// smallest absolute error on [0, 7] (9.7e-7) by linear programming (tools/fit_tanh.py); beyond 7 the value at 7. The
// reciprocal of the denominator is inlined: start and two centred steps, their common factor moved into the numerator's
// coefficients. 27 operations: the roll-out spends most of its time here.
EXACT_CONST uint kTanhLimit = 0x40E00000u;  // 7
EXACT_CONST uint kTanhP0 = 0x46CEEE5Bu;
EXACT_CONST uint kTanhP1 = 0x454B9FECu;
EXACT_CONST uint kTanhP2 = 0x427112B9u;
EXACT_CONST uint kTanhP3 = 0x3DD4D01Fu;
EXACT_CONST uint kTanhQ0 = 0x45DBC96Cu;
EXACT_CONST uint kTanhQ1 = 0x45489613u;
EXACT_CONST uint kTanhQ2 = 0x43142613u;
EXACT_CONST uint kTanhCentre1 = 0x3FB7C714u;
EXACT_CONST uint kTanhCentre2 = 0x3F83EA74u;
EXACT_FUNCTION float exact_tanh(float x) {
    uint magnitude = exact_bits(x) & kExactMagnitudeMask;
    exact_float a = exact_from_bits(magnitude < kTanhLimit ? magnitude : kTanhLimit);
    exact_float u = a * a;
    exact_float p = (exact_from_bits(kTanhP3) * u + exact_from_bits(kTanhP2)) * u + exact_from_bits(kTanhP1);
    p = p * u + exact_from_bits(kTanhP0);
    exact_float q = ((u + exact_from_bits(kTanhQ2)) * u + exact_from_bits(kTanhQ1)) * u + exact_from_bits(kTanhQ0);
    exact_float y = exact_from_bits(kReciprocalStart - exact_bits(q));
    y = y * (exact_from_bits(kTanhCentre1) - q * y);
    y = y * (exact_from_bits(kTanhCentre2) - q * y);
    exact_float t = (a * p) * y;
    uint bits = exact_bits(t) | (exact_bits(x) & kExactSignMask);
    return exact_from_bits(magnitude < kExactOperandFloor ? kExactZero : bits);
}

// exp(x) for -69 <= x <= 88; 0 below (so never under 2^-100), exp(88) above. Relative error at most 1.2e-7. exp(x) =
// 2^n exp(r), |r| at most ln(2)/2, ln(2) subtracted in two parts, degree 6 for exp(r). 24 operations.
EXACT_CONST uint kExpLowest = 0xC28A0000u;   // -69
EXACT_CONST uint kExpHighest = 0x42B00000u;  // 88
EXACT_CONST uint kLog2E = 0x3FB8AA3Bu;
EXACT_CONST uint kLn2High = 0x3F317000u;  // 12 bits: its product with |n| below 2^12 is exact
EXACT_CONST uint kLn2Low = 0x3805FDF4u;
EXACT_CONST uint kExpC2 = 0x3EFFFFFEu;
EXACT_CONST uint kExpC3 = 0x3E2AAA48u;
EXACT_CONST uint kExpC4 = 0x3D2AAC7Au;
EXACT_CONST uint kExpC5 = 0x3C091D36u;
EXACT_CONST uint kExpC6 = 0x3AB511A9u;
EXACT_FUNCTION float exact_exp(float x) {
    exact_float v = exact_select(x > exact_from_bits(kExpHighest), exact_from_bits(kExpHighest), x);
    v = exact_select(v < exact_from_bits(kExpLowest), exact_from_bits(kExpLowest), v);
    exact_float shifted = v * exact_from_bits(kLog2E) + exact_from_bits(kExactRoundingShift);
    exact_float n = shifted - exact_from_bits(kExactRoundingShift);
    exact_float r = (v - n * exact_from_bits(kLn2High)) - n * exact_from_bits(kLn2Low);
    exact_float p = exact_from_bits(kExpC6) * r + exact_from_bits(kExpC5);
    p = p * r + exact_from_bits(kExpC4);
    p = p * r + exact_from_bits(kExpC3);
    p = p * r + exact_from_bits(kExpC2);
    p = exact_from_bits(kExactOne) + (r + (r * r) * p);
    uint scaled = exact_bits(p) + ((exact_bits(shifted) - kExactRoundingShift) << 23);
    return exact_from_bits(x < exact_from_bits(kExpLowest) ? kExactZero : scaled);
}

// sin(x + quarters * pi/2) for |x| <= 4096 that is zero or at least 2^-100. pi/2 is subtracted in three parts, the
// first two of 11 bits, so that their products with the quarter's number (below 2^12) are exact; then degree 7 (sine)
// or 8 (cosine) on [-pi/4, pi/4].
EXACT_CONST uint kTwoOverPi = 0x3F22F983u;
EXACT_CONST uint kHalfPiHigh = 0x3FC90000u;
EXACT_CONST uint kHalfPiMiddle = 0x39FDA000u;
EXACT_CONST uint kHalfPiLow = 0x33A22169u;
EXACT_CONST uint kSinC3 = 0xBE2AAAA0u;
EXACT_CONST uint kSinC5 = 0x3C0882D4u;
EXACT_CONST uint kSinC7 = 0xB94C6B5Cu;
EXACT_CONST uint kCosC4 = 0x3D2AAAA5u;
EXACT_CONST uint kCosC6 = 0xBAB60641u;
EXACT_CONST uint kCosC8 = 0x37CCFFA0u;
EXACT_FUNCTION float exact_sine_after(float x, uint quarters) {
    exact_float shifted = x * exact_from_bits(kTwoOverPi) + exact_from_bits(kExactRoundingShift);
    exact_float n = shifted - exact_from_bits(kExactRoundingShift);
    exact_float r = (x - n * exact_from_bits(kHalfPiHigh)) - n * exact_from_bits(kHalfPiMiddle);
    r = r - n * exact_from_bits(kHalfPiLow);
    exact_float u = r * r;
    exact_float s = (exact_from_bits(kSinC7) * u + exact_from_bits(kSinC5)) * u + exact_from_bits(kSinC3);
    s = r + (r * u) * s;
    exact_float c = (exact_from_bits(kCosC8) * u + exact_from_bits(kCosC6)) * u + exact_from_bits(kCosC4);
    c = (exact_from_bits(kExactOne) - exact_from_bits(kExactHalf) * u) + (u * u) * c;
    uint quarter = (exact_bits(shifted) - kExactRoundingShift) + quarters;
    uint bits = exact_select((quarter & 1u) == 0u, exact_bits(s), exact_bits(c));
    return exact_from_bits(bits ^ ((quarter & 2u) << 30));
}

// sin(x), domain above. Absolute error at most 1.1e-7. 33 operations.
EXACT_FUNCTION float exact_sin(float x) { return exact_sine_after(x, 0u); }

// cos(x), domain above. Absolute error at most 1.1e-7. 33 operations.
EXACT_FUNCTION float exact_cos(float x) { return exact_sine_after(x, 1u); }

EXACT_END
#endif
