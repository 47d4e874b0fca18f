// SPDX-License-Identifier: Apache-2.0
// kronecker_status (KRONECKER_STATUS): one word per block from the two of its inverses, one block per invocation.
// kronecker_zero: zeros for the steps of blocks one of whose factors has no inverse, one element per invocation.
// Bindings, constants: yolk/internal/abi/kronecker_precondition.h. No loop, no shared memory, no subgroup assumption. Class E.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/kronecker_precondition.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;

layout(set = 0, binding = kBindInverses, scalar) readonly restrict buffer Inverses { uint inverses[]; };
layout(set = 0, binding = kBindStatus, scalar) writeonly restrict buffer Status { uint status[]; };
layout(set = 0, binding = kBindStep, scalar) writeonly restrict buffer Step { float step_[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };

uint status_of(uint block) {
    uint of_in = inverses[block] & 0xFFu;
    uint of_out = inverses[params.pair_stride + block] & 0xFFu;
    uint failed = (of_in > kLargestInverted ? kInFailed : 0u) | (of_out > kLargestInverted ? kOutFailed : 0u);
    return failed | (of_in << 8) | (of_out << 16);
}

void main() {
    uint i = (gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x) * WORKGROUP_SIZE + gl_LocalInvocationID.x;
#ifdef KRONECKER_STATUS
    if (i < params.blocks) status[i] = status_of(i);
#else
    uint block = i / params.block_elements;
    if (block >= params.blocks) return;
    if ((status_of(block) & (kInFailed | kOutFailed)) != 0u) step_[i] = 0.0;
#endif
}
