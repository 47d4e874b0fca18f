// SPDX-License-Identifier: Apache-2.0
// The operands a and b of matmul's tile, read one element or four at a time, from storage buffers or
// - MATMUL_TEXEL: both from texel buffers, whose loads CPU drivers gather for all lanes at once (docs/adr/0010);
// - MATMUL_UNIFORM, MATMUL_UNIFORM_B: a, or b, from a uniform buffer of at most 64 KiB;
// - MATMUL_FORMATS: each in the format that its constant says (matmul_formats.glsl).
#ifndef YOLK_MATMUL_OPERANDS_GLSL
#define YOLK_MATMUL_OPERANDS_GLSL

#if defined(MATMUL_FORMATS)
#include "matmul_formats.glsl"
#else

#if defined(MATMUL_TEXEL)
layout(set = 0, binding = kBindA) uniform samplerBuffer a_;
layout(set = 0, binding = kBindA4) uniform samplerBuffer a4_;
#define A_AT(index) texelFetch(a_, int(index)).x
#define A4_AT(index) texelFetch(a4_, int(index))
#else
#if defined(MATMUL_UNIFORM)
layout(set = 0, binding = kBindA, scalar) uniform A { float values[kUniformElements]; } a_;
layout(set = 0, binding = kBindA4, scalar) uniform A4 { vec4 values[kUniformElements / 4u]; } a4_;
#else
layout(set = 0, binding = kBindA, scalar) readonly restrict buffer A { float values[]; } a_;
layout(set = 0, binding = kBindA4, scalar) readonly restrict buffer A4 { vec4 values[]; } a4_;
#endif
#define A_AT(index) a_.values[index]
#define A4_AT(index) a4_.values[index]
#endif

#if defined(MATMUL_TEXEL)
layout(set = 0, binding = kBindB) uniform samplerBuffer b_;
layout(set = 0, binding = kBindB4) uniform samplerBuffer b4_;
#define B_AT(index) texelFetch(b_, int(index)).x
#define B4_AT(index) texelFetch(b4_, int(index))
#else
#if defined(MATMUL_UNIFORM_B)
layout(set = 0, binding = kBindB, scalar) uniform B { float values[kUniformElements]; } b_;
layout(set = 0, binding = kBindB4, scalar) uniform B4 { vec4 values[kUniformElements / 4u]; } b4_;
#else
layout(set = 0, binding = kBindB, scalar) readonly restrict buffer B { float values[]; } b_;
layout(set = 0, binding = kBindB4, scalar) readonly restrict buffer B4 { vec4 values[]; } b4_;
#endif
#define B_AT(index) b_.values[index]
#define B4_AT(index) b4_.values[index]
#endif

#endif
#endif
