// SPDX-License-Identifier: Apache-2.0
// perturbed_linear, second half: out[instance, o] = sum over k of x_k W_o_k, then + sum over rho of
// projection[instance, rho] A_o_rho, A the integers of domain A, regenerated here.
// Layout, bindings, constants: yolk/abi/perturbed_linear.h. Between the dispatches of a split chain the outputs hold the
// partial sums.
// Work: one invocation makes OUTPUTS_PER_INVOCATION neighbouring outputs of one instance and reads x once for all of
// them; consecutive invocations take consecutive outputs. No subgroup assumption, no shared memory.
// Exactness: class P by the operand rule. One chain per output, k ascending, then rho ascending; x, W and the projection
// are zero or at least 2^-40, so every sum is a multiple of 2^-103. Any configuration gives the same bits.
// Loops, one after the other: end_k - first_k iterations; in the last dispatch 8 of RANK, those of unused outputs empty.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/abi/perturbed_linear.h"
#include "yolk/exact/exact_math.h"
#include "perturbed_linear.glsl"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecRank) const uint RANK = 1;
layout(constant_id = kSpecOutputsPerInvocation) const uint OUTPUTS_PER_INVOCATION = 4;

layout(set = 0, binding = kBindWeights, scalar) readonly restrict buffer Weights { float values[]; } weights_;
layout(set = 0, binding = kBindInput, scalar) readonly restrict buffer Input { float values[]; } input_;
layout(set = 0, binding = kBindProjection, scalar) readonly restrict buffer Projection { float values[]; } projection_;
layout(set = 0, binding = kBindOutput, scalar) restrict buffer Output { float values[]; } output_;

// Written out, not looped over: constant indices keep the sums in registers, and a loop would spend a CPU driver's loop
// limit (docs/quirks.md). The condition is on a specialization constant, so drivers drop what is not used.
#define FOR_EACH_OUTPUT(DO) DO(0u) DO(1u) DO(2u) DO(3u) DO(4u) DO(5u) DO(6u) DO(7u)
#define IF_USED(j) if (j < OUTPUTS_PER_INVOCATION)

// Outputs past the last one compute the last one again and store nothing, so that no read is out of bounds.
#define BEGIN_OUTPUT(j)                                                                       \
    IF_USED(j) {                                                                              \
        uint o = min(first_output + j, params.output_size - 1u);                              \
        rows[j] = o * params.input_size;                                                      \
        sums[j] = params.first_k == 0u ? 0.0 : output_.values[output_start + o];              \
    }

#define ADD_PRODUCT(j)                                                                        \
    IF_USED(j) {                                                                              \
        precise float product = x * exact_flush_operand(weights_.values[rows[j] + k]);        \
        sums[j] = sums[j] + product;                                                          \
    }

#define ADD_PERTURBATION(j)                                                                   \
    IF_USED(j) {                                                                              \
        for (uint rho = 0u; rho < RANK; ++rho) {                                              \
            uint element = (first_output + j) * RANK + rho;                                   \
            if (element / 8u != block) {                                                      \
                block = element / 8u;                                                         \
                words = noise_words(kDomainA, block, member);                                 \
            }                                                                                 \
            ivec2 noise = nibble_noise(words[element % 8u / 2u]);                             \
            float a = float(element % 2u == 0u ? noise.x : noise.y);                          \
            precise float product = projection_.values[instance * RANK + rho] * a;            \
            sums[j] = sums[j] + product;                                                      \
        }                                                                                     \
    }

#define END_OUTPUT(j)                                                                         \
    IF_USED(j) {                                                                              \
        if (first_output + j < params.output_size) {                                          \
            output_.values[output_start + first_output + j] = sums[j];                        \
        }                                                                                     \
    }

void main() {
    uint tiles = (params.output_size + OUTPUTS_PER_INVOCATION - 1u) / OUTPUTS_PER_INVOCATION;
    uint linear = linear_invocation(WORKGROUP_SIZE);
    uint instance = linear / tiles;
    if (instance >= params.instances) return;
    uint first_output = linear % tiles * OUTPUTS_PER_INVOCATION;
    uint output_start = instance * params.output_size;
    uint input_start = input_start_of(instance);

    precise float sums[8];
    uint rows[8];
    FOR_EACH_OUTPUT(BEGIN_OUTPUT)
    for (uint k = params.first_k; k < params.end_k; ++k) {
        float x = exact_flush_operand(input_.values[input_start + k]);
        FOR_EACH_OUTPUT(ADD_PRODUCT)
    }
    if (params.end_k == params.input_size) {
        int member = member_of(instance);
        uint block = 0xFFFFFFFFu;  // no block has this index: elements are below 2^32
        uvec4 words = uvec4(0u);
        FOR_EACH_OUTPUT(ADD_PERTURBATION)
    }
    FOR_EACH_OUTPUT(END_OUTPUT)
}
