// SPDX-License-Identifier: Apache-2.0
// The textbook's product of matrices: 16 x 16 invocations, each with one output, tiles of 16 x 16 in shared memory. The
// baseline of benchmarks; no plan takes it. Sizes in multiples of 16, no transposes, no batch, no epilogue. Bindings:
// yolk/internal/abi/matmul.h. Class T. Loops: k / 16 * 17.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/matmul.h"

layout(local_size_x = 16, local_size_y = 16) in;
layout(push_constant, scalar) uniform PushConstants { Params params; };
layout(set = 0, binding = kBindA, scalar) readonly restrict buffer A { float values[]; } a_;
layout(set = 0, binding = kBindB, scalar) readonly restrict buffer B { float values[]; } b_;
layout(set = 0, binding = kBindOut, scalar) writeonly restrict buffer Out { float values[]; } out_;
shared float a_tile[16][16];
shared float b_tile[16][16];

void main() {
    uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y;
    uint row = gl_WorkGroupID.y * 16u + y, column = gl_WorkGroupID.x * 16u + x;
    float sum = 0.0;
    for (uint k = 0u; k < params.k; k += 16u) {
        a_tile[y][x] = a_.values[row * params.a_stride + k + x];
        b_tile[y][x] = b_.values[(k + y) * params.b_stride + column];
        barrier();
        for (uint i = 0u; i < 16u; ++i) sum = fma(a_tile[y][i], b_tile[i][x], sum);
        barrier();
    }
    out_.values[row * params.out_stride + column] = sum;
}
