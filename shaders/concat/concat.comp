// SPDX-License-Identifier: Apache-2.0
// concat: target[r * target_stride + target_first + j] = source[(r % source_runs) * source_stride + source_first + j],
// r below run_count, j below run_length; joins one part to a whole, or splits it off. Bindings, constants:
// yolk/internal/abi/concat.h. No scratch.
// Work: one invocation copies LOADS_PER_INVOCATION elements (CONCAT_QUADS: vectors of four), a workgroup's size apart;
// grid folded over x and y. No subgroup assumption, no shared memory.
// Exactness: class E, bits are moved.
// Loops: LOADS_PER_INVOCATION iterations, none inside.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/concat.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecLoadsPerInvocation) const uint LOADS_PER_INVOCATION = 1;

#ifdef CONCAT_QUADS
#define Words uvec4
#else
#define Words uint
#endif

layout(set = 0, binding = kBindSource, scalar) readonly restrict buffer Source { Words values[]; } source_;
layout(set = 0, binding = kBindTarget, scalar) writeonly restrict buffer Target { Words values[]; } target_;
layout(push_constant, scalar) uniform PushConstants { Params params; };

void main() {
    uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    uint first = group * WORKGROUP_SIZE * LOADS_PER_INVOCATION + gl_LocalInvocationID.x;
    for (uint load = 0u; load < LOADS_PER_INVOCATION; ++load) {
        uint unit = first + load * WORKGROUP_SIZE;
        uint run = unit / params.run_length;
        if (run >= params.run_count) return;
        uint within = unit % params.run_length;
        target_.values[run * params.target_stride + params.target_first + within] =
            source_.values[run % params.source_runs * params.source_stride + params.source_first + within];
    }
}
