// SPDX-License-Identifier: Apache-2.0
// covariance_average: covariance = weight * sums, plus decay * covariance for a running average; one element per
// invocation. An average leaves out a block of sums whose trace is not finite: the old one stays, and without one the
// covariance is zero. Bindings, constants: yolk/internal/abi/covariance.h. No loop, no shared memory, no subgroup assumption.
// Class P by the product rule: what is read from covariance and every product is zero below 2^-100.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/covariance.h"
#include "yolk/exact/exact_math.h"
#include "finite.glsl"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecAverages) const uint AVERAGES = 0;
layout(constant_id = kSpecReports) const uint REPORTS = 0;

// Not restrict: without an average the sums lie in covariance, and what is not used is bound to it.
layout(set = 0, binding = kBindSums, scalar) readonly buffer Sums { float sums[]; };
layout(set = 0, binding = kBindCovariance, scalar) buffer Covariance { float covariance[]; };
layout(set = 0, binding = kBindTrace, scalar) readonly buffer Trace { float traces[]; };
layout(set = 0, binding = kBindLeftOut, scalar) writeonly buffer LeftOut { uint left_out[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };

void main() {
    uint i = (gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x) * WORKGROUP_SIZE + gl_LocalInvocationID.x;
    if (i >= params.element_count) return;
    if (AVERAGES == 1u) {
        uint block_elements = params.n * params.n;
        uint block = i / block_elements;
        bool is_left_out = !is_finite(traces[block]);
        if (REPORTS == 1u && i % block_elements == 0u) left_out[block] = uint(is_left_out);
        if (is_left_out) {
            if (params.keeps_old == 0u) covariance[i] = 0.0;
            return;
        }
    }
    precise float fresh = sums[i] * params.weight;
    float kept = 0.0;
    if (params.keeps_old != 0u) {
        precise float old = exact_flush(covariance[i]) * params.decay;
        kept = exact_flush(old);
    }
    precise float value = kept + exact_flush(fresh);
    covariance[i] = value;
}
