// SPDX-License-Identifier: Apache-2.0
// probe_loops: how many iterations a loop really makes. One invocation and one workgroup per case, so that no other invocation's loops count
// with its own. Bindings and cases: yolk/internal/abi/probe.h. Class E.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/probe.h"

layout(local_size_x = 1) in;
layout(set = 0, binding = kBindCases, scalar) readonly restrict buffer Cases { uvec4 cases[]; };
layout(set = 0, binding = kBindResults, scalar) writeonly restrict buffer Results { uint results[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };

uint probe_step(uint state) { return state * kStepMultiplier + kStepIncrement; }

void main() {
    uint index = gl_WorkGroupID.x;
    if (index >= params.case_count) return;
    uvec4 given = cases[index];
    uint state = given.w;
    if (given.x == kFlatLoop) {
        for (uint i = 0u; i < given.y; ++i) state = probe_step(state);
    } else {
        for (uint i = 0u; i < given.y; ++i) {
            for (uint j = 0u; j < given.z; ++j) state = probe_step(state);
        }
    }
    results[index] = state;
}
