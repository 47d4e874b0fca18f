// SPDX-License-Identifier: Apache-2.0
// cumulative_sum, the last step where rows are more than one chunk: to each element the sum of the chunks before its own,
// out[o, i, j] = totals[o inner + j, chunk - 1] + out[o, i, j]. Bindings, constants: yolk/internal/abi/cumulative_sum.h.
// Work: one invocation per ELEMENTS elements, a workgroup's size apart; elements of first chunks are not touched. Grid
// folded over x and y; no subgroup assumption, no shared memory.
// Exactness: class P; both operands are sums of the kernel before, multiples of 2^-123.
// Loops: ELEMENTS iterations.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/cumulative_sum.h"
#include "yolk/exact/exact_elementwise.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecElements) const uint ELEMENTS = 1;

layout(set = 0, binding = kBindOut, scalar) restrict buffer Out { uint out_[]; };
layout(set = 0, binding = kBindTotals, scalar) readonly restrict buffer Totals { float totals_[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };

void main() {
    uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    uint later = params.columns - kChunk;  // elements of a row beyond its first chunk
    for (uint i = 0u; i < ELEMENTS; ++i) {
        uint unit = (group * ELEMENTS + i) * WORKGROUP_SIZE + gl_LocalInvocationID.x;
        if (unit >= params.count) return;
        uint lane = unit % params.inner;
        uint k = kChunk + unit / params.inner % later;
        uint outer = unit / params.inner / later;
        uint place = (outer * params.columns + k) * params.inner + lane;
        uint row = outer * params.inner + lane;
        precise float sum = totals_[row * params.chunks + k / kChunk - 1u] + uintBitsToFloat(out_[place]);
        out_[place] = exact_number_bits(sum, false);
    }
}
