// SPDX-License-Identifier: Apache-2.0
// elementwise: out[i] = operation(first[i]) or operation(first[i], second[where(i)]) over [members, rows, columns].
// Bindings, constants: yolk/internal/abi/elementwise.h. No scratch; out may be the first operand, element for element.
// Work: one invocation computes LOADS_PER_INVOCATION elements, or with ELEMENTWISE_QUADS as many vectors of four, a
// workgroup's size apart. Vectors of four need a second operand that is as long as the first, or whose length is a
// multiple of four. Grid folded over x and y; no subgroup assumption, no shared memory.
// In place each element is read before it is written, by the one invocation that does both.
// Exactness: class P by the product rule; operations in yolk/exact/exact_operations.h. Everything moves as bits.
// Loops: LOADS_PER_INVOCATION iterations, in each one of 1 or 4: written as a loop so that drivers inline the operation
// once before they specialize it: with four calls in one module SwiftShader took ten times as long to make a pipeline.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/elementwise.h"
#include "yolk/exact/exact_operations.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecLoadsPerInvocation) const uint LOADS_PER_INVOCATION = 1;
layout(constant_id = kSpecOperation) const uint OPERATION = 0;
#ifdef ELEMENTWISE_BINARY
layout(constant_id = kSpecSecond) const uint SECOND = 0;
#endif

#ifdef ELEMENTWISE_LONG
#define UNARY(x) exact_long_unary_word(OPERATION, x)
#define BINARY(x, y) exact_long_binary_word(OPERATION, x, y)
#else
#define UNARY(x) exact_unary_word(OPERATION, x, params.scale, params.shift)
#define BINARY(x, y) exact_binary_word(OPERATION, x, y)
#endif

#ifdef ELEMENTWISE_QUADS
#define Words uvec4
#define COMPONENT(words, c) words[c]
const uint kWidth = 4u;
#else
#define Words uint
#define COMPONENT(words, c) words
const uint kWidth = 1u;
#endif

layout(set = 0, binding = kBindFirst, scalar) readonly buffer First { Words values[]; } first_;
#ifdef ELEMENTWISE_BINARY
layout(set = 0, binding = kBindSecond, scalar) readonly buffer Second { Words values[]; } second_;
#endif
layout(set = 0, binding = kBindOut, scalar) writeonly buffer Out { Words values[]; } out_;
layout(push_constant, scalar) uniform PushConstants { Params params; };

#ifdef ELEMENTWISE_BINARY
// Which element of the second operand goes with `element`.
uint second_of(uint element) {
    switch (SECOND) {
        case kSecondFull: return element;
        case kSecondShared: return element % params.member_size;
        case kSecondMemberRows: return (element / params.member_size) * params.columns + element % params.columns;
        default: return element % params.columns;
    }
}
#endif

void main() {
    uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    uint unit = group * WORKGROUP_SIZE * LOADS_PER_INVOCATION + gl_LocalInvocationID.x;
    for (uint load = 0u; load < LOADS_PER_INVOCATION; ++load) {
        uint element = params.first_element + (unit + load * WORKGROUP_SIZE) * kWidth;
        if (element >= params.element_count) return;
        Words x = first_.values[element / kWidth];
#ifdef ELEMENTWISE_BINARY
        Words y = second_.values[second_of(element) / kWidth];
        for (uint c = 0u; c < kWidth; ++c) {
            COMPONENT(x, c) = BINARY(COMPONENT(x, c), COMPONENT(y, c));
        }
#else
        for (uint c = 0u; c < kWidth; ++c) {
            COMPONENT(x, c) = UNARY(COMPONENT(x, c));
        }
#endif
        out_.values[element / kWidth] = x;
    }
}
