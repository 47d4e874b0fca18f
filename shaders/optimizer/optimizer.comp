// SPDX-License-Identifier: Apache-2.0
// optimizer: parameters += learning_rate * step, for all parameters in one dispatch, one invocation per element.
//   sgd       step = g
//   momentum  m = beta1 m + g, step = m
//   adam      m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2,
//             step = (m unbias1) / (sqrt(v unbias2) + epsilon)
// Bindings, constants: yolk/internal/abi/optimizer.h. No subgroup assumption, no shared memory, no scratch, no loop. Class P by
// the product rule: every product passes exact_flush (zero below 2^-100). The new parameter passes exact_flush_operand
// (zero below 2^-40), so that later dot products obey the operand rule. An element whose gradient, moment or new
// parameter is not finite keeps its parameter and its moments, and is counted.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/optimizer.h"
#include "yolk/exact/exact_math.h"
#include "finite.glsl"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecRule) const uint RULE = kRuleSgd;
layout(constant_id = kSpecCounts) const uint COUNTS = 0;

layout(set = 0, binding = kBindGradient, scalar) readonly restrict buffer Gradient { float gradient[]; };
layout(set = 0, binding = kBindParameters, scalar) restrict buffer Parameters { float parameters[]; };
// Not restrict: where there is no state and nothing is counted, these are bound to the parameters.
layout(set = 0, binding = kBindState, scalar) buffer State { float state[]; };
layout(set = 0, binding = kBindSkipped, scalar) buffer Skipped { uint skipped[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };

float product(float x, float y) {
    precise float xy = x * y;
    return exact_flush(xy);
}

struct Moments {
    float first, second;
};

float momentum_step(inout Moments moments, float g) {
    precise float m = product(params.beta1, moments.first) + g;
    moments.first = m;
    return m;
}

float adam_step(inout Moments moments, float g) {
    uint magnitude = min(floatBitsToUint(g) & kExactMagnitudeMask, kLargestGradientBits);
    g = uintBitsToFloat(magnitude | (floatBitsToUint(g) & kExactSignMask));
    precise float m = product(params.beta1, moments.first) + product(params.one_minus_beta1, g);
    precise float v = product(params.beta2, moments.second) + product(params.one_minus_beta2, product(g, g));
    moments = Moments(m, v);
    precise float denominator = exact_sqrt(product(v, params.unbias2)) + params.epsilon;
    return product(product(m, params.unbias1), exact_reciprocal(denominator));
}

void main() {
    uint element = (gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x) * WORKGROUP_SIZE + gl_LocalInvocationID.x;
    if (element >= params.element_count) return;
    uint second = params.element_count + element;
    float g = exact_flush(gradient[element]);
    Moments moments = Moments(0.0, 0.0);
    if (RULE != kRuleSgd) moments.first = state[element];
    if (RULE == kRuleAdam) moments.second = state[second];
    float step = g;
    if (RULE == kRuleMomentum) step = momentum_step(moments, g);
    if (RULE == kRuleAdam) step = adam_step(moments, g);
    precise float moved = parameters[element] + product(params.learning_rate, step);
    // A moment that is not finite would never become finite again.
    if (!is_finite(g) || !is_finite(moments.first) || !is_finite(moments.second) || !is_finite(moved)) {
        if (COUNTS == 1u) atomicAdd(skipped[0], 1u);
        return;
    }
    if (RULE != kRuleSgd) state[element] = moments.first;
    if (RULE == kRuleAdam) state[second] = moments.second;
    parameters[element] = exact_flush_operand(moved);
}
