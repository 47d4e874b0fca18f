// SPDX-License-Identifier: Apache-2.0
// probe_storage16: 16-bit words read one by one. One invocation per case. Bindings and cases: yolk/internal/abi/probe.h. Class E.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_16bit_storage : require
#include "yolk/internal/abi/probe.h"

layout(local_size_x = 64) in;
layout(set = 0, binding = kBindCases, scalar) readonly restrict buffer Cases { uint16_t halves[]; };
layout(set = 0, binding = kBindResults, scalar) writeonly restrict buffer Results { uint results[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };

void main() {
    uint index = gl_GlobalInvocationID.x;
    if (index >= params.case_count) return;
    uint sum = 0u;
    for (uint i = 0u; i < kHalvesPerCase; ++i) sum += (2u * i + 1u) * uint(halves[index * kHalvesPerCase + i]);
    results[index] = sum;
}
