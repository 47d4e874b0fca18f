// SPDX-License-Identifier: Apache-2.0
// block_inverse, tiles: block_inverse_panel for devices on which registers decide how much runs at once. The same
// numbers in the same places, but step by step: an invocation takes a step of the panel's diagonal block and at once
// that step of its line, so that nothing but what is left of the block has to be kept. A line is a row below the panel
// or a column of the inverse of L; both go through the same instructions, since neighbours may have one of each.
// padded_n invocations per block. Class P: for each element the pivots in ascending order. Bindings:
// yolk/internal/abi/block_inverse.h. Loops: unrolled.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define BLOCK_WORK
#include "block_common.glsl"

float rest[kPanel * kPanel];  // the diagonal block's lower triangle
float upper[kPanel];          // of this step: u = L D ...
float lower[kPanel];          // ... and L
float line[kPanel];
bool is_row;
uint at;      // the line's first element in the work ...
uint stride;  // ... and from one to the next
uint above;   // of a row: where its u goes

void load_rest(uint corner, uint row_length) {
    [[unroll]] for (uint e = 0u; e < kPanel * kPanel; ++e) {
        if (e % kPanel <= e / kPanel) rest[e] = work[corner + (e / kPanel) * row_length + e % kPanel];
    }
}

// Line t of the block: first the rows below the panel, then the columns.
void load_line(uint matrix, uint row_length, uint t) {
    uint below = params.padded_n - params.first - kPanel;
    uint i = params.first + kPanel + t;
    uint c = t - below;
    is_row = t < below;
    at = matrix + (is_row ? i * row_length + params.first : params.first * row_length + params.padded_n + c);
    stride = is_row ? 1u : row_length;
    above = matrix + params.first * row_length + i;
    bool own = !is_row && c >= params.first;
    [[unroll]] for (uint p = 0u; p < kPanel; ++p) {
        float known = work[at + p * stride];
        line[p] = mix(known, mix(0.0, 1.0, c == params.first + p), own);
    }
}

// Right-looking, as block_inverse_panel.
float take_pivot(uint q) {
    float inverse = block_pivot_inverse(rest[q * kPanel + q], params.tolerance);
    [[unroll]] for (uint p = 0u; p < kPanel; ++p) {
        if (p > q) {
            upper[p] = block_bounded(rest[p * kPanel + q]);
            precise float l = upper[p] * inverse;
            lower[p] = block_flush(l);
        }
    }
    [[unroll]] for (uint e = 0u; e < kPanel * kPanel; ++e) {
        if (e % kPanel <= e / kPanel && e % kPanel > q) {
            precise float product = lower[e / kPanel] * upper[e % kPanel];
            precise float next = rest[e] - product;
            rest[e] = next;
        }
    }
    return inverse;
}

void take_step(uint q, float inverse, uint row_length) {
    float x = line[q];
    float u = block_bounded(x);
    precise float product = u * inverse;
    float value = mix(block_flush(x), block_flush(product), is_row);
    work[at + q * stride] = value;
    if (is_row) work[above + q * row_length] = u;
    [[unroll]] for (uint p = 0u; p < kPanel; ++p) {
        if (p > q) {
            precise float change = value * mix(lower[p], upper[p], is_row);
            precise float next = line[p] - change;
            line[p] = next;
        }
    }
}

void take_item(uint index) {
    uint block = attempt_block(index / params.padded_n);
    if (!is_live(block)) return;
    uint t = index % params.padded_n;
    uint row_length = 2u * params.padded_n;
    uint matrix = work_of(block);
    uint corner = matrix + params.first * row_length + params.first;
    load_rest(corner, row_length);
    load_line(matrix, row_length, t);
    [[unroll]] for (uint q = 0u; q < kPanel; ++q) {
        float inverse = take_pivot(q);
        // The others read the diagonal block: what becomes of it goes above its diagonal, the pivots to the state.
        if (t == 0u) {
            state[rows_of(block) + params.first + q] = floatBitsToUint(rest[q * kPanel + q]);
            [[unroll]] for (uint p = 0u; p < kPanel; ++p) {
                if (p > q) work[corner + q * row_length + p] = lower[p];
            }
        }
        take_step(q, inverse, row_length);
    }
}

void main() {
    FOR_EACH_ITEM(params.padded_n) take_item(index);
}
