// SPDX-License-Identifier: Apache-2.0
// block_inverse, tiles, between forward and backward: each row of the inverse of L is judged by its pivot, then divided
// by it; zeros follow right of the diagonal. One invocation per row. Class P: the squares from the first column on, the
// diagonal's 1 last. Bindings: yolk/internal/abi/block_inverse.h. Loops: padded_n iterations.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#define BLOCK_WORK
#include "block_common.glsl"

void take_item(uint index) {
    uint block = attempt_block(index / params.padded_n);
    uint k = index % params.padded_n;
    if (!is_live(block)) return;
    uint row = work_of(block) + k * params.padded_n * 2u + params.padded_n;
    float d = uintBitsToFloat(state[rows_of(block) + k]);
    float inverse = block_pivot_inverse(d, params.tolerance);
    precise float norm = 0.0;
    for (uint j = 0u; j < params.padded_n; ++j) {
        float z = j > k ? 0.0 : work[row + j];
        precise float square = z * z;
        norm = norm + square;
        precise float quotient = z * inverse;
        work[row + j] = block_flush(quotient);
    }
    state[rows_of(block) + k] = k < params.n ? verdict_on(d, norm) : kPivotGood;
}

void main() {
    FOR_EACH_ITEM(params.padded_n) take_item(index);
}
