// SPDX-License-Identifier: Apache-2.0
// block_inverse: an attempt ends: the first pivot that is not good decides, then whether fp32 holds
// the inverse. One invocation per block. Bindings:
// yolk/internal/abi/block_inverse.h. Loops: n iterations.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "block_common.glsl"

void take_item(uint index) {
    uint block = attempt_block(index);
    if (!is_live(block)) return;
    uint verdict = params.symmetric != 0u ? state[state_of(block) + kStateVerdict] : kPivotGood;
    bool held = true;
    for (uint k = 0u; k < params.n; ++k) {
        uint own = state[rows_of(block) + k];
        if (own == kPivotUnheld) held = false;
        else if (verdict == kPivotGood) verdict = own;
    }
    if (verdict == kPivotGood && !held) verdict = kPivotUnheld;
    conclude(block, verdict);
}

void main() {
    FOR_EACH_ITEM(1u) take_item(index);
}
