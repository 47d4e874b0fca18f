// SPDX-License-Identifier: Apache-2.0
// block_inverse, tiles: what the panel of pivots from `first` on takes from the rest, TILE_ROWS rows of a
// tile of kPanel x kPanel per invocation, operands in vectors of four. Forward: of the rows below, columns up to
// the diagonal and, to their right, the inverse of L. Backward (BLOCK_BACKWARD): of the rows above, all columns of the
// solution.
// Class P: the panel's steps in ascending (backward: descending) order for each element. Bindings:
// yolk/internal/abi/block_inverse.h. Loops: unrolled.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define BLOCK_WORK4
#include "block_common.glsl"

layout(constant_id = kSpecTileRows) const uint TILE_ROWS = 8;

const uint kColumnQuads = kPanel / 4u;
const uint kRowQuads = TILE_ROWS / 4u;
// Whole tiles have all operands in registers before they begin. Parts are for devices on which registers decide how
// much runs at once: they take four steps of the rows at a time, and each step's columns when it comes.
const bool kIsWhole = TILE_ROWS == kPanel;
const uint kSteps = kIsWhole ? kPanel : 4u;
const uint kStepQuads = kSteps / 4u;
vec4 sums[TILE_ROWS * kColumnQuads];  // [row, four columns]
vec4 rows[TILE_ROWS * kStepQuads];    // forward [row, four steps], backward [step, four rows]
vec4 steps[kSteps * kColumnQuads];    // [step, four columns]

// Addresses in vectors of four; `begin`: of the steps' first row.
void load_rows(uint matrix, uint stride, uint i, uint begin) {
    [[unroll]] for (uint e = 0u; e < TILE_ROWS * kStepQuads; ++e) {
#ifdef BLOCK_BACKWARD
        rows[e] = work4[matrix + (begin + e / kRowQuads) * stride + i / 4u + e % kRowQuads];
#else
        rows[e] = work4[matrix + (i + e / kStepQuads) * stride + begin / 4u + e % kStepQuads];
#endif
    }
}

void load_step(uint matrix, uint stride, uint c, uint begin, uint q) {
    [[unroll]] for (uint h = 0u; h < kColumnQuads; ++h)
        steps[q * kColumnQuads + h] = work4[matrix + (begin + q) * stride + c / 4u + h];
}

// In the order of their steps.
uint step_at(uint s) {
#ifdef BLOCK_BACKWARD
    return kSteps - 1u - s;
#else
    return s;
#endif
}

void take_step(uint r, uint q) {
#ifdef BLOCK_BACKWARD
    float l = rows[q * kRowQuads + r / 4u][r % 4u];
#else
    float l = rows[r * kStepQuads + q / 4u][q % 4u];
#endif
    [[unroll]] for (uint h = 0u; h < kColumnQuads; ++h) {
        precise vec4 product = l * steps[q * kColumnQuads + h];
        precise vec4 next = sums[r * kColumnQuads + h] - product;
        sums[r * kColumnQuads + h] = next;
    }
}

void take_steps(uint matrix, uint stride, uint i, uint c, uint begin) {
    load_rows(matrix, stride, i, begin);
    if (kIsWhole) {
        [[unroll]] for (uint q = 0u; q < kSteps; ++q) load_step(matrix, stride, c, begin, q);
        [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
            [[unroll]] for (uint s = 0u; s < kSteps; ++s) take_step(r, step_at(s));
        }
    } else {
        [[unroll]] for (uint s = 0u; s < kSteps; ++s) {
            load_step(matrix, stride, c, begin, step_at(s));
            [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) take_step(r, step_at(s));
        }
    }
}

void update_tile(uint matrix, uint stride, uint i, uint c, bool fresh) {
    [[unroll]] for (uint e = 0u; e < TILE_ROWS * kColumnQuads; ++e) {
        vec4 known = work4[matrix + (i + e / kColumnQuads) * stride + c / 4u + e % kColumnQuads];
        sums[e] = fresh ? vec4(0.0) : known;
    }
    [[unroll]] for (uint s = 0u; s < kPanel; s += kSteps) {
#ifdef BLOCK_BACKWARD
        take_steps(matrix, stride, i, c, params.first + (kPanel - kSteps - s));
#else
        take_steps(matrix, stride, i, c, params.first + s);
#endif
    }
    [[unroll]] for (uint e = 0u; e < TILE_ROWS * kColumnQuads; ++e)
        work4[matrix + (i + e / kColumnQuads) * stride + c / 4u + e % kColumnQuads] = sums[e];
}

const uint kPieces = kPanel / TILE_ROWS;  // of a tile

#ifdef BLOCK_BACKWARD
uint row_tiles() { return params.first / kPanel; }
uint tiles_of_block() { return row_tiles() * (params.padded_n / kPanel); }

void take_piece(uint block, uint tile, uint piece) {
    uint i = tile % row_tiles() * kPanel;
    uint c = params.padded_n + tile / row_tiles() * kPanel;
    update_tile(work_of(block) / 4u, params.padded_n / 2u, i + piece * TILE_ROWS, c, false);
}
#else
uint row_tiles() { return (params.padded_n - params.first) / kPanel - 1u; }
// Of the inverse of L: all rows, columns up to the panel's.
uint solved_tiles() { return row_tiles() * (params.first / kPanel + 1u); }
// Of the rest, up to the diagonal, folded into a rectangle: a short row of tiles behind a long one. The middle row of an
// odd number of them comes twice.
uint tiles_of_block() { return solved_tiles() + (row_tiles() + 1u) / 2u * (row_tiles() + 1u); }

void take_piece(uint block, uint tile, uint piece) {
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
    bool fresh = c == params.padded_n + params.first;
    update_tile(work_of(block) / 4u, params.padded_n / 2u, i + piece * TILE_ROWS, c, fresh);
}
#endif

void take_item(uint index) {
    uint tile = index / kPieces;
    uint block = attempt_block(tile / tiles_of_block());
    if (is_live(block)) take_piece(block, tile % tiles_of_block(), index % kPieces);
}

void main() {
    FOR_EACH_ITEM(tiles_of_block() * kPieces) take_item(index);
}
