// SPDX-License-Identifier: Apache-2.0
// matmul with staging: a workgroup brings BLOCK_M x BLOCK_K of a and BLOCK_K x BLOCK_N of b into shared memory, then
// every invocation adds to its TILE_M x TILE_N sums in registers. Neighbouring invocations read neighbouring elements;
// what lies outside the matrices is staged as zero. Layout, bindings, constants: yolk/abi/matmul.h.
// Exactness: with MATMUL_EXACT class P by the operand rule, one ascending chain over k per output, whatever the tile (the
// zeros past the last k change no sum, which is never -0); else class T.
// Loops (after unrolling), one after the other: (end_k - first_k) / BLOCK_K iterations, TILE_M * TILE_N. Shared memory: 4 BLOCK_K (BLOCK_M + BLOCK_N + 2) bytes.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#ifdef MATMUL_STORAGE16
#extension GL_EXT_shader_16bit_storage : require
#endif
#include "yolk/abi/matmul.h"

layout(push_constant, scalar) uniform PushConstants { Params params; };
layout(set = 0, binding = kBindOut, scalar) restrict buffer Out { float values[]; } out_;
#include "matmul_common.glsl"
#include "matmul_operands.glsl"

vec4 sums[TILE_M * GROUPS_N];  // [row, group of four columns]
#include "matmul_output.glsl"

// One element of padding per step of k, so that a column of either is not all in one bank.
const uint A_STEP = BLOCK_M + 1u;
const uint B_STEP = BLOCK_N + 1u;
shared float a_staged[BLOCK_K * A_STEP];
shared float b_staged[BLOCK_K * B_STEP];

// What lies outside is read from the last line or step and replaced by zero: no branches, of which SwiftShader's compiler
// takes minutes. Vectors run along k, or across it.
void stage_a4(TilePlace place, uint a_base, uint k, uint end_k) {
    [[unroll]] for (uint t = 0u; t < BLOCK_M * BLOCK_K / 4u / WORKGROUP_SIZE; ++t) {
        uint e = (t * WORKGROUP_SIZE + gl_LocalInvocationID.x) * 4u;
        uint q = TRANSPOSE_A == 0u ? e % BLOCK_K : e / BLOCK_M;
        uint i = TRANSPOSE_A == 0u ? e / BLOCK_K : e % BLOCK_M;
        uint line = min(place.block_row + i, (params.m - 1u) & (TRANSPOSE_A == 0u ? ~0u : ~3u));
        uint step = min(k + q, (end_k - 1u) & (TRANSPOSE_A == 0u ? ~3u : ~0u));
        uint at = a_base + (TRANSPOSE_A == 0u ? line * params.a_stride + step : step * params.a_stride + line);
        bvec4 inside = bvec4(place.block_row + i < params.m && k + q < end_k);
        if (TRANSPOSE_A == 0u) inside = bvec4(inside.x, inside.x && k + q + 1u < end_k, inside.x && k + q + 2u < end_k, inside.x && k + q + 3u < end_k);
        vec4 four = mix(vec4(0.0), operand(A4_AT(at / 4u)), inside);
        uint apart = TRANSPOSE_A == 0u ? A_STEP : 1u;
        uint to = q * A_STEP + i;
        a_staged[to] = four.x;
        a_staged[to + apart] = four.y;
        a_staged[to + 2u * apart] = four.z;
        a_staged[to + 3u * apart] = four.w;
    }
}

void stage_a(TilePlace place, uint a_base, uint k, uint end_k) {
    [[unroll]] for (uint t = 0u; t < BLOCK_M * BLOCK_K / WORKGROUP_SIZE; ++t) {
        uint e = t * WORKGROUP_SIZE + gl_LocalInvocationID.x;
        uint q = TRANSPOSE_A == 0u ? e % BLOCK_K : e / BLOCK_M;
        uint i = TRANSPOSE_A == 0u ? e / BLOCK_K : e % BLOCK_M;
        uint line = min(place.block_row + i, params.m - 1u);
        uint step = min(k + q, end_k - 1u);
        uint at = a_base + (TRANSPOSE_A == 0u ? line * params.a_stride + step : step * params.a_stride + line);
        bool inside = place.block_row + i < params.m && k + q < end_k;
        a_staged[q * A_STEP + i] = mix(0.0, operand(A_AT(at)), inside);
    }
}

