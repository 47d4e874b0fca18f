// SPDX-License-Identifier: Apache-2.0
// sin and cos of every finite number, class P: beyond the domain of exact_sin (exact_math.h) x 2/pi is reduced in
// integers, after M. H. Payne and R. N. Hanek, Radian reduction for trigonometric functions, 1983.
#ifndef YOLK_EXACT_SINE_H
#define YOLK_EXACT_SINE_H
#include "yolk/exact/exact_arithmetic.h"
EXACT_BEGIN

// 176 bits of 2/pi behind 16 zeros: with them the first bit that matters for 4096 has a place.
EXACT_CONST uint kTwoOverPi0 = 0x0000A2F9u;
EXACT_CONST uint kTwoOverPi1 = 0x836E4E44u;
EXACT_CONST uint kTwoOverPi2 = 0x1529FC27u;
EXACT_CONST uint kTwoOverPi3 = 0x57D1F534u;
EXACT_CONST uint kTwoOverPi4 = 0xDDC0DB62u;
EXACT_CONST uint kTwoOverPi5 = 0x95993C43u;
EXACT_CONST uint kSineLargest = 0x45800000u;      // 4096
EXACT_CONST uint kSineTwoTo10 = 0x44800000u;      // 1024
EXACT_CONST uint kHalfPiOverTwo30 = 0x30C90FDBu;  // pi/2 2^-30
EXACT_CONST uint kSineHalfQuarter = 0x20000000u;  // half a quarter in units of 2^-30 quarters

// The upper word of the product of a number below 2^24 with a word.
EXACT_FUNCTION uint exact_upper_product(uint a, uint b) {
    uint low = (a & 0xFFFFu) * (b >> 16) + ((a & 0xFFFFu) * (b & 0xFFFFu) >> 16);
    uint high = (a >> 16) * (b & 0xFFFFu) + (low & 0xFFFFu);
    return (a >> 16) * (b >> 16) + (low >> 16) + (high >> 16);
}

// x 2/pi modulo 4 in units of 2^-30, short of it by less than one and a half; x at least 4096 and finite. x = m 2^k
// with m below 2^24: bits of 2/pi that make whole turns of m are left out, and those that m does not bring to 2^-30.
EXACT_FUNCTION uint exact_quarters(uint magnitude) {
    uint place = (magnitude >> 23) - 136u;  // 3 to 118
    bool far = (place & 64u) != 0u;
    uint a0 = far ? kTwoOverPi2 : kTwoOverPi0;
    uint a1 = far ? kTwoOverPi3 : kTwoOverPi1;
    uint a2 = far ? kTwoOverPi4 : kTwoOverPi2;
    uint a3 = far ? kTwoOverPi5 : kTwoOverPi3;
    bool next = (place & 32u) != 0u;
    uint b0 = next ? a1 : a0;
    uint b1 = next ? a2 : a1;
    uint b2 = next ? a3 : a2;
    uint shift = place & 31u;
    uint high = (b0 << shift) | (b1 >> 1 >> (31u - shift));
    uint low = (b1 << shift) | (b2 >> 1 >> (31u - shift));
    uint m = (magnitude & kExactMantissa) | kExactHiddenBit;
    return m * high + exact_upper_product(m, low);
}

// sin(x + quarters * pi/2), NaN for what is not finite, 0 counts for what is below 2^-100. Absolute error at most
// 1.1e-7 up to 4096 in size, 1.4e-7 beyond.
EXACT_FUNCTION uint exact_sine_word(uint x, uint quarters) {
    uint magnitude = x & kExactMagnitudeMask;
    bool far = magnitude > kSineLargest;
    uint turned = exact_quarters(far ? magnitude : kSineLargest);
    uint quarter = (turned + kSineHalfQuarter) >> 30;
    int rest = int(turned - (quarter << 30));
    exact_float places = float(rest >> 10) * exact_from_bits(kSineTwoTo10) + float(rest & 1023);
    exact_float reduced = places * exact_from_bits(kHalfPiOverTwo30);
    uint argument = exact_select(far, exact_bits(reduced), exact_bits(exact_flush(exact_from_bits(x))));
    uint sign = exact_select(exact_both(far, quarters == 0u), x & kExactSignMask, 0u);
    quarters += far ? quarter : 0u;
    uint bits = exact_bits(exact_sine_after(exact_from_bits(argument), quarters)) ^ sign;
    return magnitude >= kExactInfinity ? kExactNan : bits;
}

EXACT_END
#endif
