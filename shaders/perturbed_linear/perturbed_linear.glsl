// SPDX-License-Identifier: Apache-2.0
// What the kernels of perturbed layers share: members, and noise in the portions that they use at once. The including
// shader has included the ABI header and exact_math.h.
#ifndef YOLK_PERTURBED_LINEAR_GLSL
#define YOLK_PERTURBED_LINEAR_GLSL
#include "philox.glsl"

layout(constant_id = kSpecRank) const uint RANK = 1;
layout(constant_id = kSpecAntithetic) const uint ANTITHETIC = 1;

const uint MEMBERS_OF_PAIR = 1u + ANTITHETIC;  // without antithetic sampling a member is its own pair

// Rho that are handled at once: all, or eight from a multiple of eight on.
const uint CHUNK = RANK < 8u ? RANK : 8u;
// One step over k of a projection: as few k as whole blocks of noise hold, and those blocks. Above rank 8 one k, of
// whose elements a chunk is used.
const uint STEP_K = RANK >= 8u ? 1u : RANK % 4u == 0u ? 2u : RANK % 2u == 0u ? 4u : 8u;
const uint STEP_BLOCKS = RANK > 8u ? 1u : STEP_K * RANK / 8u;

// +scale on side 0, -scale on side 1, 0 for the mean. Without antithetic sampling there is no side 1.
float scale_of(int member) {
    float side = float(1 - 2 * (member & int(ANTITHETIC)));
    precise float scale = params.scale * side;
    return mix(scale, 0.0, member < 0);
}

// Both sides of a pair draw the same block.
uvec4 noise_words(uint stream, uint block, int pair) {
    return philox4x32(uvec4(block, stream, uint(pair), params.time), uvec2(params.seed_low, params.seed_high));
}

// The CHUNK elements from `first` on, a multiple of RANK plus one of 8, two to a word. They lie in one block where the
// rank divides 8 or is a multiple of it; only other ranks draw two.
uvec4 noise_from(uint stream, uint first, int pair) {
    uvec4 words = noise_words(stream, first / 8u, pair);
    if (RANK % 8u != 0u) {
        uvec4 next = uvec4(0u);
        if (RANK != 1u && RANK != 2u && RANK != 4u) next = noise_words(stream, first / 8u + 1u, pair);
        bvec4 four = bvec4((first & 4u) != 0u);
        bvec4 two = bvec4((first & 2u) != 0u);
        bvec4 one = bvec4((first & 1u) != 0u);
        words = mix(words, uvec4(words.zw, next.xy), four);
        next = mix(next, next.zwzw, four);
        words = mix(words, uvec4(words.yzw, next.x), two);
        next = mix(next, next.yyyy, two);
        words = mix(words, (words >> 16) | (uvec4(words.yzw, next.x) << 16), one);
    }
    return words;
}

// Element i of eight in four words.
float noise_at(uvec4 words, uint i) {
    ivec2 noise = nibble_noise(words[i / 2u]);
    return float(i % 2u == 0u ? noise.x : noise.y);
}

float step_noise[STEP_K * CHUNK];  // [k, rho]

// The noise of k ... k + STEP_K - 1, k a multiple of STEP_K, and of rho chunk * 8 ... chunk * 8 + CHUNK - 1.
void draw_step(uint stream, uint k, uint chunk, int pair) {
    [[unroll]] for (uint b = 0u; b < STEP_BLOCKS; ++b) {
        uvec4 words;
        if (RANK > 8u) words = noise_from(stream, k * RANK + chunk * 8u, pair);
        else words = noise_words(stream, k / STEP_K * STEP_BLOCKS + b, pair);
        [[unroll]] for (uint e = 0u; e < 8u; ++e) step_noise[b * 8u + e] = noise_at(words, e);
    }
}

#endif
