// SPDX-License-Identifier: Apache-2.0
// block_inverse: one row of the scaled inverse at a time. Checking (BLOCK_CHECK), while the block is still live: a row
// that fp32 cannot hold in the block's own scale gets a verdict. Writing: the row to the output, zeros where there is
// no inverse. One invocation per row. Class P. Bindings: yolk/internal/abi/block_inverse.h. Loops: n iterations.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#define BLOCK_WORK readonly
#include "block_common.glsl"

// Spd: the solution; Symmetric: the swept block, its lower triangle, negated.
float inverse_element(uint block, uint i, uint j) {
    uint stride = 2u * params.padded_n;
    if (params.symmetric == 0u) return work[work_of(block) + i * stride + params.padded_n + j];
    precise float negated = -work[work_of(block) + max(i, j) * stride + min(i, j)];
    return negated;
}

void take_item(uint index) {
#ifdef BLOCK_CHECK
    uint block = attempt_block(index / params.n);
#else
    uint block = index / params.n;
#endif
    uint i = index % params.n;
    int shift = -exponent_of(block) - int(state[scales_of(block) + i]);
#ifdef BLOCK_CHECK
    if (!is_live(block)) return;
    bool held = true;
    for (uint j = 0u; j < params.n; ++j) {
        uint bits = block_result(inverse_element(block, i, j), shift - int(state[scales_of(block) + j]));
        held = held && (bits & kExactMagnitudeMask) < kBlockInfinity;
        held = held && !(i == j && bits == kExactZero && params.symmetric == 0u);
    }
    uint verdict = params.symmetric != 0u ? kPivotGood : state[rows_of(block) + i];
    state[rows_of(block) + i] = !held && verdict == kPivotGood ? kPivotUnheld : verdict;
#else
    bool inverted = has_inverse(state[state_of(block) + kStateCode]);
    uint row = params.out_offset + (block * params.n + i) * params.n;
    for (uint j = 0u; j < params.n; ++j) {
        uint bits = 0u;
        if (inverted) bits = block_result(inverse_element(block, i, j), shift - int(state[scales_of(block) + j]));
        out_[row + j] = bits;
    }
#endif
}

void main() {
#ifdef BLOCK_CHECK
    FOR_EACH_ITEM(params.n) take_item(index);
#else
    if (linear_invocation() < params.blocks * params.n) take_item(linear_invocation());
#endif
}
