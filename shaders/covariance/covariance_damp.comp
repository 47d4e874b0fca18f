// SPDX-License-Identifier: Apache-2.0
// covariance_damp: damped = covariance, with the block's shift added to the diagonal; one element per invocation.
// Bindings, constants: yolk/internal/abi/covariance.h. No loop, no shared memory, no subgroup assumption. Class P: sums of what
// is zero or at least 2^-123.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/covariance.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecRelative) const uint RELATIVE = 0;

layout(set = 0, binding = kBindCovariance, scalar) readonly restrict buffer Covariance { float covariance[]; };
layout(set = 0, binding = kBindShift, scalar) readonly restrict buffer Shift { float shifts[]; };
layout(set = 0, binding = kBindDamped, scalar) writeonly restrict buffer Damped { float damped[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };

void main() {
    uint i = (gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x) * WORKGROUP_SIZE + gl_LocalInvocationID.x;
    if (i >= params.element_count) return;
    float value = covariance[i];
    uint row = i / params.n;
    if (row % params.n == i % params.n) {
        float shift = params.shift;
        if (RELATIVE == 1u) shift = shifts[row / params.n];
        precise float shifted = value + shift;
        value = shifted;
    }
    damped[i] = value;
}
