// SPDX-License-Identifier: Apache-2.0
// expected_improvement: for each candidate its variance, less the sum of left times right over the steps, and what
// measuring it is expected to gain on the best value. Bindings, constants: yolk/internal/abi/expected_improvement.h.
// Work: one invocation per candidate, grid folded over x and y. No scratch, no shared memory, no barrier, no subgroup
// assumption. A variance is read and written by the one invocation that it belongs to.
// Exactness: class P; factors by the operand rule, everything else by the product rule (exact_improvement.h).
// Loops: one of `steps` iterations.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/expected_improvement.h"
#include "yolk/exact/exact_improvement.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;

layout(set = 0, binding = kBindScores, scalar) readonly buffer Scores { float scores[]; };
layout(set = 0, binding = kBindLeft, scalar) readonly buffer Left { float left[]; };
layout(set = 0, binding = kBindRight, scalar) readonly buffer Right { float right[]; };
layout(set = 0, binding = kBindPrior, scalar) readonly buffer Prior { float prior[]; };
layout(set = 0, binding = kBindVariances, scalar) buffer Variances { float variances[]; };
layout(set = 0, binding = kBindOut, scalar) writeonly buffer Out { float gains[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };

void main() {
    uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    uint c = group * WORKGROUP_SIZE + gl_LocalInvocationID.x;
    if (c >= params.count) return;
    float variance = variances[c];
    for (uint s = 0u; s < params.steps; ++s) {
        variance = exact_variance_less(variance, left[s * params.stride + c], right[s * params.stride + c]);
    }
    variance = exact_least_variance(variance);
    variances[c] = variance;
    gains[c] = exact_gain(prior[c], scores[c], scores[params.stride + c], variance, params.level, params.best,
                          params.deviation, params.mean_slack, params.variance_slack, params.stretch);
}
