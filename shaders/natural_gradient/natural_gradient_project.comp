// SPDX-License-Identifier: Apache-2.0
// natural_gradient_project: vectors[row_count, n], with PROJECTS less their means, and -learning_rate times that.
// Bindings, constants: yolk/internal/abi/natural_gradient.h; the order of a mean's sum, and how vectors are shared out:
// rows.glsl. Loops: ceil(n / 32) iterations, and a ROW_WRITE. No scratch, no subgroup assumption; shared memory and
// barriers by group only. Class P by the product rule: what is read, differences and products are zero below 2^-100.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/natural_gradient.h"
#include "natural_gradient.glsl"

layout(constant_id = kSpecProjects) const uint PROJECTS = 0;

uint vector_base = 0u;
float mean = 0.0;

float element(uint k) { return exact_flush(vector[vector_base + k]); }

void store(uint k) {
    precise float centred = element(k) - mean;
    finish(vector_base + k, exact_flush(centred));
}

void main() {
    ROWS_BEGIN(params.row_count, params.n)
    vector_base = row * params.n;
    float total;
    ROW_SUM(total, element)
    precise float average = total * params.one_over_n;
    mean = PROJECTS == 1u ? exact_flush(average) : 0.0;
    ROW_WRITE(store)
}
