// SPDX-License-Identifier: Apache-2.0
// matmul_i8: out[z, i, j] = sum over k of a[z, i, k] b[z, j, k], four signed bytes at a time. Every invocation has
// TILE_M x TILE_N sums and reads what they need straight from the buffers; a workgroup is LANES_N invocations along n
// and the rest along m. With INTEGER_DOT by the dot-product instruction, else unpacked. Layout, bindings, constants:
// yolk/internal/abi/matmul_i8.h.
// Class E: at most 131,071 products of at most 2^14 in size, so no sum overflows; any order, any tile, the same bits.
// What lies behind the last k of a row is masked out of a; times zero, b's does not count.
// Loops (after unrolling), one after the other: `words` iterations, TILE_M * TILE_N.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#ifdef INTEGER_DOT
#extension GL_EXT_spirv_intrinsics : require
#endif
#include "yolk/internal/abi/matmul_i8.h"
#include "integer_dot.glsl"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecTileM) const uint TILE_M = 4;
layout(constant_id = kSpecTileN) const uint TILE_N = 4;
layout(constant_id = kSpecLanesN) const uint LANES_N = 8;

layout(push_constant, scalar) uniform PushConstants { Params params; };
layout(set = 0, binding = kBindA, scalar) readonly restrict buffer A { uint values[]; } a_;
layout(set = 0, binding = kBindB, scalar) readonly restrict buffer B { uint values[]; } b_;
layout(set = 0, binding = kBindOut, scalar) writeonly restrict buffer Out { int values[]; } out_;

const uint BLOCK_M = WORKGROUP_SIZE / LANES_N * TILE_M;
const uint BLOCK_N = LANES_N * TILE_N;

int sums[TILE_M * TILE_N];
uint a_starts[TILE_M];
uint b_starts[TILE_N];

#ifdef INTEGER_DOT
uint b_words[TILE_N];
#else
ivec4 b_bytes[TILE_N];
#endif

void load_b(uint word) {
    [[unroll]] for (uint j = 0u; j < TILE_N; ++j) {
#ifdef INTEGER_DOT
        b_words[j] = b_.values[b_starts[j] + word];
#else
        b_bytes[j] = signed_bytes(b_.values[b_starts[j] + word]);
#endif
    }
}

void add_row(uint i, uint a) {
#ifdef INTEGER_DOT
    [[unroll]] for (uint j = 0u; j < TILE_N; ++j) sums[i * TILE_N + j] += integer_dot(a, b_words[j]);
#else
    ivec4 bytes = signed_bytes(a);
    [[unroll]] for (uint j = 0u; j < TILE_N; ++j) {
        ivec4 products = bytes * b_bytes[j];
        sums[i * TILE_N + j] += (products.x + products.y) + (products.z + products.w);
    }
#endif
}

void main() {
    uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    uint blocks_n = (params.n + BLOCK_N - 1u) / BLOCK_N;
    uint blocks_m = (params.m + BLOCK_M - 1u) / BLOCK_M;
    uint batch = group / blocks_n / blocks_m;
    if (batch >= params.batch) return;
    uint row = group / blocks_n % blocks_m * BLOCK_M + gl_LocalInvocationID.x / LANES_N * TILE_M;
    // Columns of an invocation are LANES_N apart: neighbours store neighbours.
    uint column = group % blocks_n * BLOCK_N + gl_LocalInvocationID.x % LANES_N;
    // Rows and columns past the last one are computed as the last one and not stored.
    [[unroll]] for (uint i = 0u; i < TILE_M; ++i)
        a_starts[i] = params.a_offset + batch * params.a_batch_stride + min(row + i, params.m - 1u) * params.a_stride;
    [[unroll]] for (uint j = 0u; j < TILE_N; ++j)
        b_starts[j] = params.b_offset + batch * params.b_batch_stride +
                      min(column + j * LANES_N, params.n - 1u) * params.b_stride;
    [[unroll]] for (uint s = 0u; s < TILE_M * TILE_N; ++s) sums[s] = 0;
    for (uint word = 0u; word < params.words; ++word) {
        uint mask = mix(params.last_mask, ~0u, word + 1u < params.words);
        load_b(word);
        [[unroll]] for (uint i = 0u; i < TILE_M; ++i) add_row(i, a_.values[a_starts[i] + word] & mask);
    }
    // A loop: unrolled, its conditions are most of the module (docs/quirks.md).
    int finals[TILE_M * TILE_N];
    [[unroll]] for (uint s = 0u; s < TILE_M * TILE_N; ++s) finals[s] = sums[s];
    uint base = params.out_offset + batch * params.out_batch_stride;
    for (uint s = 0u; s < TILE_M * TILE_N; ++s) {
        uint i = row + s / TILE_N;
        uint j = column + s % TILE_N * LANES_N;
        if (i < params.m && j < params.n) out_.values[base + i * params.out_stride + j] = finals[s];
    }
}
