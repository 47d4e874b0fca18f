// SPDX-License-Identifier: Apache-2.0
// element_program: what programs of elementwise operations are made of. yolk/internal/shaders/element_module.hpp takes
// this module, writes another body for program_element and binds as many inputs as the program has; functions that the
// body does not call are left out. As it stands, it calls all of them. Bindings, constants:
// yolk/internal/abi/element_program.h. No scratch.
// Work: one invocation computes `loads` elements, or with ELEMENT_PROGRAM_QUADS as many vectors of four, a workgroup's
// size apart. Vectors of four need a last dimension that is a multiple of four. With ELEMENT_PROGRAM_TEXEL inputs are
// texel buffers, which lavapipe reads several times faster. Grid folded over x and y; no subgroup assumption, no shared
// memory.
// Exactness: class P; the functions are those that elementwise and where call (yolk/exact/exact_operations.h), from words to
// words, so that a body has no operation on floats of its own.
// Loops: `loads` iterations.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/element_program.h"
#include "yolk/exact/exact_elementwise.h"
#include "yolk/exact/exact_power.h"
#include "yolk/exact/exact_sine.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;

#ifdef ELEMENT_PROGRAM_QUADS
#define Words uvec4
#define COMPONENT(words, c) words[c]
const uint kWidth = 4u;
#else
#define Words uint
#define COMPONENT(words, c) words
const uint kWidth = 1u;
#endif

#ifdef ELEMENT_PROGRAM_TEXEL
layout(set = 0, binding = kBindIn) uniform samplerBuffer in_;
#ifdef ELEMENT_PROGRAM_QUADS
#define IN_AT(index) floatBitsToUint(texelFetch(in_, int(index)))
#else
#define IN_AT(index) floatBitsToUint(texelFetch(in_, int(index)).x)
#endif
#else
layout(set = 0, binding = kBindIn, scalar) readonly buffer In { Words values[]; } in_;
#define IN_AT(index) in_.values[index]
#endif
layout(set = 0, binding = kBindOut, scalar) writeonly buffer Out { Words values[]; } out_;
layout(push_constant, scalar) uniform PushConstants { Params params; };

uint program_copy(uint x) { return x; }
uint program_relu(uint x) { return exact_bits(exact_relu(exact_from_bits(x))); }
uint program_gelu(uint x) { return exact_bits(exact_gelu(exact_from_bits(x))); }
uint program_silu(uint x) { return exact_bits(exact_silu(exact_from_bits(x))); }
uint program_tanh(uint x) { return exact_bits(exact_tanh_or_nan(exact_from_bits(x))); }
uint program_sigmoid(uint x) { return exact_bits(exact_sigmoid(exact_from_bits(x))); }
uint program_exp(uint x) { return exact_exp_word(x); }
uint program_log(uint x) { return exact_log_word(x); }
uint program_negate(uint x) { return x ^ kExactSignMask; }
uint program_add(uint x, uint y) { return exact_sum_word(x, y); }
uint program_subtract(uint x, uint y) { return exact_difference_word(x, y); }
uint program_multiply(uint x, uint y) { return exact_product_word(x, y); }
uint program_maximum(uint x, uint y) { return exact_maximum_word(x, y); }
uint program_absolute(uint x) { return exact_absolute_word(x); }
uint program_sqrt(uint x) { return exact_sqrt_word(x); }
uint program_rsqrt(uint x) { return exact_rsqrt_word(x); }
uint program_sin(uint x) { return exact_sine_word(x, 0u); }
uint program_cos(uint x) { return exact_sine_word(x, 1u); }
uint program_floor(uint x) { return exact_floor_word(x); }
uint program_round(uint x) { return exact_round_word(x); }
uint program_minimum(uint x, uint y) { return exact_minimum_word(x, y); }
uint program_divide(uint x, uint y) { return exact_quotient_word(x, y); }
uint program_power(uint x, uint y) { return exact_power_word(x, y); }
uint program_less_than(uint x, uint y) { return exact_one_if(exact_is_less(x, y)); }
uint program_less_or_equal(uint x, uint y) { return exact_one_if(exact_either(exact_is_less(x, y), exact_is_equal(x, y))); }
uint program_greater_than(uint x, uint y) { return exact_one_if(exact_is_less(y, x)); }
uint program_greater_or_equal(uint x, uint y) { return exact_one_if(exact_either(exact_is_less(y, x), exact_is_equal(x, y))); }
uint program_equal_to(uint x, uint y) { return exact_one_if(exact_is_equal(x, y)); }
uint program_not_equal_to(uint x, uint y) { return exact_one_if(!exact_is_equal(x, y)); }
uint program_where(uint condition, uint first, uint second) {
    return (condition & 0x7FFFFFFFu) != 0u ? first : second;
}

uint program_quotient(uint n, uint factor, uint shift) {
    uint upper, lower;
    umulExtended(n << 2, factor, upper, lower);
    return upper >> (shift & 31u);
}

void program_element(uint element) {
    Words words = IN_AT(program_quotient(element, params.inner_factor[0], params.inner_shift[0]));
    uint x = COMPONENT(words, element & (kWidth - 1u));
    uint y = program_copy(program_relu(program_gelu(program_silu(program_tanh(program_sigmoid(x))))));
    y = program_add(x, program_exp(program_log(program_negate(program_absolute(program_floor(program_round(y)))))));
    y = program_subtract(x, program_sqrt(program_rsqrt(program_sin(program_cos(y)))));
    y = program_multiply(x, program_maximum(x, program_minimum(x, program_divide(x, program_power(x, y)))));
    y = program_less_than(x, program_less_or_equal(x, program_greater_than(x, program_greater_or_equal(x, y))));
    COMPONENT(words, element & (kWidth - 1u)) = program_where(x, program_equal_to(x, y), program_not_equal_to(x, y));
    out_.values[element / kWidth] = words;
}

void main() {
    uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    uint unit = group * WORKGROUP_SIZE * params.loads + gl_LocalInvocationID.x;
    for (uint load = 0u; load < params.loads; ++load) {
        uint element = (unit + load * WORKGROUP_SIZE) * kWidth;
        if (element >= params.element_count) return;
        program_element(element);
    }
}
