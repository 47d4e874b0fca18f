// SPDX-License-Identifier: Apache-2.0
// fitness, sort, last step of a pass: the keys of each tile, in their order, to the places that its counters say. Items
// are tiles, one per invocation. Class E. Loop iterations per invocation: tile_length.
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
    uint first = tile * params.tile_length;
    uint end = min(first + params.tile_length, params.population);
    for (uint place = first; place < end; ++place) {
        uint key = key_at(place);
        uint counter = counter_of(digit_of(key), tile);
        uint target = state[counter];
        state[counter] = target + 1u;
        state[keys_after(params.digit) + target] = key;
    }
}
