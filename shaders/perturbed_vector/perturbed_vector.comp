// SPDX-License-Identifier: Apache-2.0
// perturbed_vector: out[m, i] = v[i] +- scale * noise[pair, i], the integers of the stream, regenerated here; the mean
// (member -1) and frozen vectors get v. Layout, bindings, constants: yolk/internal/abi/perturbed_vector.h. No scratch.
// Work: one invocation makes eight elements of both sides of a pair from one block of noise. No subgroup assumption, no
// shared memory.
// Exactness: class P by the operand rule: v and the scale are zero or at least 2^-40, noise is an integer, so sums are
// multiples of 2^-63. Loops: 2 iterations of 8.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/perturbed_vector.h"
#include "yolk/exact/exact_math.h"
#include "philox.glsl"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecFrozen) const uint FROZEN = 0;
layout(constant_id = kSpecAntithetic) const uint ANTITHETIC = 1;

const int MEMBERS_OF_PAIR = 1 + int(ANTITHETIC);  // without antithetic sampling a member is its own pair

layout(push_constant, scalar) uniform PushConstants { Params params; };
layout(set = 0, binding = kBindVector, scalar) readonly restrict buffer Vector { float values[]; } vector_;
layout(set = 0, binding = kBindOut, scalar) writeonly restrict buffer Out { float values[]; } out_;

void main() {
    uint linear = (gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x) * WORKGROUP_SIZE + gl_LocalInvocationID.x;
    uint blocks = (params.element_count + 7u) / 8u;
    uint block = linear % blocks;
    int pair = (params.first_member >> ANTITHETIC) + int(linear / blocks);
    int first_m = MEMBERS_OF_PAIR * pair - params.first_member;
    if (first_m >= int(params.members)) return;
    uvec4 words = uvec4(0u);
    if (FROZEN == 0u) {
        words = philox4x32(uvec4(block, params.stream, uint(pair), params.time),
                           uvec2(params.seed_low, params.seed_high));
    }
    for (int side = 0; side < MEMBERS_OF_PAIR; ++side) {
        int m = first_m + side;
        if (m < 0 || m >= int(params.members)) continue;
        float scale = params.scale * float(1 - 2 * side);
        if (FROZEN == 1u || pair < 0) scale = 0.0;
        for (uint e = 0u; e < 8u; ++e) {
            uint i = block * 8u + e;
            if (i >= params.element_count) continue;
            ivec2 noise = nibble_noise(words[e / 2u]);
            precise float product = scale * float(e % 2u == 0u ? noise.x : noise.y);
            precise float sum = exact_flush_operand(vector_.values[i]) + product;
            out_.values[uint(m) * params.element_count + i] = sum;
        }
    }
}
