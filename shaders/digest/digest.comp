// SPDX-License-Identifier: Apache-2.0
// digest: adds the order-free digest of an array of words to `sums`. With block b the words 4b ... 4b + 3, zero beyond
// the end:  (w0, w1, w2, w3) = Philox4x32-10(counter = block b, key = {b, array});  first += w0 + 2^32 w1,  second +=
// w2 + 2^32 w3, both modulo 2^64. Also counts the words that are not finite as fp32.
// Bindings, constants: yolk/internal/abi/digest.h. No scratch: whoever records it puts zeros into `sums` first.
// Work: one invocation takes BLOCKS blocks, a workgroup's size apart; the grid is folded over x and y. A workgroup adds
// its invocations' sums in shared memory and makes at most five atomic additions to `sums`. No subgroup assumption.
// Exactness: class E. Addition modulo 2^64 has no order, and a carry is counted where it occurs: the old value that an
// atomic addition returns is its own, so each overflow of a low word is seen once.
// Loops: BLOCKS iterations.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/digest.h"
#include "philox.glsl"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecBlocksPerInvocation) const uint BLOCKS = 1;

layout(push_constant, scalar) uniform PushConstants { Params params; };
layout(set = 0, binding = kBindIn, scalar) readonly restrict buffer In { uint in_[]; };
layout(set = 0, binding = kBindSums, scalar) restrict buffer Sums { uint sums[]; };

shared uint group_sums[kSumWords];

#define ADD_PAIR(memory, word, low, high)                                          \
    {                                                                              \
        uint carry_;                                                               \
        uaddCarry(atomicAdd(memory[word], low), low, carry_);                      \
        if ((high) + carry_ != 0u) atomicAdd(memory[(word) + 1u], (high) + carry_); \
    }

uint not_finite(uint word) { return (word & 0x7F800000u) == 0x7F800000u ? 1u : 0u; }

void add_wide(inout uint low, inout uint high, uint more_low, uint more_high) {
    uint carry;
    low = uaddCarry(low, more_low, carry);
    high += more_high + carry;
}

void main() {
    uint lane = gl_LocalInvocationID.x;
    for (uint word = lane; word < kSumWords; word += WORKGROUP_SIZE) group_sums[word] = 0u;
    barrier();
    uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    uint blocks = params.count / 4u + ((params.count & 3u) != 0u ? 1u : 0u);
    uint low0 = 0u, high0 = 0u, low1 = 0u, high1 = 0u, bad = 0u;
    for (uint i = 0u; i < BLOCKS; ++i) {
        uint block = (group * BLOCKS + i) * WORKGROUP_SIZE + lane;
        if (block >= blocks) break;
        uint first = 4u * block;
        uvec4 words = uvec4(in_[first], 0u, 0u, 0u);
        if (first + 1u < params.count) words.y = in_[first + 1u];
        if (first + 2u < params.count) words.z = in_[first + 2u];
        if (first + 3u < params.count) words.w = in_[first + 3u];
        bad += not_finite(words.x) + not_finite(words.y) + not_finite(words.z) + not_finite(words.w);
        uvec4 mixed = philox4x32(words, uvec2(block, params.array));
        add_wide(low0, high0, mixed.x, mixed.y);
        add_wide(low1, high1, mixed.z, mixed.w);
    }
    ADD_PAIR(group_sums, kSumFirst, low0, high0)
    ADD_PAIR(group_sums, kSumSecond, low1, high1)
    if (bad != 0u) atomicAdd(group_sums[kSumNotFinite], bad);
    barrier();
    if (lane != 0u) return;
    ADD_PAIR(sums, kSumFirst, group_sums[kSumFirst], group_sums[kSumFirst + 1u])
    ADD_PAIR(sums, kSumSecond, group_sums[kSumSecond], group_sums[kSumSecond + 1u])
    if (group_sums[kSumNotFinite] != 0u) atomicAdd(sums[kSumNotFinite], group_sums[kSumNotFinite]);
}
