// SPDX-License-Identifier: Apache-2.0
// kronecker_damping: the absolute dampings of the two factors of each block, pi sqrt(lambda) for S_in and sqrt(lambda)
// / pi for S_out, pi^2 = mean of S_in's diagonal / mean of S_out's (Martens and Grosse 2015, section 6.3); one block
// per invocation. pi = 1 where a mean is not from 2^-50 to 2^50: zero, negative, no number. NaN for both where lambda
// is none.
// Bindings, constants: yolk/internal/abi/kronecker_precondition.h. No loop, no shared memory, no subgroup assumption. Class P
// by the product rule: dampings below 2^-100 are zero.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/kronecker_precondition.h"
#include "yolk/exact/exact_math.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;

layout(set = 0, binding = kBindMeans, scalar) readonly restrict buffer Means { float means[]; };
layout(set = 0, binding = kBindDampings, scalar) writeonly restrict buffer Dampings { float dampings[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };

const uint kSmallestMean = 0x26800000u;  // 2^-50
const uint kLargestMean = 0x58800000u;   // 2^50
const uint kNoDamping = 0x7FC00000u;

bool is_usable(float mean) { return floatBitsToUint(mean) >= kSmallestMean && floatBitsToUint(mean) <= kLargestMean; }

void main() {
    uint block = (gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x) * WORKGROUP_SIZE + gl_LocalInvocationID.x;
    if (block >= params.blocks) return;
    float mean_in = means[block];
    float mean_out = means[params.pair_stride + block];
    precise float ratio = mean_in * exact_reciprocal(mean_out);
    float pi = exact_sqrt(ratio);
    if (!is_usable(mean_in) || !is_usable(mean_out)) pi = exact_from_bits(kExactOne);
    precise float of_in = pi * params.root_damping;
    precise float of_out = exact_reciprocal(pi) * params.root_damping;
    bool is_valid = params.is_valid != 0u;
    dampings[block] = is_valid ? exact_flush(of_in) : uintBitsToFloat(kNoDamping);
    dampings[params.pair_stride + block] = is_valid ? exact_flush(of_out) : uintBitsToFloat(kNoDamping);
}
