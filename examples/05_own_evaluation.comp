// SPDX-License-Identifier: Apache-2.0
// The evaluation kernel of 05_own_evaluation.cpp: how well a member's curve fits a wave. One invocation per member; the
// noise is drawn here from (seed, parameter, pair, time), as the update will draw it again.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "philox.glsl"

layout(local_size_x = 32) in;
layout(set = 0, binding = 0, scalar) readonly restrict buffer Curve { float curve[]; };
layout(set = 0, binding = 1, scalar) writeonly restrict buffer Returns { float returns[]; };
layout(set = 0, binding = 2, scalar) writeonly restrict buffer Evaluations { uint evaluations[]; };
layout(push_constant, scalar) uniform Params { uint seed_low, seed_high, time, members, points; float sigma; };

const uint kDomainVector = 2u;
const float kUnitNoise = 0.10846523;  // 1 / sqrt(85): the noise has variance 85

void main() {
    uint member = gl_GlobalInvocationID.x;
    if (member < 256u) evaluations[member] = member < min(members, 256u) ? (members - member + 255u) / 256u : 0u;
    if (member >= members) return;
    float side = (member & 1u) == 0u ? sigma : -sigma;
    float error = 0.0;
    for (uint i = 0u; i < points; i += 2u) {
        uvec4 block = philox4x32(uvec4(i / 8u, kDomainVector << 24, member / 2u, time), uvec2(seed_low, seed_high));
        vec2 noise = vec2(nibble_noise(block[i / 2u % 4u])) * kUnitNoise;
        vec2 here = vec2(curve[i], curve[i + 1u]) + side * noise;
        vec2 distance = here - sin(vec2(i, i + 1u) * (6.2831853 / float(points)));
        error += dot(distance, distance);
    }
    returns[member] = -error;  // higher is better
}
