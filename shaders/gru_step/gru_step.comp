// SPDX-License-Identifier: Apache-2.0
// gru_step: the elementwise half of a minimal gated unit (Zhou, Wu, Zhang, Zhou 2016, arXiv:1603.09420), over inputs
// that matrix products made (pre-activations). Two kernels:
//   gru_step_gate                      f = sigmoid(a + bias), out = f h
//   gru_step_update (GRU_STEP_UPDATE)  out = h + f (tanh(a + bias) - h)
// Bindings, constants: yolk/abi/gru_step.h. One invocation makes ELEMENTS_PER_INVOCATION neighbours; grid folded over x
// and y. Loops: ELEMENTS_PER_INVOCATION iterations. No scratch, no shared memory, no subgroup assumption.
// Class P: a, bias and h are operands when loaded (zero below 2^-40), so sums and differences are multiples of 2^-63;
// products with f follow the product rule (zero below 2^-100). NaN results are 0x7FC00000: of a gate's pre-activation
// of NaN, or of a state that is not finite. tanh takes NaN for an infinity of its sign.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/abi/gru_step.h"
#include "yolk/exact/exact_activations.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecElementsPerInvocation) const uint ELEMENTS_PER_INVOCATION = 1;
layout(constant_id = kSpecHasBias) const uint HAS_BIAS = 0;

layout(set = 0, binding = kBindPreActivation, scalar) readonly restrict buffer Input { float pre_activation[]; };
// Not restrict: where there is none, it is bound to the pre-activation.
layout(set = 0, binding = kBindBias, scalar) readonly buffer Bias { float bias[]; };
layout(set = 0, binding = kBindState, scalar) readonly restrict buffer State { float state[]; };
#ifdef GRU_STEP_UPDATE
layout(set = 0, binding = kBindGate, scalar) readonly restrict buffer Gate { float gate[]; };
#else
layout(set = 0, binding = kBindGate, scalar) writeonly restrict buffer Gate { float gate[]; };
#endif
layout(set = 0, binding = kBindOut, scalar) writeonly restrict buffer Out { float out_[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };

float activation_input(uint element) {
    precise float a = exact_flush_operand(pre_activation[element]);
    if (HAS_BIAS != 0u) {
        uint member = element / params.member_elements;
        a = a + exact_flush_operand(bias[member * params.bias_stride + element % params.columns]);
    }
    return a;
}

void make(uint element) {
    float h = exact_flush_operand(state[element]);
#ifdef GRU_STEP_UPDATE
    precise float difference = exact_tanh(activation_input(element)) - h;
    precise float product = gate[element] * difference;
    precise float result = h + exact_flush(product);
#else
    float f = exact_sigmoid(activation_input(element));
    gate[element] = f;
    precise float product = f * h;
    float result = exact_flush(product);
#endif
    out_[element] = exact_is_nan(result) ? uintBitsToFloat(kExactNan) : result;
}

void main() {
    uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    uint first = (group * WORKGROUP_SIZE + gl_LocalInvocationID.x) * ELEMENTS_PER_INVOCATION;
    for (uint i = 0u; i < ELEMENTS_PER_INVOCATION; ++i) {
        if (first + i < params.element_count) make(first + i);
    }
}
