// SPDX-License-Identifier: Apache-2.0
// fp16 and bf16 as bit patterns in the low half of a word, to and from the bits of fp32: one source for GLSL and C++
// (docs/kernels/convert.md). Integers only, but for one exact product: class E. Narrowing rounds to the nearest, ties
// to even; what rounds beyond the largest becomes an infinity; a NaN stays one, quiet, with its sign and upper bits.
// Denormals of fp16 are numbers like others, 2^-24 being normal in fp32; those of bf16 are those of fp32, bit by bit.
#ifndef YOLK_EXACT_HALF_H
#define YOLK_EXACT_HALF_H
#include "yolk/exact/exact_prelude.h"
EXACT_BEGIN

EXACT_CONST uint kExactTwoToMinus24 = 0x33800000u;

// Exact: every fp16 number is one of fp32.
EXACT_FUNCTION uint exact_f16_to_f32(uint half_bits) {
    uint magnitude = half_bits & 0x7FFFu;
    uint mantissa = magnitude & 0x3FFu;
    exact_float denormal = float(mantissa) * exact_from_bits(kExactTwoToMinus24);
    uint normal = (magnitude << 13) + (112u << 23);
    uint special = (magnitude << 13) | 0x7F800000u;
    uint bits = exact_select(magnitude < 0x400u, exact_bits(denormal), normal);
    bits = exact_select(magnitude < 0x7C00u, bits, special);
    return bits | ((half_bits & 0x8000u) << 16);
}

EXACT_FUNCTION uint exact_f32_to_f16(uint bits) {
    uint magnitude = bits & 0x7FFFFFFFu;
    // From 2^-14 on. The carry of rounding goes into the exponent, at the end into infinity.
    uint normal = (magnitude - (112u << 23) + 0xFFFu + ((magnitude >> 13) & 1u)) >> 13;
    // Below, in units of 2^-24: the mantissa shifted by what its exponent lacks, 14 to 25 places.
    uint exponent = magnitude >> 23;
    exponent = exact_select(exponent < 101u, 101u, exponent);
    uint shift = 126u - exact_select(exponent < 112u, exponent, 112u);
    uint mantissa = (magnitude & 0x7FFFFFu) | 0x800000u;
    uint denormal = (mantissa + (1u << (shift - 1u)) - 1u + ((mantissa >> shift) & 1u)) >> shift;
    uint nan = 0x7E00u | ((magnitude >> 13) & 0x3FFu);
    uint result = exact_select(magnitude < 0x38800000u, denormal, normal);
    result = exact_select(magnitude < 0x477FF000u, result, 0x7C00u);
    result = exact_select(magnitude > 0x7F800000u, nan, result);
    return result | ((bits >> 16) & 0x8000u);
}

EXACT_FUNCTION uint exact_bf16_to_f32(uint half_bits) { return half_bits << 16; }

EXACT_FUNCTION uint exact_f32_to_bf16(uint bits) {
    uint rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
    uint nan = (bits >> 16) | 0x40u;
    return exact_select((bits & 0x7FFFFFFFu) > 0x7F800000u, nan, rounded);
}

EXACT_END
#endif
