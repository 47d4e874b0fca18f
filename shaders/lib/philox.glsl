// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10 and the noise of the numeric contract; the host's forms are in yolk/internal/core/philox.hpp and noise.hpp.
// Integers only: class E. Unrolled by hand: a ten-round loop would spend a CPU driver's loop limit tenfold
// (docs/quirks.md).
#ifndef YOLK_LIB_PHILOX_GLSL
#define YOLK_LIB_PHILOX_GLSL

uvec4 philox_round(uvec4 counter, uvec2 key) {
    uint high0, low0, high1, low1;
    umulExtended(0xD2511F53u, counter.x, high0, low0);
    umulExtended(0xCD9E8D57u, counter.z, high1, low1);
    return uvec4(high1 ^ counter.y ^ key.x, low1, high0 ^ counter.w ^ key.y, low0);
}

uvec4 philox4x32(uvec4 counter, uvec2 key) {
    const uvec2 weyl = uvec2(0x9E3779B9u, 0xBB67AE85u);
    counter = philox_round(counter, key);
    counter = philox_round(counter, key + weyl);
    counter = philox_round(counter, key + 2u * weyl);
    counter = philox_round(counter, key + 3u * weyl);
    counter = philox_round(counter, key + 4u * weyl);
    counter = philox_round(counter, key + 5u * weyl);
    counter = philox_round(counter, key + 6u * weyl);
    counter = philox_round(counter, key + 7u * weyl);
    counter = philox_round(counter, key + 8u * weyl);
    return philox_round(counter, key + 9u * weyl);
}

// The sums of the four 4-bit fields of both half words, minus 30: elements 2k (low half) and 2k + 1 of a block.
ivec2 nibble_noise(uint word) {
    uint pairs = (word & 0x0F0F0F0Fu) + ((word >> 4) & 0x0F0F0F0Fu);
    uint sums = (pairs & 0x00FF00FFu) + ((pairs >> 8) & 0x00FF00FFu);
    return ivec2(sums & 0xFFFFu, sums >> 16) - 30;
}

#endif
