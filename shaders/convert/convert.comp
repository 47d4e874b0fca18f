// SPDX-License-Identifier: Apache-2.0
// convert: 16-bit floats to fp32, with CONVERT_NARROW the other way. One item is a word of two elements; an invocation's
// items are a workgroup's size apart. Conversions: yolk/exact/exact_half.h. Bindings, constants: yolk/internal/abi/convert.h.
// Class E: integer arithmetic on bit patterns. Loops: WORDS iterations.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/convert.h"
#include "yolk/exact/exact_half.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecWordsPerInvocation) const uint WORDS = 1;
layout(constant_id = kSpecFormat) const uint FORMAT = kFormatF16;

layout(push_constant, scalar) uniform PushConstants { Params params; };
layout(set = 0, binding = kBindIn, scalar) readonly restrict buffer In { uint in_[]; };
layout(set = 0, binding = kBindOut, scalar) writeonly restrict buffer Out { uint out_[]; };

uint widened(uint half_bits) {
    if (FORMAT == kFormatF16) return exact_f16_to_f32(half_bits);
    return exact_bf16_to_f32(half_bits);
}

uint narrowed(uint bits) {
    if (FORMAT == kFormatF16) return exact_f32_to_f16(bits);
    return exact_f32_to_bf16(bits);
}

void main() {
    uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    uint words = (params.count + 1u) / 2u;
    for (uint i = 0u; i < WORDS; ++i) {
        uint word = (group * WORDS + i) * WORKGROUP_SIZE + gl_LocalInvocationID.x;
        if (word >= words) return;
        bool has_second = 2u * word + 1u < params.count;
#ifdef CONVERT_NARROW
        uint first = narrowed(in_[2u * word]);
        uint second = 0u;
        if (has_second) second = narrowed(in_[2u * word + 1u]);
        out_[word] = first | (second << 16);
#else
        uint both = in_[word];
        out_[2u * word] = widened(both & 0xFFFFu);
        if (has_second) out_[2u * word + 1u] = widened(both >> 16);
#endif
    }
}
