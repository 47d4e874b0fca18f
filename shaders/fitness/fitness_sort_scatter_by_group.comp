// SPDX-License-Identifier: Apache-2.0
// fitness, sort, last step of a pass: fitness_sort_scatter with a workgroup per tile. It takes as many keys at a time
// as it has invocations: each marks its own key's value in shared memory, a bit per invocation, and the bits below its
// own are how many equal ones come before it. So the order of equal digits is kept, whatever order invocations run in.
// Class E. Loop iterations per invocation: tile_length / WORKGROUP_SIZE around at most 1 + WORKGROUP_SIZE / 32 + 256 /
// WORKGROUP_SIZE * WORKGROUP_SIZE / 32.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#define FITNESS_READS_SCORES
#include "yolk/internal/abi/fitness.h"
#include "fitness_state.glsl"
#include "fitness_sort.glsl"

const uint kWords = (WORKGROUP_SIZE + 31u) / 32u;
shared uint places[256];              // of the next key of each value
shared uint present[256u * kWords];   // [word][value]: which invocations have a key of the value

void clear(uint lane) {
    for (uint word = lane; word < 256u * kWords; word += WORKGROUP_SIZE) present[word] = 0u;
}

uint place_of(uint value, uint lane) {
    uint place = places[value];
    for (uint word = 0u; word < lane / 32u; ++word) place += uint(bitCount(present[256u * word + value]));
    return place + uint(bitCount(present[256u * (lane / 32u) + value] & ((1u << (lane % 32u)) - 1u)));
}

void move_on(uint lane) {
    for (uint value = lane; value < 256u; value += WORKGROUP_SIZE) {
        uint place = places[value];
        for (uint word = 0u; word < kWords; ++word) {
            place += uint(bitCount(present[256u * word + value]));
            present[256u * word + value] = 0u;
        }
        places[value] = place;
    }
}

void main() {
    uint tile = linear_group();
    uint lane = gl_LocalInvocationID.x;
    if (tile >= params.tile_count) return;
    for (uint value = lane; value < 256u; value += WORKGROUP_SIZE) places[value] = state[counter_of(value, tile)];
    clear(lane);
    uint first = tile * params.tile_length;
    uint end = min(first + params.tile_length, params.population);
    for (uint begin = first; begin < end; begin += WORKGROUP_SIZE) {
        bool has_key = begin + lane < end;
        uint key = key_at(min(begin + lane, end - 1u));
        uint value = digit_of(key);
        barrier();
        if (has_key) atomicOr(present[256u * (lane / 32u) + value], 1u << (lane % 32u));
        barrier();
        if (has_key) state[keys_after(params.digit) + place_of(value, lane)] = key;
        barrier();
        move_on(lane);
    }
}
