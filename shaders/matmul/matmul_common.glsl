// SPDX-License-Identifier: Apache-2.0
// Tile geometry that the styles of matmul share. The including shader has included the ABI header of its family.
#ifndef YOLK_MATMUL_COMMON_GLSL
#define YOLK_MATMUL_COMMON_GLSL
#include "yolk/exact/exact_math.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecBlockM) const uint BLOCK_M = 8;
layout(constant_id = kSpecBlockN) const uint BLOCK_N = 256;
layout(constant_id = kSpecBlockK) const uint BLOCK_K = 4;
layout(constant_id = kSpecTileM) const uint TILE_M = 8;
layout(constant_id = kSpecTileN) const uint TILE_N = 4;
layout(constant_id = kSpecVectorA) const uint VECTOR_A = 0;
layout(constant_id = kSpecVectorB) const uint VECTOR_B = 0;
layout(constant_id = kSpecTransposeA) const uint TRANSPOSE_A = 0;
layout(constant_id = kSpecTransposeB) const uint TRANSPOSE_B = 0;
layout(constant_id = kSpecRagged) const uint RAGGED = 1;
layout(constant_id = kSpecWholeK) const uint WHOLE_K = 0;

const uint LANES_N = BLOCK_N / TILE_N;
const uint GROUPS_N = TILE_N / 4u;

// Where an invocation works: the first row and column of its workgroup's block, its place in the workgroup.
struct TilePlace {
    uint batch;
    uint split;
    uint block_row;
    uint block_column;
    uint lane_m;
    uint lane_n;
};

// Workgroups run over columns first, then rows, the batch, and the splits of k.
TilePlace place_of_invocation(uint m, uint n, uint batch) {
    uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    uint blocks_n = (n + BLOCK_N - 1u) / BLOCK_N;
    uint blocks_m = (m + BLOCK_M - 1u) / BLOCK_M;
    uint blocks = blocks_n * blocks_m;
    TilePlace place;
    place.block_column = group % blocks_n * BLOCK_N;
    place.block_row = group / blocks_n % blocks_m * BLOCK_M;
    place.batch = group / blocks % batch;
    place.split = group / blocks / batch;
    place.lane_m = gl_LocalInvocationID.x / LANES_N;
    place.lane_n = gl_LocalInvocationID.x % LANES_N;
    return place;
}

// Rows of an invocation are neighbours. Its columns are LANES_N apart where b is transposed, so that neighbouring
// invocations have neighbouring columns (a fifth faster than groups on lavapipe); else, and always where they come from
// shared memory, four neighbours, which a vector reads, LANES_N such groups apart.
#ifdef MATMUL_STAGED
const bool COLUMNS_APART = false;
#else
const bool COLUMNS_APART = TRANSPOSE_B == 1u;
#endif
// Whether a group of four columns are neighbours.
const bool NEIGHBOURS = !COLUMNS_APART || LANES_N == 1u;
uint row_of(TilePlace place, uint i) { return place.block_row + place.lane_m * TILE_M + i; }
uint column_of(TilePlace place, uint j) {
    if (COLUMNS_APART) return place.block_column + j * LANES_N + place.lane_n;
    return place.block_column + (j / 4u * LANES_N + place.lane_n) * 4u + j % 4u;
}

// Whether the tile's row i, or column c of a group, is one of the matrix.
bool row_is_inside(TilePlace place, uint i) { return RAGGED == 0u || row_of(place, i) < params.m; }
bool column_is_inside(uint column) { return RAGGED == 0u || column < params.n; }

float operand(float x) {
#ifdef MATMUL_EXACT
    return exact_flush_operand(x);
#else
    return x;
#endif
}
vec4 operand(vec4 x) { return vec4(operand(x.x), operand(x.y), operand(x.z), operand(x.w)); }

#endif
