// SPDX-License-Identifier: Apache-2.0
// The baseline that block_inverse is timed against, and nothing else: one invocation per block, Gauss-Jordan on [A |
// I] without pivoting, all of it in buffers (A in the work, I in the output), every row and the full range of columns
// in each step. No status. Bindings: yolk/internal/abi/block_inverse.h. Pivots [first, end), for drivers that leave long loops;
// the first dispatch copies. Loops: n around n to copy; (end - first) around n, and n around n.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/block_inverse.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 256;
layout(set = 0, binding = kBindIn, scalar) readonly buffer In { float in_[]; };
layout(set = 0, binding = kBindOut, scalar) buffer Out { float out_[]; };
layout(set = 0, binding = kBindWork, scalar) buffer Work { float work[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };

void main() {
    uint block = (gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x) * WORKGROUP_SIZE + gl_LocalInvocationID.x;
    if (block >= params.blocks) return;
    uint n = params.n;
    uint base = block * n * n;
    if (params.first == 0u) {
        for (uint i = 0u; i < n; ++i) {
            for (uint j = 0u; j < n; ++j) {
                work[base + i * n + j] = in_[base + i * n + j];
                out_[base + i * n + j] = i == j ? 1.0 : 0.0;
            }
        }
    }
    for (uint k = params.first; k < params.end; ++k) {
        float inverse = 1.0 / work[base + k * n + k];
        for (uint j = 0u; j < n; ++j) {
            work[base + k * n + j] *= inverse;
            out_[base + k * n + j] *= inverse;
        }
        for (uint i = 0u; i < n; ++i) {
            if (i == k) continue;
            float factor = work[base + i * n + k];
            for (uint j = 0u; j < n; ++j) {
                work[base + i * n + j] -= factor * work[base + k * n + j];
                out_[base + i * n + j] -= factor * out_[base + k * n + j];
            }
        }
    }
}
