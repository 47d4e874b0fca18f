// SPDX-License-Identifier: Apache-2.0
// rearrange_tiles: matrices that the output has transposed, out[m, c, r] = source[first + m stride2 + r stride0 + c].
// Rows, columns and matrices are extent0, extent1 and extent2. Bindings, constants: yolk/internal/abi/rearrange.h. No scratch.
// Work: one workgroup moves a tile of TILE_ROWS x TILE_COLUMNS, its linear index running over columns of tiles, then
// rows of them, then matrices; grid folded over x and y. With REARRANGE_STAGED the tile is read along the source's rows
// into shared memory (TILE_WORDS words) and written along the output's; without, it is read across. No subgroup
// assumption.
// Exactness: class E, bits are moved.
// Loops: one (staged: two) of ceil(TILE_ROWS * TILE_COLUMNS / WORKGROUP_SIZE) iterations.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/rearrange.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecTileRows) const uint TILE_ROWS = 16;
layout(constant_id = kSpecTileColumns) const uint TILE_COLUMNS = 16;
#ifdef REARRANGE_STAGED
layout(constant_id = kSpecPadding) const uint PADDING = 1;
layout(constant_id = kSpecTileWords) const uint TILE_WORDS = 272;

shared uint tile_[TILE_WORDS];
#endif

layout(set = 0, binding = kBindSource, scalar) readonly restrict buffer Source { uint values[]; } source_;
layout(set = 0, binding = kBindOut, scalar) writeonly restrict buffer Out { uint values[]; } out_;
layout(push_constant, scalar) uniform PushConstants { Params params; };

void main() {
    uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    uint rows = params.extent0;
    uint columns = params.extent1;
    uint tiles_across = (columns + TILE_COLUMNS - 1u) / TILE_COLUMNS;
    uint tiles_down = (rows + TILE_ROWS - 1u) / TILE_ROWS;
    uint matrix = group / (tiles_across * tiles_down);
    if (matrix >= params.extent2) return;
    uint first_column = group % tiles_across * TILE_COLUMNS;
    uint first_row = group / tiles_across % tiles_down * TILE_ROWS;
    uint source_base = params.first + matrix * params.stride2;
    uint out_base = matrix * rows * columns;

#ifdef REARRANGE_STAGED
    for (uint i = gl_LocalInvocationID.x; i < TILE_ROWS * TILE_COLUMNS; i += WORKGROUP_SIZE) {
        uint row = first_row + i / TILE_COLUMNS;
        uint column = first_column + i % TILE_COLUMNS;
        if (row < rows && column < columns) {
            tile_[i / TILE_COLUMNS * (TILE_COLUMNS + PADDING) + i % TILE_COLUMNS] =
                source_.values[source_base + row * params.stride0 + column];
        }
    }
    barrier();
#endif
    for (uint i = gl_LocalInvocationID.x; i < TILE_ROWS * TILE_COLUMNS; i += WORKGROUP_SIZE) {
        uint row = first_row + i % TILE_ROWS;
        uint column = first_column + i / TILE_ROWS;
        if (row < rows && column < columns) {
#ifdef REARRANGE_STAGED
            uint word = tile_[i % TILE_ROWS * (TILE_COLUMNS + PADDING) + i / TILE_ROWS];
#else
            uint word = source_.values[source_base + row * params.stride0 + column];
#endif
            out_.values[out_base + column * rows + row] = word;
        }
    }
}
