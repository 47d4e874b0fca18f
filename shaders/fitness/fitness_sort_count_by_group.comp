// SPDX-License-Identifier: Apache-2.0
// fitness, sort, first step of a pass: fitness_sort_count with a workgroup per tile, which counts in shared memory.
// Class E. Loop iterations per invocation: (256 + tile_length + 256) / WORKGROUP_SIZE.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#define FITNESS_READS_SCORES
#include "yolk/internal/abi/fitness.h"
#include "fitness_state.glsl"
#include "fitness_sort.glsl"

shared uint counts[256];

void main() {
    uint tile = linear_group();
    uint lane = gl_LocalInvocationID.x;
    if (tile >= params.tile_count) return;
    for (uint value = lane; value < 256u; value += WORKGROUP_SIZE) counts[value] = 0u;
    barrier();
    uint first = tile * params.tile_length;
    uint end = min(first + params.tile_length, params.population);
    for (uint place = first + lane; place < end; place += WORKGROUP_SIZE)
        atomicAdd(counts[digit_of(key_at(place))], 1u);
    barrier();
    for (uint value = lane; value < 256u; value += WORKGROUP_SIZE) {
        uint count = counts[value];
        state[counter_of(value, tile)] = count;
        if (count != 0u) atomicAdd(state[total_of(value)], count);
    }
}
