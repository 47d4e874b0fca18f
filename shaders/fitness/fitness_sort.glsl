// SPDX-License-Identifier: Apache-2.0
// What the kernels of the sort share: two arrays of keys that passes write in turn, and a counter per digit's value and
// tile. A pass moves the keys by one digit of 8 bits, least significant first; each keeps the order of equal digits, so
// after four passes the keys ascend. A tile of consecutive keys is one invocation's, without shared memory, or
// (fitness_sort_*_by_group) one workgroup's. Nothing passes between those of a dispatch but sums, so a grid may be cut
// anywhere.
#ifndef YOLK_FITNESS_SORT_GLSL
#define YOLK_FITNESS_SORT_GLSL

uint keys_after(uint digit) { return kStateArray + (digit & 1u) * params.population; }

uint linear_group() { return gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x; }

#ifdef FITNESS_READS_SCORES
uint own_key(uint member) { return ordered_key(floatBitsToUint(counted_score(member))); }

// The key at a place before this pass; the first pass takes the scores as they lie.
uint key_at(uint place) {
    if (params.digit == 0u) return own_key(place);
    return state[keys_after(params.digit - 1u) + place];
}
#endif

uint digit_of(uint key) { return (key >> (8u * params.digit)) & 0xFFu; }

// All counts of this pass by a digit's value.
uint total_of(uint value) { return kStateHistogram + 256u * params.digit + value; }

// Of one digit's value side by side: neighbouring invocations touch neighbouring words.
uint counter_of(uint value, uint tile) {
    return kStateArray + 2u * params.population + value * params.tile_count + tile;
}

#endif
