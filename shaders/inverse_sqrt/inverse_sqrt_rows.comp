// SPDX-License-Identifier: Apache-2.0
// inverse_sqrt_norm: row_sums = the sums of magnitudes of the rows of matrix, damped; their maximum is a norm.
// inverse_sqrt_residual (INVERSE_SQRT_RESIDUAL): row_sums = the sums of squares of the rows of matrix - I.
// Bindings, constants: yolk/internal/abi/inverse_sqrt.h; the order of the sums, and how rows are shared out: rows.glsl. Loops:
// ceil(n / 32) iterations. No subgroup assumption; shared memory and barriers by group only. Class P by the product
// rule: elements, differences and squares below 2^-100 are zero.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/inverse_sqrt.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 32;

layout(set = 0, binding = kBindMatrix, scalar) readonly restrict buffer Matrix { float matrix[]; };
layout(set = 0, binding = kBindState, scalar) readonly restrict buffer State { float state[]; };
layout(set = 0, binding = kBindRowSums, scalar) writeonly restrict buffer RowSums { float row_sums[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };

#include "rows.glsl"

uint element_base = 0u;
uint diagonal = 0u;  // the place of the diagonal in this row
float shift = 0.0;

#ifdef INVERSE_SQRT_RESIDUAL
float term(uint k) {
    precise float difference = matrix[element_base + k] - mix(0.0, 1.0, k == diagonal);
    precise float kept = exact_flush(difference);
    precise float square = kept * kept;
    return exact_flush(square);
}
#else
float term(uint k) {
    precise float element = exact_flush(matrix[element_base + k]) + mix(0.0, shift, k == diagonal);
    return exact_abs(element);
}
#endif

void main() {
    ROWS_BEGIN(params.blocks * params.n, params.n)
    element_base = row * params.n;
    diagonal = row % params.n;
#ifndef INVERSE_SQRT_RESIDUAL
    shift = state[min(row / params.n, params.blocks - 1u)];
#endif
    float total;
    ROW_SUM(total, term)
    if (ROW_LEADER) row_sums[row] = total;
}
