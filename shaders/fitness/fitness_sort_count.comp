// SPDX-License-Identifier: Apache-2.0
// fitness, sort, first step of a pass: how often each value of the digit occurs, in each tile and in all. Items are
// tiles, one per invocation. Class E. Loop iterations per invocation: 256 + tile_length + 256.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#define FITNESS_READS_SCORES
#include "yolk/internal/abi/fitness.h"
#include "fitness_state.glsl"
#include "fitness_sort.glsl"

void main() {
    uint tile = linear_invocation();
    if (tile >= params.tile_count) return;
    for (uint value = 0u; value < 256u; ++value) state[counter_of(value, tile)] = 0u;
    uint first = tile * params.tile_length;
    uint end = min(first + params.tile_length, params.population);
    for (uint place = first; place < end; ++place) state[counter_of(digit_of(key_at(place)), tile)] += 1u;
    for (uint value = 0u; value < 256u; ++value) {
        uint count = state[counter_of(value, tile)];
        if (count != 0u) atomicAdd(state[total_of(value)], count);
    }
}
