// SPDX-License-Identifier: Apache-2.0
// How statistics get into the state's first words: sums and maxima of integers, so any order gives the same words.
//   by invocation                  each adds its own to the state; no barrier and no shared memory in the module
//   by group (FITNESS_BY_GROUP)    first within the workgroup, in shared memory; then each word is added once per
//                                  workgroup, since additions to one word of memory wait for each other on GPUs
// The kernel calls TOTALS_BEGIN and TOTALS_END outside of branches. A word's total within a workgroup stays below 2^32
// wherever the state's does.
#ifndef YOLK_FITNESS_TOTALS_GLSL
#define YOLK_FITNESS_TOTALS_GLSL

#ifdef FITNESS_BY_GROUP

shared uint totals[kStateHistogram];

bool is_largest(uint word) {
    return word <= kStateWorst || word == kStateFirstNotFinite || word == kStateDifference;
}

void begin_totals() {
    for (uint word = gl_LocalInvocationID.x; word < kStateHistogram; word += WORKGROUP_SIZE) totals[word] = 0u;
    barrier();
}

void end_totals() {
    barrier();
    for (uint word = gl_LocalInvocationID.x; word < kStateHistogram; word += WORKGROUP_SIZE) {
        uint total = totals[word];
        if (total == 0u) continue;
        if (is_largest(word)) atomicMax(state[word], total);
        else atomicAdd(state[word], total);
    }
}

#define TOTALS_BEGIN begin_totals();
#define TOTALS_END end_totals();
#define TOTAL_ADD(word, value) atomicAdd(totals[word], value)
#define TOTAL_MAX(word, value) atomicMax(totals[word], value)

#else

#define TOTALS_BEGIN
#define TOTALS_END
#define TOTAL_ADD(word, value) atomicAdd(state[word], value)
#define TOTAL_MAX(word, value) atomicMax(state[word], value)

#endif

#endif
