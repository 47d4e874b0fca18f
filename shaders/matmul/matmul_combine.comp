// SPDX-License-Identifier: Apache-2.0
// matmul, after split-K: out = epilogue(sum over the splits, ascending, of a[split, batch, m, n]); without splits, the
// epilogue of zeros (k = 0). One invocation per output. Bindings, constants: yolk/internal/abi/matmul.h; a holds the partial
// sums, dense. Class T (P without splits). Loops: split_count iterations.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/matmul.h"
#include "yolk/exact/exact_math.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(push_constant, scalar) uniform PushConstants { Params params; };
layout(set = 0, binding = kBindA, scalar) readonly restrict buffer A { float values[]; } a_;
layout(set = 0, binding = kBindOut, scalar) writeonly restrict buffer Out { float values[]; } out_;
#include "matmul_epilogue.glsl"

void main() {
    uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    uint index = group * WORKGROUP_SIZE + gl_LocalInvocationID.x;
    uint count = params.batch * params.m * params.n;
    if (index >= count) return;
    uint column = index % params.n;
    uint row = index / params.n % params.m;
    uint batch = index / params.n / params.m;
    precise float sum = 0.0;
    for (uint split = 0u; split < params.split_count; ++split) sum = sum + a_.values[split * count + index];
    out_.values[out_base_of(batch) + row * params.out_stride + column] = finished(sum, batch, row, column);
}
