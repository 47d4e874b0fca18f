// SPDX-License-Identifier: Apache-2.0
// perturbed_linear, first half: projection[instance, rho] = (+-scale) * sum over k of x_k B_k_rho, B the integers of
// domain B, regenerated here. The mean (member -1) gets zeros.
// Layout, bindings, constants: yolk/abi/perturbed_linear.h. Between the dispatches of a split chain the projection holds
// the unscaled partial sums.
// Work: one invocation per instance walks the blocks of B, which lie row by row, so it makes none twice. No subgroup
// assumption, no shared memory.
// Exactness: class P by the operand rule. x is zero or at least 2^-40, so each sum is a multiple of 2^-63 and its product
// with the scale zero or at least 2^-103; the projection is an operand of the second half and flushed as one.
// Loops, one after the other: RANK iterations, (end_k - first_k) * RANK / 8 (rounded up), RANK.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/abi/perturbed_linear.h"
#include "yolk/exact/exact_math.h"
#include "perturbed_linear.glsl"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecRank) const uint RANK = 1;

layout(set = 0, binding = kBindInput, scalar) readonly restrict buffer Input { float values[]; } input_;
layout(set = 0, binding = kBindProjection, scalar) restrict buffer Projection { float values[]; } projection_;

// The next of the elements k * RANK + rho in ascending order; control flow is the same in all invocations of a
// dispatch.
#define ADD_ELEMENT(noise)                                                            \
    if (k < params.end_k) {                                                           \
        if (rho == 0u) x = exact_flush_operand(input_.values[input_start + k]);       \
        precise float product = x * float(noise);                                     \
        sums[rho] = sums[rho] + product;                                              \
        rho = rho + 1u == RANK ? 0u : rho + 1u;                                       \
        k = rho == 0u ? k + 1u : k;                                                   \
    }

void main() {
    uint instance = linear_invocation(WORKGROUP_SIZE);
    if (instance >= params.instances) return;
    int member = member_of(instance);
    uint input_start = input_start_of(instance);
    uint base = instance * RANK;

    precise float sums[RANK];
    for (uint i = 0u; i < RANK; ++i) sums[i] = params.first_k == 0u ? 0.0 : projection_.values[base + i];
    float x = 0.0;
    uint k = params.first_k;
    uint rho = 0u;
    for (uint block = params.first_k * RANK / 8u; k < params.end_k; ++block) {
        uvec4 words = noise_words(kDomainB, block, member);
        ivec2 n0 = nibble_noise(words.x), n1 = nibble_noise(words.y);
        ivec2 n2 = nibble_noise(words.z), n3 = nibble_noise(words.w);
        ADD_ELEMENT(n0.x) ADD_ELEMENT(n0.y) ADD_ELEMENT(n1.x) ADD_ELEMENT(n1.y)
        ADD_ELEMENT(n2.x) ADD_ELEMENT(n2.y) ADD_ELEMENT(n3.x) ADD_ELEMENT(n3.y)
    }

    bool finished = params.end_k == params.input_size;
    float scale = scale_of(member);
    for (uint i = 0u; i < RANK; ++i) {
        precise float scaled = sums[i] * scale;
        projection_.values[base + i] = finished ? exact_flush_operand(scaled) : sums[i];
    }
}
