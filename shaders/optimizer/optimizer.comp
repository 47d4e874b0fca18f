// SPDX-License-Identifier: Apache-2.0
// optimizer: parameters += learning_rate * step, for all parameters in one dispatch, one invocation per element.
//   sgd       step = g
//   momentum  m = beta1 m + g, step = m
//   adam      m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2,
//             step = (m unbias1) / (sqrt(v unbias2) + epsilon)
// Bindings, constants: yolk/abi/optimizer.h. No subgroup assumption, no shared memory, no scratch, no loop. Class P by
// the product rule: every product passes exact_flush (zero below 2^-100). The new parameter passes exact_flush_operand
// (zero below 2^-40), so that later dot products obey the operand rule.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/abi/optimizer.h"
#include "yolk/exact/exact_math.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecRule) const uint RULE = kRuleSgd;

layout(set = 0, binding = kBindGradient, scalar) readonly restrict buffer Gradient { float gradient[]; };
layout(set = 0, binding = kBindParameters, scalar) restrict buffer Parameters { float parameters[]; };
// Not restrict: where there is no state, it is bound to the parameters.
layout(set = 0, binding = kBindState, scalar) buffer State { float state[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };

float product(float x, float y) {
    precise float xy = x * y;
    return exact_flush(xy);
}

float momentum_step(uint element, float g) {
    precise float m = product(params.beta1, state[element]) + g;
    state[element] = m;
    return m;
}

float adam_step(uint element, float g) {
    uint magnitude = min(floatBitsToUint(g) & kExactMagnitudeMask, kLargestGradientBits);
    g = uintBitsToFloat(magnitude | (floatBitsToUint(g) & kExactSignMask));
    precise float m = product(params.beta1, state[element]) + product(params.one_minus_beta1, g);
    uint second = params.element_count + element;
    precise float v = product(params.beta2, state[second]) + product(params.one_minus_beta2, product(g, g));
    state[element] = m;
    state[second] = v;
    precise float denominator = exact_sqrt(product(v, params.unbias2)) + params.epsilon;
    return product(product(m, params.unbias1), exact_reciprocal(denominator));
}

void main() {
    uint element = (gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x) * WORKGROUP_SIZE + gl_LocalInvocationID.x;
    if (element >= params.element_count) return;
    float step = exact_flush(gradient[element]);
    if (RULE == kRuleMomentum) step = momentum_step(element, step);
    if (RULE == kRuleAdam) step = adam_step(element, step);
    precise float moved = parameters[element] + product(params.learning_rate, step);
    parameters[element] = exact_flush_operand(moved);
}
