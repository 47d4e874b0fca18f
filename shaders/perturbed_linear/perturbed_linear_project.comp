// SPDX-License-Identifier: Apache-2.0
// perturbed_linear, first half: projection[instance, rho] = (+-scale) * sum over k of x_k B_k_rho, B the integers of
// the stream of k, regenerated here. The mean (member -1) gets zeros. Layout, bindings, constants:
// yolk/internal/abi/perturbed_linear.h. Between the dispatches of a split chain the projection holds the unscaled partial sums.
// Work: one invocation serves ROWS rows of both sides of a pair, and eight rho (or all, if fewer), with one draw; where
// the input is shared both sides have the same sums. No subgroup assumption, no shared memory.
// Exactness: class P by the operand rule. x is zero or at least 2^-40, so each sum is a multiple of 2^-63 and its product
// with the scale zero or at least 2^-103; the projection is an operand of the second half and flushed as one. Zeros past
// the last k change no sum, which is never -0.
// Loops (after unrolling): (end_k - first_k) / STEP_K iterations, rounded up.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#ifdef MATMUL_STORAGE16
#extension GL_EXT_shader_16bit_storage : require
#endif
#include "yolk/internal/abi/perturbed_linear.h"
#include "yolk/exact/exact_math.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecProjectionRows) const uint ROWS = 1;
layout(constant_id = kSpecVectorA) const uint VECTOR_A = 0;
layout(constant_id = kSpecWholeK) const uint WHOLE_K = 0;
layout(constant_id = kSpecInputIsShared) const uint INPUT_IS_SHARED = 0;

layout(push_constant, scalar) uniform PushConstants { Params params; };
layout(set = 0, binding = kBindProjection, scalar) restrict buffer Projection { float values[]; } projection_;
#include "matmul_operands.glsl"
#include "perturbed_linear.glsl"

const uint SIDES = INPUT_IS_SHARED == 1u ? 1u : MEMBERS_OF_PAIR;  // that have sums of their own
const uint CHUNKS = (RANK + 7u) / 8u;

float sums[SIDES * ROWS * CHUNK];  // [side, row, rho]
float x[STEP_K];

void load_step(uint start, uint k) {
    if (VECTOR_A == 1u && STEP_K >= 4u) {
        [[unroll]] for (uint h = 0u; h < STEP_K / 4u; ++h) {
            vec4 four = A4_AT((start + k) / 4u + h);
            [[unroll]] for (uint c = 0u; c < 4u; ++c) x[4u * h + c] = exact_flush_operand(four[c]);
        }
    } else {
        [[unroll]] for (uint q = 0u; q < STEP_K; ++q) {
            uint at = WHOLE_K == 1u ? k + q : min(k + q, params.end_k - 1u);
            float value = exact_flush_operand(A_AT(start + at));
            x[q] = mix(0.0, value, WHOLE_K == 1u || k + q < params.end_k);
        }
    }
}

bool is_member(int m) { return m >= 0 && m < int(params.members); }

void main() {
    uint linear = (gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x) * WORKGROUP_SIZE + gl_LocalInvocationID.x;
    uint row_groups = (params.rows + ROWS - 1u) / ROWS;
    uint chunk = linear % CHUNKS;
    uint first_row = linear / CHUNKS % row_groups * ROWS;
    int pair = (params.first_member >> ANTITHETIC) + int(linear / CHUNKS / row_groups);
    int first_m = int(MEMBERS_OF_PAIR) * pair - params.first_member;  // of side 0, from the first member on; may be none, as may side 1
    if (first_m >= int(params.members)) return;

    // What is not there is computed as something that is, and not stored.
    uint starts[SIDES * ROWS];
    [[unroll]] for (uint i = 0u; i < SIDES * ROWS; ++i) {
        int m = first_m + int(i / ROWS);
        if (!is_member(m)) m = is_member(first_m) ? first_m : first_m + 1;
        uint row = min(first_row + i % ROWS, params.rows - 1u);
        uint instance = uint(m) * params.rows + row;
        starts[i] = (INPUT_IS_SHARED == 1u ? row : instance) * params.k;
        [[unroll]] for (uint rho = 0u; rho < CHUNK; ++rho) {
            uint at = min(chunk * 8u + rho, RANK - 1u);
            sums[i * CHUNK + rho] = params.first_k == 0u ? 0.0 : projection_.values[instance * RANK + at];
        }
    }
    for (uint k = params.first_k; k < params.end_k; k += STEP_K) {
        draw_step(params.projection_stream, k, chunk, pair);
        [[unroll]] for (uint i = 0u; i < SIDES * ROWS; ++i) {
            load_step(starts[i], k);
            [[unroll]] for (uint q = 0u; q < STEP_K; ++q) {
                [[unroll]] for (uint rho = 0u; rho < CHUNK; ++rho) {
                    precise float product = x[q] * step_noise[q * CHUNK + rho];
                    precise float next = sums[i * CHUNK + rho] + product;
                    sums[i * CHUNK + rho] = next;
                }
            }
        }
    }
    bool finished = params.end_k == params.k;
    [[unroll]] for (uint i = 0u; i < MEMBERS_OF_PAIR * ROWS; ++i) {
        int m = first_m + int(i / ROWS);
        uint row = first_row + i % ROWS;
        if (is_member(m) && row < params.rows) {
            float scale = scale_of(params.first_member + m);
            uint base = (uint(m) * params.rows + row) * RANK + chunk * 8u;
            [[unroll]] for (uint rho = 0u; rho < CHUNK; ++rho) {
                float sum = sums[i % (SIDES * ROWS) * CHUNK + rho];
                precise float scaled = sum * scale;
                float stored = mix(sum, exact_flush_operand(scaled), finished);
                if (chunk * 8u + rho < RANK) projection_.values[base + rho] = stored;
            }
        }
    }
}
