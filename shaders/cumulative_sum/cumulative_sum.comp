// SPDX-License-Identifier: Apache-2.0
// cumulative_sum: running sums within chunks of 1,024 elements of the middle dimension of in[outer, columns, inner], and
// each chunk's total. Bindings, constants: yolk/internal/abi/cumulative_sum.h. A chunk is 32 runs of 32 elements: within a run
// one after the other from +0 on, then the runs' totals likewise; an element is the sum of the runs before plus the sum
// within its run. Two ways, two modules, the same bits:
//   by group       CHUNK_LANES invocations per chunk; elements go through shared memory in rows of 33. All of them load and
//                  store, the first 32 sum a run each
//   by invocation  (SUM_BY_INVOCATION) one invocation per chunk; no barrier and no shared memory; neighbours in a
//                  workgroup are neighbours along `inner`
// Grid folded over x and y; no subgroup assumption. May write where it reads: each element by the invocations that have
// read it.
// Exactness: class P by the product rule: inputs below 2^-100 are zero, so that every sum is a multiple of 2^-123.
// Loops: by group 64 iterations and 2,048 / CHUNK_LANES, by invocation 1,056.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/cumulative_sum.h"
#include "yolk/exact/exact_elementwise.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;

layout(set = 0, binding = kBindIn, scalar) readonly buffer In { uint in_[]; };
layout(set = 0, binding = kBindOut, scalar) writeonly buffer Out { uint out_[]; };
layout(set = 0, binding = kBindTotals, scalar) writeonly buffer Totals { uint totals_[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };

float element_at(uint place) { return exact_flush(uintBitsToFloat(in_[place])); }

#ifdef SUM_BY_INVOCATION

void main() {
    uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    uint unit = group * WORKGROUP_SIZE + gl_LocalInvocationID.x;
    if (unit >= params.count) return;
    uint lane = unit % params.inner;
    uint chunk = unit / params.inner % params.chunks;
    uint outer = unit / params.inner / params.chunks;
    uint left = params.columns - chunk * kChunk;
    uint place = (outer * params.columns + chunk * kChunk) * params.inner + lane;
    precise float before = 0.0;
    for (uint run = 0u; run < kRuns && run * kRun < left; ++run) {
        uint length = min(kRun, left - run * kRun);
        precise float within = 0.0;
        for (uint k = 0u; k < length; ++k) {
            within = within + element_at(place);
            precise float sum = before + within;
            out_[place] = exact_number_bits(sum, false);
            place += params.inner;
        }
        before = before + within;
    }
    if (params.has_totals != 0u)
        totals_[(outer * params.inner + lane) * params.chunks + chunk] = exact_number_bits(before, false);
}

#else

layout(constant_id = kSpecChunkLanes) const uint CHUNK_LANES = 32;

const uint kStride = kRun + 1u;
const uint kChunksHere = WORKGROUP_SIZE / CHUNK_LANES;
shared float words[kChunksHere * kRuns * kStride];
shared float run_totals[kChunksHere * kRuns];
shared float run_before[kChunksHere * kRuns];

void main() {
    uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    uint lane = gl_LocalInvocationID.x % CHUNK_LANES;
    uint here = gl_LocalInvocationID.x / CHUNK_LANES;
    uint unit = group * kChunksHere + here;
    bool is_idle = unit >= params.count;
    uint row = unit / params.chunks;
    uint chunk = unit % params.chunks;
    uint left = is_idle ? 0u : params.columns - chunk * kChunk;
    uint place = (row / params.inner * params.columns + chunk * kChunk) * params.inner + row % params.inner;
    uint first_word = here * kRuns * kStride;
    for (uint k = lane; k < kChunk; k += CHUNK_LANES) {
        float element = 0.0;
        if (k < left) element = element_at(place + k * params.inner);
        words[first_word + k / kRun * kStride + k % kRun] = element;
    }
    barrier();
    precise float within = 0.0;
    if (lane < kRuns) {
        for (uint k = 0u; k < kRun; ++k) {
            uint word = first_word + lane * kStride + k;
            within = within + words[word];
            words[word] = within;
        }
        run_totals[here * kRuns + lane] = within;
    }
    barrier();
    if (lane < kRuns) {
        precise float before = 0.0;
        for (uint run = 0u; run < lane; ++run) before = before + run_totals[here * kRuns + run];
        run_before[here * kRuns + lane] = before;
        precise float total = before + within;
        if (lane == kRuns - 1u && !is_idle && params.has_totals != 0u)
            totals_[row * params.chunks + chunk] = exact_number_bits(total, false);
    }
    barrier();
    for (uint k = lane; k < kChunk; k += CHUNK_LANES) {
        precise float sum = run_before[here * kRuns + k / kRun] + words[first_word + k / kRun * kStride + k % kRun];
        if (k < left) out_[place + k * params.inner] = exact_number_bits(sum, false);
    }
}

#endif
