// SPDX-License-Identifier: Apache-2.0
// Noise (docs/kernels/noise.md) as bytes, four elements to a word: a quarter of the registers. Class E.
#ifndef YOLK_LIB_PACKED_BYTES_GLSL
#define YOLK_LIB_PACKED_BYTES_GLSL

// Of one drawn word: the sums of the four 4-bit fields of both half words, 0 ... 60, each in its half. An element is 30
// less.
uint nibble_sums(uint word) {
    uint pairs = (word & 0x0F0F0F0Fu) + ((word >> 4) & 0x0F0F0F0Fu);
    return (pairs & 0x00FF00FFu) + ((pairs >> 8) & 0x00FF00FFu);
}

// Elements 4k ... 4k + 3 of a stream from two drawn words: in bytes 0, 2, 1 and 3, each 30 more than its element.
uint pack_noise(uint first, uint second) { return nibble_sums(first) | nibble_sums(second) << 8; }

// Element 4k + place of the word, as a float. Exact.
float packed_noise(uint word, uint place) {
    precise float element = float((word >> ((place & 1u) * 16u + (place & 2u) * 4u)) & 0xFFu) - 30.0;
    return element;
}

#endif
