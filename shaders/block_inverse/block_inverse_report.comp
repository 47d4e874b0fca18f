// SPDX-License-Identifier: Apache-2.0
// block_inverse, last: status and residual of each block, one invocation per block. Class P: the rows in ascending
// order. Bindings: yolk/internal/abi/block_inverse.h. Loops: n iterations.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "block_common.glsl"

const uint kNoResidual = 0x7F7FFFFFu;

void main() {
    uint block = linear_invocation();
    if (block >= params.blocks) return;
    uint code = state[state_of(block) + kStateCode];
    bool inverted = has_inverse(code);
    precise float sum = 0.0;
    for (uint i = 0u; i < params.n; ++i) {
        float square = uintBitsToFloat(inverted ? state[rows_of(block) + i] : 0u);
        sum = sum + square;
    }
    precise float mean = sum * params.inverse_n;
    float root = exact_sqrt(mean);
    status[params.first_block + block] = code;
    residual[params.first_block + block] = inverted ? floatBitsToUint(root) : kNoResidual;
}
