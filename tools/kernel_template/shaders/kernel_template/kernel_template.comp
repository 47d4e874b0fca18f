// SPDX-License-Identifier: Apache-2.0
// kernel_template: out[i] = in[i]^2. Bindings, constants: yolk/internal/abi/kernel_template.h. No scratch.
// Work: one invocation computes ELEMENTS elements, a workgroup's size apart; the grid is folded over x and y. No subgroup
// assumption, no shared memory.
// Exactness: class P by the product rule (docs/adr/0002); a NaN becomes 0x7FC00000.
// Loops: ELEMENTS iterations.
// Replace: all of the above, and what main() computes.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/kernel_template.h"
#include "yolk/exact/exact_elementwise.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecElementsPerInvocation) const uint ELEMENTS = 1;

layout(push_constant, scalar) uniform PushConstants { Params params; };
layout(set = 0, binding = kBindIn, scalar) readonly restrict buffer In { uint in_[]; };
layout(set = 0, binding = kBindOut, scalar) writeonly restrict buffer Out { uint out_[]; };

void main() {
    uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    for (uint i = 0u; i < ELEMENTS; ++i) {
        uint element = (group * ELEMENTS + i) * WORKGROUP_SIZE + gl_LocalInvocationID.x;
        if (element >= params.count) return;
        uint x = in_[element];
        out_[element] = exact_product_word(x, x);
    }
}