void stage_b4(TilePlace place, uint b_base, uint k, uint end_k) {
    [[unroll]] for (uint t = 0u; t < BLOCK_N * BLOCK_K / 4u / WORKGROUP_SIZE; ++t) {
        uint e = (t * WORKGROUP_SIZE + gl_LocalInvocationID.x) * 4u;
        uint q = TRANSPOSE_B == 1u ? e % BLOCK_K : e / BLOCK_N;
        uint i = TRANSPOSE_B == 1u ? e / BLOCK_K : e % BLOCK_N;
        uint line = min(place.block_column + i, (params.n - 1u) & (TRANSPOSE_B == 1u ? ~0u : ~3u));
        uint step = min(k + q, (end_k - 1u) & (TRANSPOSE_B == 1u ? ~3u : ~0u));
        uint at = b_base + (TRANSPOSE_B == 1u ? line * params.b_stride + step : step * params.b_stride + line);
        bvec4 inside = bvec4(place.block_column + i < params.n && k + q < end_k);
        if (TRANSPOSE_B == 1u) inside = bvec4(inside.x, inside.x && k + q + 1u < end_k, inside.x && k + q + 2u < end_k, inside.x && k + q + 3u < end_k);
        vec4 four = mix(vec4(0.0), operand(B4_AT(at / 4u)), inside);
        uint apart = TRANSPOSE_B == 1u ? B_STEP : 1u;
        uint to = q * B_STEP + i;
        b_staged[to] = four.x;
        b_staged[to + apart] = four.y;
        b_staged[to + 2u * apart] = four.z;
        b_staged[to + 3u * apart] = four.w;
    }
}

void stage_b(TilePlace place, uint b_base, uint k, uint end_k) {
    [[unroll]] for (uint t = 0u; t < BLOCK_N * BLOCK_K / WORKGROUP_SIZE; ++t) {
        uint e = t * WORKGROUP_SIZE + gl_LocalInvocationID.x;
        uint q = TRANSPOSE_B == 1u ? e % BLOCK_K : e / BLOCK_N;
        uint i = TRANSPOSE_B == 1u ? e / BLOCK_K : e % BLOCK_N;
        uint line = min(place.block_column + i, params.n - 1u);
        uint step = min(k + q, end_k - 1u);
        uint at = b_base + (TRANSPOSE_B == 1u ? line * params.b_stride + step : step * params.b_stride + line);
        bool inside = place.block_column + i < params.n && k + q < end_k;
        b_staged[q * B_STEP + i] = mix(0.0, operand(B_AT(at)), inside);
    }
}

void add_staged_step(TilePlace place, uint q) {
    float a[TILE_M];
    vec4 b[GROUPS_N];
    [[unroll]] for (uint i = 0u; i < TILE_M; ++i) a[i] = a_staged[q * A_STEP + place.lane_m * TILE_M + i];
    [[unroll]] for (uint j = 0u; j < GROUPS_N; ++j) {
        uint at = q * B_STEP - place.block_column;
        b[j] = vec4(b_staged[at + column_of(place, 4u * j)], b_staged[at + column_of(place, 4u * j + 1u)],
                    b_staged[at + column_of(place, 4u * j + 2u)], b_staged[at + column_of(place, 4u * j + 3u)]);
    }
    [[unroll]] for (uint i = 0u; i < TILE_M; ++i) {
        [[unroll]] for (uint j = 0u; j < GROUPS_N; ++j) {
#ifdef MATMUL_EXACT
            precise vec4 product = a[i] * b[j];
            precise vec4 next = sums[i * GROUPS_N + j] + product;
            sums[i * GROUPS_N + j] = next;
#else
            sums[i * GROUPS_N + j] = fma(vec4(a[i]), b[j], sums[i * GROUPS_N + j]);
#endif
        }
    }
}

void main() {
    TilePlace place = place_of_invocation(params.m, params.n, params.batch);
    if (place.split >= params.split_count) return;  // the same in the whole workgroup
    uint first_k = params.first_k + place.split * params.split_k;
    uint end_k = min(first_k + params.split_k, params.end_k);
    uint a_base = params.a_offset + place.batch * params.a_batch_stride;
    uint b_base = params.b_offset + place.batch * params.b_batch_stride;
    begin_sums(place);
    for (uint k = first_k; k < end_k; k += BLOCK_K) {
        if (VECTOR_A == 1u) stage_a4(place, a_base, k, end_k);
        else stage_a(place, a_base, k, end_k);
        if (VECTOR_B == 1u) stage_b4(place, b_base, k, end_k);
        else stage_b(place, b_base, k, end_k);
        barrier();
        [[unroll]] for (uint q = 0u; q < BLOCK_K; ++q) add_staged_step(place, q);
        barrier();
    }
    store_sums(place);
}
