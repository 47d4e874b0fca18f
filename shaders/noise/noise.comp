// SPDX-License-Identifier: Apache-2.0
// noise: elements of a noise stream for a range of pairs, as integers or (NOISE_F32) times 1/sqrt(85).
// Layout: out[p * element_count + i], p below pair_count. Bindings, constants: yolk/internal/abi/noise.h. No scratch.
// Work: one invocation makes BLOCKS_PER_INVOCATION blocks of 8 elements; the grid is folded over x and y. No subgroup
// assumption, no shared memory.
// Exactness: class E (integers); the float form is class P: one multiplication of exact operands.
// Loops: BLOCKS_PER_INVOCATION iterations, in each one of 4.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/noise.h"
#include "philox.glsl"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecBlocksPerInvocation) const uint BLOCKS_PER_INVOCATION = 1;

#ifdef NOISE_F32
#define Element float
#else
#define Element int
#endif

layout(set = 0, binding = kBindOut, scalar) writeonly restrict buffer Out { Element values[]; } out_;
layout(push_constant, scalar) uniform PushConstants { Params params; };

Element to_element(int noise) {
#ifdef NOISE_F32
    precise float value = float(noise) * uintBitsToFloat(kNoiseScaleBits);
    return value;
#else
    return noise;
#endif
}

void store(uint base, uint index, int noise) {
    if (index < params.element_count) out_.values[base + index] = to_element(noise);
}

void main() {
    uint blocks_per_pair = (params.element_count + 7u) / 8u;
    uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    uint first = (group * WORKGROUP_SIZE + gl_LocalInvocationID.x) * BLOCKS_PER_INVOCATION;
    for (uint b = 0u; b < BLOCKS_PER_INVOCATION; ++b) {
        uint linear = first + b;
        uint pair = linear / blocks_per_pair;
        if (pair >= params.pair_count) return;
        uint block = linear % blocks_per_pair;
        uvec4 words = philox4x32(uvec4(block, params.parameter_and_domain, params.first_pair + pair, params.time),
                                 uvec2(params.seed_low, params.seed_high));
        uint base = pair * params.element_count;
        for (uint w = 0u; w < 4u; ++w) {
            ivec2 noise = nibble_noise(words[w]);
            store(base, block * 8u + 2u * w, noise.x);
            store(base, block * 8u + 2u * w + 1u, noise.y);
        }
    }
}
