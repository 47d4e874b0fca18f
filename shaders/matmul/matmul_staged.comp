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

const uint WIDTH_A = VECTOR_A == 1u ? 4u : 1u;
const uint WIDTH_B = VECTOR_B == 1u ? 4u : 1u;

// What an invocation stages at once: `width` elements of an operand, one read, along k or across it.
struct StagedElements {
    uint from;   // the first of them, behind the matrix's base
    uint to;     // its place in shared memory
    uint apart;  // from there to the next one's
    uint steps;  // from the first one to the end of k; none where the line is outside
};

// A line is a row of a or a column of b; the block has `block` of them, from `first_line` on. What lies outside is read
// from the last line or step and replaced by zero: no branches, of which SwiftShader's compiler takes minutes.
StagedElements staged_elements(uint t, uint width, bool along_k, uint block, uint first_line, uint lines, uint stride,
                               uint k, uint end_k) {
    uint e = (t * WORKGROUP_SIZE + gl_LocalInvocationID.x) * width;
    uint q = along_k ? e % BLOCK_K : e / block;
    uint i = along_k ? e / BLOCK_K : e % block;
    uint whole = ~(width - 1u);
    uint line = min(first_line + i, (lines - 1u) & (along_k ? ~0u : whole));
    uint step = min(k + q, (end_k - 1u) & (along_k ? whole : ~0u));
    uint steps = end_k - min(k + q, end_k);
    return StagedElements(along_k ? line * stride + step : step * stride + line, q * (block + 1u) + i,
                          along_k ? block + 1u : 1u, first_line + i < lines ? steps : 0u);
}

void stage_a(TilePlace place, uint base, uint k, uint end_k) {
    [[unroll]] for (uint t = 0u; t < BLOCK_M * BLOCK_K / WIDTH_A / WORKGROUP_SIZE; ++t) {
        StagedElements those = staged_elements(t, WIDTH_A, TRANSPOSE_A == 0u, BLOCK_M, place.block_row, params.m,
                                               params.a_stride, k, end_k);
        uint at = base + those.from;
        vec4 four = VECTOR_A == 1u ? operand(A4_AT(at / 4u)) : vec4(operand(A_AT(at)));
        [[unroll]] for (uint c = 0u; c < WIDTH_A; ++c)
            a_staged[those.to + c * those.apart] = mix(0.0, four[c], (TRANSPOSE_A == 0u ? c : 0u) < those.steps);
    }
}

void stage_b(TilePlace place, uint base, uint k, uint end_k) {
    [[unroll]] for (uint t = 0u; t < BLOCK_N * BLOCK_K / WIDTH_B / WORKGROUP_SIZE; ++t) {
        StagedElements those = staged_elements(t, WIDTH_B, TRANSPOSE_B == 1u, BLOCK_N, place.block_column, params.n,
                                               params.b_stride, k, end_k);
        uint at = base + those.from;
        vec4 four = VECTOR_B == 1u ? operand(B4_AT(at / 4u)) : vec4(operand(B_AT(at)));
        [[unroll]] for (uint c = 0u; c < WIDTH_B; ++c)
            b_staged[those.to + c * those.apart] = mix(0.0, four[c], (TRANSPOSE_B == 1u ? c : 0u) < those.steps);
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
        stage_a(place, a_base, k, end_k);
        stage_b(place, b_base, k, end_k);
        barrier();
        [[unroll]] for (uint q = 0u; q < BLOCK_K; ++q) add_staged_step(place, q);
        barrier();
    }
    store_sums(place);
}
