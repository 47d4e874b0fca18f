// SPDX-License-Identifier: Apache-2.0
// natural_gradient_product: preconditioner * vector for the blocks of a batch, and -learning_rate times that. A row of
// a preconditioner is a row of rows.glsl, which fixes the order of its sum. Bindings, constants:
// yolk/internal/abi/natural_gradient.h. Loops: ceil(n / 32) iterations. No scratch, no subgroup assumption; shared memory and
// barriers by group only. Class P by the operand rule (elements of both factors below 2^-40 are zero); steps by the
// product rule.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/natural_gradient.h"
#include "natural_gradient.glsl"

uint vector_base = 0u;

float product_term(uint k) {
    precise float product =
        exact_flush_operand(preconditioner[row * params.n + k]) * exact_flush_operand(vector[vector_base + k]);
    return product;
}

void main() {
    ROWS_BEGIN(params.row_count, params.n)
    vector_base = row / params.n * params.n;
    float direction;
    ROW_SUM(direction, product_term)
    if (ROW_LEADER) finish(row, direction);
}
