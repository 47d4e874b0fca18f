// SPDX-License-Identifier: Apache-2.0
// What matmul does to a finished sum: bias, activation, residual, in this order.
#ifndef YOLK_MATMUL_EPILOGUE_GLSL
#define YOLK_MATMUL_EPILOGUE_GLSL
#include "activation.glsl"
#include "matmul_batch.glsl"

layout(constant_id = kSpecBias) const uint BIAS = 0;
layout(constant_id = kSpecActivation) const uint ACTIVATION = 0;
layout(constant_id = kSpecResidual) const uint RESIDUAL = 0;

layout(set = 0, binding = kBindBias, scalar) readonly restrict buffer Bias { float values[]; } bias_;
layout(set = 0, binding = kBindResidual, scalar) readonly restrict buffer Residual { float values[]; } residual_;

float finished(float sum, uint batch, uint row, uint column) {
    precise float value = sum;
    if (BIAS == 1u) {
        uint index = params.bias_offset + batch * params.bias_batch_stride + column;
        value = value + exact_flush_operand(bias_.values[index]);
    }
    value = activate(ACTIVATION, value);
    if (RESIDUAL == 1u) {
        uint index = residual_base_of(batch) + row * params.residual_stride + column;
        value = value + exact_flush_operand(residual_.values[index]);
    }
    return value;
}

#endif
