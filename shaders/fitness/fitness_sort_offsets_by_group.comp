// SPDX-License-Identifier: Apache-2.0
// fitness, sort, second step of a pass: fitness_sort_offsets with a workgroup per value of the digit, whose invocations
// have a tile each at a time. Class E. Loop iterations per invocation: 255 / WORKGROUP_SIZE, then (tile_count /
// WORKGROUP_SIZE + 1) around log2(WORKGROUP_SIZE).
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/fitness.h"
#include "fitness_state.glsl"
#include "fitness_sort.glsl"

shared uint sums[WORKGROUP_SIZE];

// What the invocations before this one give; sums ends with what all give.
uint sum_before(uint own) {
    uint lane = gl_LocalInvocationID.x;
    barrier();
    sums[lane] = own;
    for (uint reach = 1u; reach < WORKGROUP_SIZE; reach *= 2u) {
        barrier();
        uint more = lane >= reach ? sums[lane - reach] : 0u;
        barrier();
        sums[lane] += more;
    }
    barrier();
    return sums[lane] - own;
}

void main() {
    uint value = linear_group();
    uint lane = gl_LocalInvocationID.x;
    if (value >= 256u) return;
    uint smaller = 0u;
    for (uint other = lane; other < value; other += WORKGROUP_SIZE) smaller += state[total_of(other)];
    sum_before(smaller);
    uint place = sums[WORKGROUP_SIZE - 1u];
    for (uint first = 0u; first < params.tile_count; first += WORKGROUP_SIZE) {
        uint tile = first + lane;
        uint count = tile < params.tile_count ? state[counter_of(value, tile)] : 0u;
        uint before = sum_before(count);
        if (tile < params.tile_count) state[counter_of(value, tile)] = place + before;
        place += sums[WORKGROUP_SIZE - 1u];
    }
}
