// SPDX-License-Identifier: Apache-2.0
// block_inverse, tiles: what the panel of pivots from `first` on takes from the rest, kPanel x kPanel elements per
// invocation, operands in vectors of four. Forward: of the rows below, columns up to the diagonal and, to their right,
// the inverse of L. Backward (BLOCK_BACKWARD): of the rows above, all columns of the solution.
// Class P: the panel's steps in ascending (backward: descending) order for each element. Bindings:
// yolk/abi/block_inverse.h. Loops: unrolled.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define BLOCK_WORK4
#include "block_common.glsl"

const uint kHalf = kPanel / 4u;
vec4 sums[kPanel * kHalf];    // [row, four columns]
vec4 rows[kPanel * kHalf];    // forward [row, four steps], backward [step, four rows]
vec4 steps[kPanel * kHalf];   // [step, four columns]

// Addresses in vectors of four.
void update_tile(uint matrix, uint stride, uint i, uint c, bool fresh) {
    [[unroll]] for (uint e = 0u; e < kPanel * kHalf; ++e) {
        steps[e] = work4[matrix + (params.first + e / kHalf) * stride + c / 4u + e % kHalf];
#ifdef BLOCK_BACKWARD
        rows[e] = work4[matrix + (params.first + e / kHalf) * stride + i / 4u + e % kHalf];
#else
        rows[e] = work4[matrix + (i + e / kHalf) * stride + params.first / 4u + e % kHalf];
#endif
        vec4 known = work4[matrix + (i + e / kHalf) * stride + c / 4u + e % kHalf];
        sums[e] = fresh ? vec4(0.0) : known;
    }
    [[unroll]] for (uint r = 0u; r < kPanel; ++r) {
        [[unroll]] for (uint s = 0u; s < kPanel; ++s) {
#ifdef BLOCK_BACKWARD
            uint q = kPanel - 1u - s;
            float l = rows[q * kHalf + r / 4u][r % 4u];
#else
            uint q = s;
            float l = rows[r * kHalf + q / 4u][q % 4u];
#endif
            [[unroll]] for (uint h = 0u; h < kHalf; ++h) {
                precise vec4 product = l * steps[q * kHalf + h];
                precise vec4 next = sums[r * kHalf + h] - product;
                sums[r * kHalf + h] = next;
            }
        }
    }
    [[unroll]] for (uint e = 0u; e < kPanel * kHalf; ++e)
        work4[matrix + (i + e / kHalf) * stride + c / 4u + e % kHalf] = sums[e];
}

#ifdef BLOCK_BACKWARD
uint row_tiles() { return params.first / kPanel; }
uint tiles_of_block() { return row_tiles() * (params.padded_n / kPanel); }

void take_tile(uint block, uint tile) {
    uint i = tile % row_tiles() * kPanel;
    uint c = params.padded_n + tile / row_tiles() * kPanel;
    update_tile(work_of(block) / 4u, params.padded_n / 2u, i, c, false);
}
#else
uint row_tiles() { return (params.padded_n - params.first) / kPanel - 1u; }
// Of the inverse of L: all rows, columns up to the panel's.
uint solved_tiles() { return row_tiles() * (params.first / kPanel + 1u); }
// Of the rest, up to the diagonal, folded into a rectangle: a short row of tiles behind a long one. The middle row of an
// odd number of them comes twice.
uint tiles_of_block() { return solved_tiles() + (row_tiles() + 1u) / 2u * (row_tiles() + 1u); }

void take_tile(uint block, uint tile) {
    uint below = params.first + kPanel;
    uint i;
    uint c;
    if (tile < solved_tiles()) {
        i = below + tile % row_tiles() * kPanel;
        c = params.padded_n + tile / row_tiles() * kPanel;
    } else {
        uint fold = tile - solved_tiles();
        uint pair = fold / (row_tiles() + 1u);
        uint place = fold % (row_tiles() + 1u);
        bool in_long = place < row_tiles() - pair;
        uint row = in_long ? row_tiles() - 1u - pair : pair;
        if (!in_long && row == row_tiles() - 1u - pair) return;
        i = below + row * kPanel;
        c = below + (in_long ? place : place - (row_tiles() - pair)) * kPanel;
    }
    update_tile(work_of(block) / 4u, params.padded_n / 2u, i, c, c == params.padded_n + params.first);
}
#endif

void take_item(uint index) {
    uint block = attempt_block(index / tiles_of_block());
    if (is_live(block)) take_tile(block, index % tiles_of_block());
}

void main() {
    FOR_EACH_ITEM(tiles_of_block()) take_item(index);
}
