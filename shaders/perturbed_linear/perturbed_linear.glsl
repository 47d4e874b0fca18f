// SPDX-License-Identifier: Apache-2.0
// What both halves of perturbed_linear share.
#ifndef YOLK_PERTURBED_LINEAR_GLSL
#define YOLK_PERTURBED_LINEAR_GLSL
#include "philox.glsl"

layout(push_constant, scalar) uniform PushConstants { Params params; };

const uint kDomainA = 0u << 24;
const uint kDomainB = 1u << 24;

uint linear_invocation(uint workgroup_size) {
    return (gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x) * workgroup_size + gl_LocalInvocationID.x;
}

int member_of(uint instance) { return params.first_member + int(instance / params.rows); }

uint input_start_of(uint instance) {
    uint row = params.input_is_shared != 0u ? instance % params.rows : instance;
    return row * params.input_size;
}

// +scale on side 0, -scale on side 1, 0 for the mean.
float scale_of(int member) {
    if (member < 0) return 0.0;
    return (member & 1) == 0 ? params.scale : -params.scale;
}

// Both sides of a pair draw the same block.
uvec4 noise_words(uint domain, uint block, int member) {
    return philox4x32(uvec4(block, params.parameter | domain, uint(member >> 1), params.time),
                      uvec2(params.seed_low, params.seed_high));
}

#endif
