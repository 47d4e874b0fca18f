// SPDX-License-Identifier: Apache-2.0
// The operands a and b of matmul's tile in fp32, fp16 or bf16, each as its constant says; 16-bit ones lie two to a word.
// With MATMUL_STORAGE16 they are read one by one (path storage16), else by the word: the same memory, the same numbers.
// Widening is exact (yolk/exact/exact_half.h), so class P stays class P.
#ifndef YOLK_MATMUL_FORMATS_GLSL
#define YOLK_MATMUL_FORMATS_GLSL
#include "yolk/exact/exact_half.h"

layout(constant_id = kSpecFormatA) const uint FORMAT_A = 0;
layout(constant_id = kSpecFormatB) const uint FORMAT_B = 0;

#ifdef MATMUL_STORAGE16
layout(set = 0, binding = kBindA, scalar) readonly restrict buffer A { uint16_t values[]; } a_;
layout(set = 0, binding = kBindB, scalar) readonly restrict buffer B { uint16_t values[]; } b_;
#else
layout(set = 0, binding = kBindA, scalar) readonly restrict buffer A { uint values[]; } a_;
layout(set = 0, binding = kBindB, scalar) readonly restrict buffer B { uint values[]; } b_;
#endif
// Four 16-bit elements, or two of fp32.
layout(set = 0, binding = kBindA4, scalar) readonly restrict buffer A4 { uvec2 values[]; } a4_;
layout(set = 0, binding = kBindB4, scalar) readonly restrict buffer B4 { uvec2 values[]; } b4_;

float widened(uint format, uint half_bits) {
    if (format == kFormatF16) return uintBitsToFloat(exact_f16_to_f32(half_bits));
    return uintBitsToFloat(exact_bf16_to_f32(half_bits));
}
vec4 widened4(uint format, uvec2 halves) {
    return vec4(widened(format, halves.x & 0xFFFFu), widened(format, halves.x >> 16),
                widened(format, halves.y & 0xFFFFu), widened(format, halves.y >> 16));
}

#ifdef MATMUL_STORAGE16
float a_at(uint i) {
    if (FORMAT_A == kFormatF32) return uintBitsToFloat(a4_.values[i / 2u][i % 2u]);
    return widened(FORMAT_A, uint(a_.values[i]));
}
float b_at(uint i) {
    if (FORMAT_B == kFormatF32) return uintBitsToFloat(b4_.values[i / 2u][i % 2u]);
    return widened(FORMAT_B, uint(b_.values[i]));
}
#else
float a_at(uint i) {
    if (FORMAT_A == kFormatF32) return uintBitsToFloat(a_.values[i]);
    return widened(FORMAT_A, (a_.values[i / 2u] >> (16u * (i % 2u))) & 0xFFFFu);
}
float b_at(uint i) {
    if (FORMAT_B == kFormatF32) return uintBitsToFloat(b_.values[i]);
    return widened(FORMAT_B, (b_.values[i / 2u] >> (16u * (i % 2u))) & 0xFFFFu);
}
#endif

// Elements 4 i ... 4 i + 3.
vec4 a4_at(uint i) {
    if (FORMAT_A == kFormatF32) return vec4(uintBitsToFloat(a4_.values[2u * i]), uintBitsToFloat(a4_.values[2u * i + 1u]));
    return widened4(FORMAT_A, a4_.values[i]);
}
vec4 b4_at(uint i) {
    if (FORMAT_B == kFormatF32) return vec4(uintBitsToFloat(b4_.values[2u * i]), uintBitsToFloat(b4_.values[2u * i + 1u]));
    return widened4(FORMAT_B, b4_.values[i]);
}

#define A_AT(index) a_at(index)
#define A4_AT(index) a4_at(index)
#define B_AT(index) b_at(index)
#define B4_AT(index) b4_at(index)

#endif
