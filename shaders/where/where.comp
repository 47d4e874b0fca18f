// SPDX-License-Identifier: Apache-2.0
// where: out[i] = first[i] where condition[i] is not 0, else second[i], over [members, rows, columns]; each operand may be
// repeated (yolk/internal/abi/where.h). No scratch.
// Work: one invocation writes LOADS_PER_INVOCATION elements, or with WHERE_QUADS as many vectors of four, a workgroup's
// size apart. Vectors of four need operands that are full, or whose length is a multiple of four. Grid folded over x and
// y; no subgroup assumption, no shared memory.
// Exactness: class E, bits are moved. A condition is 0 where its bits but the sign are, so denormal numbers and NaN are
// not.
// Loops: LOADS_PER_INVOCATION iterations, none inside.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/where.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecLoadsPerInvocation) const uint LOADS_PER_INVOCATION = 1;
layout(constant_id = kSpecCondition) const uint CONDITION = 0;
layout(constant_id = kSpecFirst) const uint FIRST = 0;
layout(constant_id = kSpecSecond) const uint SECOND = 0;

#ifdef WHERE_QUADS
#define Words uvec4
#define SELECT(condition, first, second) \
    mix(second, first, notEqual(condition & Words(0x7FFFFFFFu), Words(0u)))
const uint kWidth = 4u;
#else
#define Words uint
#define SELECT(condition, first, second) ((condition & 0x7FFFFFFFu) != 0u ? first : second)
const uint kWidth = 1u;
#endif

layout(set = 0, binding = kBindCondition, scalar) readonly restrict buffer Condition { Words values[]; } condition_;
layout(set = 0, binding = kBindFirst, scalar) readonly restrict buffer First { Words values[]; } first_;
layout(set = 0, binding = kBindSecond, scalar) readonly restrict buffer Second { Words values[]; } second_;
layout(set = 0, binding = kBindOut, scalar) writeonly restrict buffer Out { Words values[]; } out_;
layout(push_constant, scalar) uniform PushConstants { Params params; };

// Which element of an operand goes with `element`.
uint place_of(uint operand, uint element) {
    switch (operand) {
        case kOperandFull: return element;
        case kOperandShared: return element % params.member_size;
        case kOperandMemberRows: return (element / params.member_size) * params.columns + element % params.columns;
        default: return element % params.columns;
    }
}

void main() {
    uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    uint unit = group * WORKGROUP_SIZE * LOADS_PER_INVOCATION + gl_LocalInvocationID.x;
    for (uint load = 0u; load < LOADS_PER_INVOCATION; ++load) {
        uint element = params.first_element + (unit + load * WORKGROUP_SIZE) * kWidth;
        if (element >= params.element_count) return;
        Words condition = condition_.values[place_of(CONDITION, element) / kWidth];
        Words first = first_.values[place_of(FIRST, element) / kWidth];
        Words second = second_.values[place_of(SECOND, element) / kWidth];
        out_.values[element / kWidth] = SELECT(condition, first, second);
    }
}
