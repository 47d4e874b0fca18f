// SPDX-License-Identifier: Apache-2.0
// perturbed_embedding: out[m, row, j] = W[id, j], then + sum over rho of t_rho B_j_rho, t_rho = +-scale A_id_rho, A and B
// the integers of domains A and B, regenerated here; the mean (member -1) gets W[id]. An id not below table_rows gives a
// row of zeros and is counted into status[0]. Layout, bindings, constants: yolk/internal/abi/perturbed_embedding.h. No scratch.
// Work: one invocation makes STEP_K neighbouring columns of a row of both sides of a pair, with one draw of B (and of A,
// where the ids are shared); at ranks that give it four columns or more it writes vectors of four where rows are whole
// ones. No subgroup assumption, no shared memory.
// Exactness: class P by the operand rule: W, the scale and t are zero or at least 2^-40, noise is an integer, so products
// and sums are multiples of 2^-63. rho ascending; rho past the last add zeros. The count is a sum of integers.
// Loops (after unrolling): RANK / 8 iterations, rounded up.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/perturbed_embedding.h"
#include "yolk/exact/exact_math.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecSharedIds) const uint SHARED_IDS = 0;
layout(constant_id = kSpecVectors) const uint VECTORS = 0;

layout(push_constant, scalar) uniform PushConstants { Params params; };
layout(set = 0, binding = kBindTable, scalar) readonly restrict buffer Table { float values[]; } table_;
layout(set = 0, binding = kBindIds, scalar) readonly restrict buffer Ids { uint values[]; } ids_;
// One buffer, element by element and four at a time.
layout(set = 0, binding = kBindOut, scalar) writeonly buffer Out { float values[]; } out_;
layout(set = 0, binding = kBindOut, scalar) writeonly buffer Out4 { vec4 values[]; } out4_;
layout(set = 0, binding = kBindStatus, scalar) restrict buffer Status { uint out_of_range; } status_;
#include "perturbed_linear.glsl"

#define IN_FOURS (VECTORS == 1u && STEP_K % 4u == 0u)
float sums[MEMBERS_OF_PAIR * STEP_K];  // [side, column]
uint ids[MEMBERS_OF_PAIR];
// The remainder is for compilers: where an invocation has fewer columns than four, what asks for more is left out.
uint sum_at(uint side, uint q) { return side * STEP_K + q % STEP_K; }

bool is_member(int m) { return m >= 0 && m < int(params.members); }

// W's row of each side. What is not there is read as something that is, and not stored.
void begin(int first_m, uint row, uint column) {
    [[unroll]] for (uint side = 0u; side < MEMBERS_OF_PAIR; ++side) {
        int m = first_m + int(side);
        bool exists = is_member(m);
        uint list = SHARED_IDS == 1u || !exists ? 0u : uint(m) * params.rows;
        uint id = ids_.values[list + row];
        ids[side] = id;
        if (exists && column == 0u && id >= params.table_rows) atomicAdd(status_.out_of_range, 1u);
        [[unroll]] for (uint q = 0u; q < STEP_K; ++q) {
            float value = 0.0;
            if (id < params.table_rows)
                value = table_.values[id * params.columns + min(column + q, params.columns - 1u)];
            sums[side * STEP_K + q] = exact_flush_operand(value);
        }
    }
}

void add_perturbation(uint column, int pair) {
    for (uint chunk = 0u; chunk * 8u < RANK; ++chunk) {
        draw_step(params.column_stream, column, chunk, pair);
        uvec4 words = uvec4(0u);
        [[unroll]] for (uint side = 0u; side < MEMBERS_OF_PAIR; ++side) {
            if (side == 0u || SHARED_IDS == 0u)
                words = noise_from(params.row_stream, ids[side] * RANK + chunk * 8u, pair);
            float scale = scale_of(int(MEMBERS_OF_PAIR) * pair + int(side));
            [[unroll]] for (uint rho = 0u; rho < CHUNK; ++rho) {
                precise float scaled = scale * noise_at(words, rho);
                float t = mix(0.0, exact_flush_operand(scaled), chunk * 8u + rho < RANK);
                [[unroll]] for (uint q = 0u; q < STEP_K; ++q) {
                    precise float product = t * step_noise[q * CHUNK + rho];
                    precise float next = sums[side * STEP_K + q] + product;
                    sums[side * STEP_K + q] = next;
                }
            }
        }
    }
}

void main() {
    uint linear = (gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x) * WORKGROUP_SIZE + gl_LocalInvocationID.x;
    uint groups = (params.columns + STEP_K - 1u) / STEP_K;
    uint column = linear % groups * STEP_K;
    uint row = linear / groups % params.rows;
    int pair = (params.first_member >> ANTITHETIC) + int(linear / groups / params.rows);
    int first_m = int(MEMBERS_OF_PAIR) * pair - params.first_member;  // of side 0, from the first member on; may be none, as may side 1
    if (first_m >= int(params.members)) return;
    begin(first_m, row, column);
    add_perturbation(column, pair);
    [[unroll]] for (uint side = 0u; side < MEMBERS_OF_PAIR; ++side) {
        int m = first_m + int(side);
        if (is_member(m)) {
            uint start = (uint(m) * params.rows + row) * params.columns + column;
            bool is_row = ids[side] < params.table_rows;
            if (IN_FOURS) {
                [[unroll]] for (uint q = 0u; q < STEP_K; q += 4u) {
                    vec4 four = vec4(sums[sum_at(side, q)], sums[sum_at(side, q + 1u)], sums[sum_at(side, q + 2u)],
                                     sums[sum_at(side, q + 3u)]);
                    if (column + q < params.columns)
                        out4_.values[(start + q) / 4u] = mix(vec4(0.0), four, bvec4(is_row));
                }
            } else {
                [[unroll]] for (uint q = 0u; q < STEP_K; ++q) {
                    float sum = mix(0.0, sums[side * STEP_K + q], is_row);
                    if (column + q < params.columns) out_.values[start + q] = sum;
                }
            }
        }
    }
}
