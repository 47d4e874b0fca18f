// SPDX-License-Identifier: Apache-2.0
// matmul on matrix units: fp16 operands, fp32 sums. A workgroup makes BLOCK_M x BLOCK_N sums, each of its subgroups
// TILE_M x TILE_N of them as fragments of SHAPE_M x SHAPE_N, straight from the buffers. Layout, bindings, constants:
// yolk/internal/abi/matmul.h. m, n and k are multiples of the block and of SHAPE_K, offsets and strides of 8 elements (a and b)
// and 4 (out): the plan sees to it. So operands are vectors of 16 bytes, and read as such where a fragment's neighbours
// are neighbours in memory.
// The epilogue is matmul_combine's. Class T: what matrix units do inside a fragment is theirs.
// Loops, one after the other: FRAGMENTS, k / SHAPE_K times about three times that, FRAGMENTS.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_NV_cooperative_matrix : require
#include "yolk/internal/abi/matmul.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecBlockM) const uint BLOCK_M = 32;
layout(constant_id = kSpecBlockN) const uint BLOCK_N = 32;
layout(constant_id = kSpecTileM) const uint TILE_M = 32;
layout(constant_id = kSpecTileN) const uint TILE_N = 32;
layout(constant_id = kSpecTransposeA) const uint TRANSPOSE_A = 0;
layout(constant_id = kSpecTransposeB) const uint TRANSPOSE_B = 0;
// lavapipe's shape: validation layers (1.4.309) judge types by defaults, whatever the specialization is.
layout(constant_id = kSpecShapeM) const uint M = 8;
layout(constant_id = kSpecShapeN) const uint N = 8;
layout(constant_id = kSpecShapeK) const uint K = 8;

layout(push_constant, scalar) uniform PushConstants { Params params; };
layout(set = 0, binding = kBindA4, scalar) readonly buffer A { uvec4 values[]; } a_;
layout(set = 0, binding = kBindB4, scalar) readonly buffer B { uvec4 values[]; } b_;
layout(set = 0, binding = kBindOut, scalar) writeonly buffer Out { float values[]; } out_;
#include "cooperative_matrix.glsl"
#include "matmul_bands.glsl"
#include "matmul_batch.glsl"

const uint FRAGMENTS_M = TILE_M / M;
const uint FRAGMENTS_N = TILE_N / N;

void main() {
    BlockPlace block = place_of_block(uvec2(params.m / BLOCK_M, params.n / BLOCK_N));
    uint batch = block.batch;
    if (batch >= params.batch) return;
    uint row = block.row + gl_SubgroupID / (BLOCK_N / TILE_N) * TILE_M;
    uint column = block.column + gl_SubgroupID % (BLOCK_N / TILE_N) * TILE_N;
    // In vectors, term by term: the compiler does not know that each is a multiple of one.
    uint a_base = a_base_of(batch) / PER_VECTOR;
    uint b_base = b_base_of(batch) / PER_VECTOR;
    uint a_stride = params.a_stride / PER_VECTOR;
    uint b_stride = params.b_stride / PER_VECTOR;
    MatrixA a[FRAGMENTS_M];
    MatrixB b[FRAGMENTS_N];
    MatrixSum sums[FRAGMENTS_M * FRAGMENTS_N];
    [[unroll]] for (uint s = 0u; s < FRAGMENTS_M * FRAGMENTS_N; ++s) sums[s] = MatrixSum(SUM(0));
    for (uint k = 0u; k < params.k; k += K) {
        [[unroll]] for (uint i = 0u; i < FRAGMENTS_M; ++i) {
            uint line = row + i * M;
            uint at = a_base + (TRANSPOSE_A == 1u ? k * a_stride + line / PER_VECTOR : line * a_stride + k / PER_VECTOR);
            LOAD(a[i], a_.values, at, a_stride, TRANSPOSE_A == 1u);
        }
        [[unroll]] for (uint j = 0u; j < FRAGMENTS_N; ++j) {
            uint line = column + j * N;
            uint at = b_base + (TRANSPOSE_B == 1u ? line * b_stride + k / PER_VECTOR : k * b_stride + line / PER_VECTOR);
            LOAD(b[j], b_.values, at, b_stride, TRANSPOSE_B == 1u);
        }
        [[unroll]] for (uint i = 0u; i < FRAGMENTS_M; ++i) {
            [[unroll]] for (uint j = 0u; j < FRAGMENTS_N; ++j)
                sums[i * FRAGMENTS_N + j] = MULTIPLY_ADD(a[i], b[j], sums[i * FRAGMENTS_N + j]);
        }
    }
    uint out_base = out_base_of(batch);
    [[unroll]] for (uint i = 0u; i < FRAGMENTS_M; ++i) {
        [[unroll]] for (uint j = 0u; j < FRAGMENTS_N; ++j) {
            uint at = out_base + (row + i * M) * params.out_stride + column + j * N;
            STORE_SUM(sums[i * FRAGMENTS_N + j], out_.values, at, params.out_stride);
        }
    }
}
