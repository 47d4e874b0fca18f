// SPDX-License-Identifier: Apache-2.0
// block_inverse: A X - I of the scaled, damped block, TILE_ROWS rows per invocation, for groups [first, end) of
// kColumns columns; each row's sum of squares, in the block's own scale, goes to the state. Class P: k ascending
// from minus the identity; the squares by ascending columns. Bindings: yolk/internal/abi/block_inverse.h. Loops: (end - first)
// around n.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "block_common.glsl"

layout(constant_id = kSpecTileRows) const uint TILE_ROWS = 8;
const uint kColumns = kPanel;
float sums[TILE_ROWS * kColumns];
float squares[TILE_ROWS];
float left[TILE_ROWS];
uint row_of[TILE_ROWS];
int row_scale[TILE_ROWS];
float diagonal[TILE_ROWS];
uint column_of[kColumns];
int column_scale[kColumns];

void add_products(uint base, uint solution, uint scales, int exponent) {
    for (uint k = 0u; k < params.n; ++k) {
        int h = int(state[scales + k]);
        [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
            float scaled = block_operand(element_of(base, row_of[r], k), -exponent - row_scale[r] - h);
            left[r] = mix(scaled, diagonal[r], row_of[r] == k);
        }
        [[unroll]] for (uint c = 0u; c < kColumns; ++c) {
            float x = uintBitsToFloat(out_[solution + k * params.n + column_of[c]]);
            float scaled = block_operand(x, exponent + h + column_scale[c]);
            [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
                precise float product = left[r] * scaled;
                precise float next = sums[r * kColumns + c] + product;
                sums[r * kColumns + c] = next;
            }
        }
    }
}

void main() {
    uint row_groups = (params.n + TILE_ROWS - 1u) / TILE_ROWS;
    uint index = linear_invocation();
    uint block = index / row_groups;
    uint first_row = index % row_groups * TILE_ROWS;
    if (block >= params.blocks || !has_inverse(state[state_of(block) + kStateCode])) return;
    uint base = in_of(block);
    uint solution = params.out_offset + block * params.n * params.n;
    uint scales = scales_of(block);
    int exponent = exponent_of(block);
    float added = added_of(block);
    // Rows and columns past the last one are computed as the last one and count for nothing.
    [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
        row_of[r] = min(first_row + r, params.n - 1u);
        row_scale[r] = int(state[scales + row_of[r]]);
        diagonal[r] = scaled_diagonal(element_of(base, row_of[r], row_of[r]), exponent, added, row_scale[r]);
        squares[r] = params.first == 0u ? 0.0 : uintBitsToFloat(state[rows_of(block) + row_of[r]]);
    }
    for (uint group = params.first; group < params.end; ++group) {
        [[unroll]] for (uint c = 0u; c < kColumns; ++c) {
            column_of[c] = min(group * kColumns + c, params.n - 1u);
            column_scale[c] = int(state[scales + column_of[c]]);
            [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r)
                sums[r * kColumns + c] = mix(0.0, -1.0, row_of[r] == column_of[c]);
        }
        add_products(base, solution, scales, exponent);
        [[unroll]] for (uint c = 0u; c < kColumns; ++c) {
            bool inside = group * kColumns + c < params.n;
            [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
                float error = block_operand(sums[r * kColumns + c], row_scale[r] - column_scale[c]);
                precise float square = error * error;
                precise float next = squares[r] + mix(0.0, square, inside);
                squares[r] = next;
            }
        }
    }
    [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
        if (first_row + r < params.n) state[rows_of(block) + row_of[r]] = floatBitsToUint(squares[r]);
    }
}
