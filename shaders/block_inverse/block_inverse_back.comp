// SPDX-License-Identifier: Apache-2.0
// block_inverse, tiles, backward: the rows of the panel from `first` on, the last one first, of one column of the
// solution. padded_n invocations per block. Class P: for each element the rows below in descending order. Bindings:
// yolk/internal/abi/block_inverse.h. Loops: unrolled.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define BLOCK_WORK
#include "block_common.glsl"

float line[kPanel];

void take_item(uint index) {
    uint block = attempt_block(index / params.padded_n);
    uint c = index % params.padded_n;
    if (c >= params.n || !is_live(block)) return;
    uint stride = 2u * params.padded_n;
    uint corner = work_of(block) + params.first * stride + params.first;
    uint at = work_of(block) + params.first * stride + params.padded_n + c;
    [[unroll]] for (uint p = 0u; p < kPanel; ++p) line[p] = work[at + p * stride];
    [[unroll]] for (uint s = 0u; s < kPanel; ++s) {
        uint q = kPanel - 1u - s;
        line[q] = block_flush(line[q]);
        work[at + q * stride] = line[q];
        [[unroll]] for (uint p = 0u; p < kPanel; ++p) {
            if (p < q) {
                precise float step = work[corner + p * stride + q] * line[q];
                precise float next = line[p] - step;
                line[p] = next;
            }
        }
    }
}

void main() {
    FOR_EACH_ITEM(params.padded_n) take_item(index);
}
