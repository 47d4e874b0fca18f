// SPDX-License-Identifier: Apache-2.0
// matmul on matrix units, with several subgroups to a workgroup that share its operands in shared memory: operands of 16
// bits, fp32 sums; with MATRIX_I8 matmul_i8, int32 sums (class E: none overflows). A workgroup makes BLOCK_M x BLOCK_N sums, each of its subgroups TILE_M x TILE_N of them as fragments of
// SHAPE_M x SHAPE_N. Layout, bindings, constants: yolk/internal/abi/matmul.h, matmul_i8.h. m, n and k are multiples of the block,
// offsets and strides of 16 bytes, and a block's vectors of 16 bytes come out even on the invocations, whole
// lines at once: the plan sees to it. Two STAGES alternate: with one block each, a barrier parts what is staged from what
// is read; with two, what is read is the other one. The epilogue is matmul_combine's. Class T, as matmul_cooperative.
// Loops, one after the other: FRAGMENTS, the portions, k / BLOCK_K times (the portions twice, and BLOCK_K / SHAPE_K times
// about three times FRAGMENTS), FRAGMENTS.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_NV_cooperative_matrix : require
#ifdef MATRIX_I8
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_NV_integer_cooperative_matrix : require
#include "yolk/internal/abi/matmul_i8.h"
#else
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#include "yolk/internal/abi/matmul.h"
#endif

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecBlockM) const uint BLOCK_M = 32;
layout(constant_id = kSpecBlockN) const uint BLOCK_N = 32;
layout(constant_id = kSpecBlockK) const uint BLOCK_K = 32;
layout(constant_id = kSpecTileM) const uint TILE_M = 32;
layout(constant_id = kSpecTileN) const uint TILE_N = 32;
#ifdef MATRIX_I8
const uint TRANSPOSE_A = 0;
const uint TRANSPOSE_B = 1;
#else
layout(constant_id = kSpecTransposeA) const uint TRANSPOSE_A = 0;
layout(constant_id = kSpecTransposeB) const uint TRANSPOSE_B = 0;
#endif
layout(constant_id = kSpecStages) const uint STAGES = 1;
// lavapipe's shape: validation layers (1.4.309) judge types by defaults, whatever the specialization is.
layout(constant_id = kSpecShapeM) const uint M = 8;
layout(constant_id = kSpecShapeN) const uint N = 8;
layout(constant_id = kSpecShapeK) const uint K = 8;

layout(push_constant, scalar) uniform PushConstants { Params params; };
#include "cooperative_matrix.glsl"
#ifdef MATRIX_I8
layout(set = 0, binding = kBindA, scalar) readonly buffer A { VECTOR values[]; } a_;
layout(set = 0, binding = kBindB, scalar) readonly buffer B { VECTOR values[]; } b_;
const uint PER_STRIDE = PER_VECTOR / 4;  // what offsets and strides count, in a vector: words
#define DEPTH (4u * params.words)
uint a_base_of(uint batch) { return params.a_offset + batch * params.a_batch_stride; }
uint b_base_of(uint batch) { return params.b_offset + batch * params.b_batch_stride; }
uint out_base_of(uint batch) { return params.out_offset + batch * params.out_batch_stride; }
#else
layout(set = 0, binding = kBindA4, scalar) readonly buffer A { VECTOR values[]; } a_;
layout(set = 0, binding = kBindB4, scalar) readonly buffer B { VECTOR values[]; } b_;
const uint PER_STRIDE = PER_VECTOR;
#define DEPTH params.k
#include "matmul_batch.glsl"
#endif
layout(set = 0, binding = kBindOut, scalar) writeonly buffer Out { SUM values[]; } out_;
#include "matmul_bands.glsl"

// A line is what lies side by side in memory: of a stored [m, k] the k of a row. In vectors; staged lines are one vector
// apart, so that the subgroup's reads down the lines meet different banks.
const uint LINE_A = (TRANSPOSE_A == 1u ? BLOCK_M : BLOCK_K) / PER_VECTOR;
const uint LINE_B = (TRANSPOSE_B == 1u ? BLOCK_K : BLOCK_N) / PER_VECTOR;
const uint PITCH_A = LINE_A + 1u;
const uint PITCH_B = LINE_B + 1u;
const uint LINES_A = TRANSPOSE_A == 1u ? BLOCK_K : BLOCK_M;
const uint LINES_B = TRANSPOSE_B == 1u ? BLOCK_N : BLOCK_K;
// Vectors that an invocation stages, and the lines between two of them.
const uint PORTION_A = LINES_A * LINE_A / WORKGROUP_SIZE;
const uint PORTION_B = LINES_B * LINE_B / WORKGROUP_SIZE;
const uint APART_A = WORKGROUP_SIZE / LINE_A;
const uint APART_B = WORKGROUP_SIZE / LINE_B;
const uint FRAGMENTS_M = TILE_M / M;
const uint FRAGMENTS_N = TILE_N / N;

const uint STAGED_A = LINES_A * PITCH_A;
const uint STAGED_B = LINES_B * PITCH_B;
const uint ALL_STAGED_A = STAGES * STAGED_A;
const uint ALL_STAGED_B = STAGES * STAGED_B;
shared VECTOR staged_a[ALL_STAGED_A];
shared VECTOR staged_b[ALL_STAGED_B];

VECTOR next_a[PORTION_A];
VECTOR next_b[PORTION_B];

