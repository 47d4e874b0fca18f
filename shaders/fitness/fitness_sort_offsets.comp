// SPDX-License-Identifier: Apache-2.0
// fitness, sort, second step of a pass: each counter becomes the place of the first key that it counted: behind all
// smaller values of the digit, and behind the equal ones of the tiles before. Items are the digit's 256 values, one per
// invocation. Class E. Loop iterations per invocation: 255 + tile_count.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/fitness.h"
#include "fitness_state.glsl"
#include "fitness_sort.glsl"

void main() {
    uint value = linear_invocation();
    if (value >= 256u) return;
    uint place = 0u;
    for (uint smaller = 0u; smaller < value; ++smaller) place += state[total_of(smaller)];
    for (uint tile = 0u; tile < params.tile_count; ++tile) {
        uint count = state[counter_of(value, tile)];
        state[counter_of(value, tile)] = place;
        place += count;
    }
}
