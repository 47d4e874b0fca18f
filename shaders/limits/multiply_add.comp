// SPDX-License-Identifier: Apache-2.0
// limits: CHAINS independent chains s = s * factor + summand per invocation, in registers; the sum of them is written so
// that none can be dropped. Factor and summand come at run time, so nothing can be folded. Class T: devices may fuse.
// With INTEGER_DOT s = dot4(s, factor) + s of signed bytes: s is an operand, or one product would do for all steps.
// Bindings, constants: yolk/internal/abi/limits.h. Loops (after unrolling): `iterations`.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#ifdef INTEGER_DOT
#extension GL_EXT_spirv_intrinsics : require
#endif
#include "yolk/internal/abi/limits.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecChains) const uint CHAINS = 8;
layout(set = 0, binding = kBindOut, scalar) writeonly restrict buffer Out { float values[]; } out_;
layout(push_constant, scalar) uniform PushConstants { Params params; };

#ifdef INTEGER_DOT
#include "integer_dot.glsl"
#define Number int
#define Factor uint
int step_of(int sum, uint factor) { return sum + integer_dot(uint(sum), factor); }
#else
#define Number float
#define Factor float
float step_of(float sum, float factor) { return fma(sum, factor, params.summand); }
#endif

Number sums[CHAINS];

void main() {
    uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    uint index = group * WORKGROUP_SIZE + gl_LocalInvocationID.x;
    if (index >= params.invocations) return;
    // Different in every invocation, or a compiler might compute one for all.
#ifdef INTEGER_DOT
    Factor factor = floatBitsToUint(params.factor) + index;
#else
    Factor factor = params.factor + float(index) * 1e-12;
#endif
    [[unroll]] for (uint c = 0u; c < CHAINS; ++c) sums[c] = Number(c);
    for (uint i = 0u; i < params.iterations; ++i) {
        [[unroll]] for (uint step = 0u; step < kStepsPerIteration; ++step) {
            [[unroll]] for (uint c = 0u; c < CHAINS; ++c) sums[c] = step_of(sums[c], factor);
        }
    }
    Number sum = Number(0);
    [[unroll]] for (uint c = 0u; c < CHAINS; ++c) sum += sums[c];
    out_.values[index] = float(sum);
}
