// SPDX-License-Identifier: Apache-2.0
// exact_math: out[i] = f(in[i]) for one of the exact functions, so that a device's bits can be held against the host's
// (docs/kernels/exact_math.md). Bindings, constants: yolk/internal/abi/exact_math.h. One invocation per element; grid folded
// over x and y. Class P.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/exact_math.h"
#include "yolk/exact/exact_activations.h"
#include "yolk/exact/exact_log.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecFunction) const uint FUNCTION = 0;

layout(set = 0, binding = kBindIn, scalar) readonly restrict buffer In { float values[]; } in_;
layout(set = 0, binding = kBindOut, scalar) writeonly restrict buffer Out { float values[]; } out_;
layout(push_constant, scalar) uniform PushConstants { Params params; };

float evaluate(float x) {
    switch (FUNCTION) {
        case kFlush: return exact_flush(x);
        case kFlushOperand: return exact_flush_operand(x);
        case kRoundHalfEven: return exact_round_half_even(x);
        case kReciprocal: return exact_reciprocal(x);
        case kSqrt: return exact_sqrt(x);
        case kTanh: return exact_tanh(x);
        case kExp: return exact_exp(x);
        case kSin: return exact_sin(x);
        case kCos: return exact_cos(x);
        case kRelu: return exact_relu(x);
        case kGelu: return exact_gelu(x);
        case kSilu: return exact_silu(x);
        case kSigmoid: return exact_sigmoid(x);
        default: return exact_log(x);
    }
}

void main() {
    uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    uint index = group * WORKGROUP_SIZE + gl_LocalInvocationID.x;
    if (index < params.element_count) out_.values[index] = evaluate(in_.values[index]);
}
