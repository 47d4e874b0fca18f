// SPDX-License-Identifier: Apache-2.0
// probe_integer_dot: four signed bytes times four, by the instruction (ADR 9). One invocation per case. Bindings and cases: yolk/internal/abi/probe.h.
// Class E.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_spirv_intrinsics : require
#define INTEGER_DOT 1
#include "yolk/internal/abi/probe.h"
#include "integer_dot.glsl"

layout(local_size_x = 64) in;
layout(set = 0, binding = kBindCases, scalar) readonly restrict buffer Cases { uvec4 cases[]; };
layout(set = 0, binding = kBindResults, scalar) writeonly restrict buffer Results { uint results[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };

void main() {
    uint index = gl_GlobalInvocationID.x;
    if (index >= params.case_count) return;
    uvec4 given = cases[index];
    results[index] = uint(int(given.z) + integer_dot(given.x, given.y));
}
