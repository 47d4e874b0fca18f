// SPDX-License-Identifier: Apache-2.0
// The block of out that a workgroup of matmul_cooperative_* makes. Workgroups that run at the same time have numbers
// near each other, so their blocks lie in a band of BAND rows of blocks, column by column: an area that is about as high
// as wide, which reads the least of both operands.
#ifndef YOLK_MATMUL_BANDS_GLSL
#define YOLK_MATMUL_BANDS_GLSL

const uint BAND = 8;

struct BlockPlace {
    uint batch;
    uint row;
    uint column;
};

// `blocks`: of a matrix, along m and n.
BlockPlace place_of_block(uvec2 blocks) {
    uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    uint within = group % (blocks.x * blocks.y);
    uint first = within / (BAND * blocks.y) * BAND;
    uint height = min(BAND, blocks.x - first);  // of the last band less
    uint in_band = within - first * blocks.y;
    return BlockPlace(group / (blocks.x * blocks.y), (first + in_band % height) * BLOCK_M, in_band / height * BLOCK_N);
}

#endif
