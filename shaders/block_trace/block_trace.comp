// SPDX-License-Identifier: Apache-2.0
// block_trace: out[b] = weight * trace(in[b]) for matrices in[blocks, n, n]. Bindings, constants:
// yolk/internal/abi/block_trace.h; the order of the sum, and how matrices are shared out: rows.glsl. Loops: ceil(n / 32)
// iterations. No scratch, no subgroup assumption; shared memory and barriers by group only. Class P by the product
// rule: diagonals and results below 2^-100 are zero, so sums are multiples of 2^-123.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/block_trace.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 32;

layout(set = 0, binding = kBindIn, scalar) readonly restrict buffer In { float in_[]; };
layout(set = 0, binding = kBindOut, scalar) writeonly restrict buffer Out { float out_[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };

#include "rows.glsl"

uint block_base = 0u;

float diagonal(uint k) { return exact_flush(in_[block_base + k * (params.n + 1u)]); }

void main() {
    ROWS_BEGIN(params.blocks, params.n)
    block_base = row * params.n * params.n;
    float trace;
    ROW_SUM(trace, diagonal)
    if (ROW_LEADER) {
        precise float weighted = trace * params.weight;
        out_[row] = exact_flush(weighted);
    }
}