// Where an invocation's first vector of a block lies; `offset` as params have it, `stride` from line to line in vectors.
uint first_vector(uint offset, uint stride, uint line, uint lane) {
    return offset / PER_STRIDE + lane / line * stride + lane % line;
}

void fetch(uint a_at, uint b_at, uint a_apart, uint b_apart) {
    [[unroll]] for (uint p = 0u; p < PORTION_A; ++p) next_a[p] = a_.values[a_at + p * a_apart];
    [[unroll]] for (uint p = 0u; p < PORTION_B; ++p) next_b[p] = b_.values[b_at + p * b_apart];
}

void stage(uint a_place, uint b_place) {
    [[unroll]] for (uint p = 0u; p < PORTION_A; ++p) staged_a[a_place + p * APART_A * PITCH_A] = next_a[p];
    [[unroll]] for (uint p = 0u; p < PORTION_B; ++p) staged_b[b_place + p * APART_B * PITCH_B] = next_b[p];
}

void main() {
    BlockPlace block = place_of_block(uvec2(params.m / BLOCK_M, params.n / BLOCK_N));
    uint batch = block.batch;
    if (batch >= params.batch) return;  // the whole workgroup, so barriers meet all or none
    uint row = block.row;
    uint column = block.column;

    uint lane = gl_LocalInvocationIndex;
    uint a_stride = params.a_stride / PER_STRIDE;
    uint b_stride = params.b_stride / PER_STRIDE;
    uint a_at = first_vector(a_base_of(batch), a_stride, LINE_A, lane) +
                (TRANSPOSE_A == 1u ? row / PER_VECTOR : row * a_stride);
    uint b_at = first_vector(b_base_of(batch), b_stride, LINE_B, lane) +
                (TRANSPOSE_B == 1u ? column * b_stride : column / PER_VECTOR);
    uint a_step = TRANSPOSE_A == 1u ? BLOCK_K * a_stride : BLOCK_K / PER_VECTOR;
    uint b_step = TRANSPOSE_B == 1u ? BLOCK_K / PER_VECTOR : BLOCK_K * b_stride;
    uint a_place = first_vector(0u, PITCH_A, LINE_A, lane);
    uint b_place = first_vector(0u, PITCH_B, LINE_B, lane);
    uint tile_row = gl_SubgroupID / (BLOCK_N / TILE_N) * TILE_M;
    uint tile_column = gl_SubgroupID % (BLOCK_N / TILE_N) * TILE_N;
    MatrixA a[FRAGMENTS_M];
    // All are read before any is multiplied: by NVK's cycle count half of one at a time for a b stored [n, k], though a
    // third more for one stored [k, n]; RADV does not care.
    MatrixB b[FRAGMENTS_N];
    MatrixSum sums[FRAGMENTS_M * FRAGMENTS_N];
    [[unroll]] for (uint s = 0u; s < FRAGMENTS_M * FRAGMENTS_N; ++s) sums[s] = MatrixSum(SUM(0));
    fetch(a_at, b_at, APART_A * a_stride, APART_B * b_stride);
    uint stage_a = 0u;
    uint stage_b = 0u;
    for (uint k = 0u; k < DEPTH; k += BLOCK_K) {
        if (STAGES == 1u) barrier();  // the block before has been read
        stage(stage_a + a_place, stage_b + b_place);
        barrier();
        a_at += a_step;
        b_at += b_step;
        if (k + BLOCK_K < DEPTH) fetch(a_at, b_at, APART_A * a_stride, APART_B * b_stride);
        [[unroll]] for (uint q = 0u; q < BLOCK_K; q += K) {
            [[unroll]] for (uint i = 0u; i < FRAGMENTS_M; ++i) {
                uint line = tile_row + i * M;
                uint at = stage_a + (TRANSPOSE_A == 1u ? q * PITCH_A + line / PER_VECTOR : line * PITCH_A + q / PER_VECTOR);
                LOAD(a[i], staged_a, at, PITCH_A, TRANSPOSE_A == 1u);
            }
            [[unroll]] for (uint j = 0u; j < FRAGMENTS_N; ++j) {
                uint line = tile_column + j * N;
                uint at = stage_b + (TRANSPOSE_B == 1u ? line * PITCH_B + q / PER_VECTOR : q * PITCH_B + line / PER_VECTOR);
                LOAD(b[j], staged_b, at, PITCH_B, TRANSPOSE_B == 1u);
            }
            [[unroll]] for (uint i = 0u; i < FRAGMENTS_M; ++i) {
                [[unroll]] for (uint j = 0u; j < FRAGMENTS_N; ++j)
                    sums[i * FRAGMENTS_N + j] = MULTIPLY_ADD(a[i], b[j], sums[i * FRAGMENTS_N + j]);
            }
        }
        if (STAGES == 2u) {
            stage_a = STAGED_A - stage_a;
            stage_b = STAGED_B - stage_b;
        }
    }
    uint out_base = out_base_of(batch);
    [[unroll]] for (uint i = 0u; i < FRAGMENTS_M; ++i) {
        [[unroll]] for (uint j = 0u; j < FRAGMENTS_N; ++j) {
            uint at = out_base + (row + tile_row + i * M) * params.out_stride + column + tile_column + j * N;
            STORE_SUM(sums[i * FRAGMENTS_N + j], out_.values, at, params.out_stride);
        }
    }
}
