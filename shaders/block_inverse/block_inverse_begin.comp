// SPDX-License-Identifier: Apache-2.0
// block_inverse: an attempt begins. The scaled, damped block goes to the work (lower triangle, identity in the
// padding), its scaling to the state. One invocation per row of a block. Class P. Bindings: yolk/internal/abi/block_inverse.h.
// Loops: padded_n iterations.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#define BLOCK_WORK writeonly
#include "block_common.glsl"

// Spd has its scaling from the damping, so anew in each attempt; Symmetric has it in the state.
int scale_of(uint block, uint i, float x, int exponent, float added, float mean) {
    if (params.symmetric != 0u) return int(state[scales_of(block) + i]);
    return block_half_scale(block_damped(x, exponent, added), mean);
}

void take_item(uint index) {
    uint block = attempt_block(index / params.padded_n);
    uint i = index % params.padded_n;
    if (!is_live(block)) return;
    uint row = work_of(block) + i * params.padded_n * 2u;
    if (i >= params.n) {
        for (uint j = 0u; j <= i; ++j) work[row + j] = i == j ? 1.0 : 0.0;
        return;
    }
    uint base = in_of(block);
    int exponent = exponent_of(block);
    float added = added_of(block);
    float mean = mean_of(block);
    float x = in_[base + i * params.n + i];
    int h = scale_of(block, i, x, exponent, added, mean);
    if (params.symmetric == 0u) state[scales_of(block) + i] = uint(h);
    for (uint j = 0u; j < i; ++j) {
        float other = in_[base + j * params.n + j];
        int h_j = scale_of(block, j, other, exponent, added, mean);
        work[row + j] = block_operand(in_[base + i * params.n + j], -exponent - h - h_j);
    }
    work[row + i] = scaled_diagonal(x, exponent, added, h);
}

void main() {
    FOR_EACH_ITEM(params.padded_n) take_item(index);
}
