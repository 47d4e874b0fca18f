// SPDX-License-Identifier: Apache-2.0
// elementwise: what programs of operations on elements are made of. yolk/internal/shaders/element_module.hpp takes
// this module, writes another body for program_element and binds as many inputs as the program has; functions that the
// body does not call are left out. As it stands, it calls all of them. Bindings, constants:
// yolk/internal/abi/elementwise.h. No scratch.
// Work: one invocation computes `loads` elements, or with ELEMENTWISE_QUADS as many vectors of four, a workgroup's
// size apart. Vectors of four need a last dimension that is a multiple of four. With ELEMENTWISE_TEXEL inputs are
// texel buffers, which lavapipe reads several times faster. Grid folded over x and y; no subgroup assumption, no shared
// memory. The output may be an input: each element is read before it is written, by the one invocation that does both.
// Exactness: class P; the steps are functions from words to words (yolk/exact/exact_operations.h), so that a body has no
// operation on floats of its own.
// Loops: `loads` iterations.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/elementwise.h"
#include "yolk/exact/exact_operations.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;

#ifdef ELEMENTWISE_QUADS
#define Words uvec4
#define COMPONENT(words, c) words[c]
const uint kWidth = 4u;
#else
#define Words uint
#define COMPONENT(words, c) words
const uint kWidth = 1u;
#endif

#ifdef ELEMENTWISE_TEXEL
layout(set = 0, binding = kBindIn) uniform samplerBuffer in_;
#ifdef ELEMENTWISE_QUADS
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

uint program_quotient(uint n, uint factor, uint shift) {
    uint upper, lower;
    umulExtended(n << 2, factor, upper, lower);
    return upper >> (shift & 31u);
}

void program_element(uint element) {
    Words words = IN_AT(program_quotient(element, params.inner_factor[0], params.inner_shift[0]));
    uint x = COMPONENT(words, element & (kWidth - 1u));
    uint y = elementwise_copy(elementwise_relu(elementwise_gelu(elementwise_silu(x))));
    y = elementwise_tanh(elementwise_sigmoid(elementwise_exp(elementwise_log(y))));
    y = elementwise_negate(elementwise_absolute(elementwise_floor(elementwise_round(y))));
    y = elementwise_sqrt(elementwise_rsqrt(elementwise_sin(elementwise_cos(y))));
    y = elementwise_add(x, elementwise_subtract(x, elementwise_multiply(x, elementwise_maximum(x, y))));
    y = elementwise_minimum(x, elementwise_divide(x, elementwise_power(x, y)));
    y = elementwise_less_than(x, elementwise_less_or_equal(x, y));
    y = elementwise_greater_than(x, elementwise_greater_or_equal(x, y));
    y = elementwise_where(x, elementwise_equal_to(x, y), elementwise_not_equal_to(x, y));
    COMPONENT(words, element & (kWidth - 1u)) = y;
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
