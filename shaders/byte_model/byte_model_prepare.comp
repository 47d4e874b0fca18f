// SPDX-License-Identifier: Apache-2.0
// byte_model, first half: the weights as packed words, and the noise of pair_count pairs as bytes, in the order in which
// byte_model reads them (byte_model_layout.glsl). One invocation makes one word of weights, or of one pair 8 rows of a
// factor with all their rank columns, whole blocks of noise. Bindings, constants: yolk/internal/abi/byte_model.h. No
// shared memory. Class E.
// Loops: RANK + 8 RANK + 2 RANK * 5 iterations.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "byte_model_layout.glsl"
#include "philox.glsl"

layout(set = 0, binding = kBindParameters, scalar) readonly restrict buffer Parameters { float parameters[]; };
layout(set = 0, binding = kBindScratch, scalar) writeonly restrict buffer Scratch { uint scratch[]; };

const uint kDomainA = 0u << 24;
const uint kDomainB = 1u << 24;
const uint kDomainVector = 2u << 24;

// The parameter of a word of weights: what is left of the word's number in it, its first element, its extents.
uint left = 0u, first_element = 0u, rows = 0u, columns = 0u;
bool is_found = false;

void try_weights(uint with_rows, uint with_columns) {
    uint words = with_rows * with_columns / 4u;
    if (is_found) return;
    if (left < words) {
        is_found = true;
        rows = with_rows;
        columns = with_columns;
    } else {
        left -= words;
        first_element += 4u * words;
    }
}

void find_weights(uint word) {
    left = word;
    try_weights(kByteValues, WIDTH);
    uint layer = is_found ? 0u : min(left / W_LAYER, LAYERS);
    left -= layer * W_LAYER;
    first_element += layer * 4u * W_LAYER;
    if (layer < LAYERS) {
        try_weights(1u, WIDTH);
        try_weights(WIDTH, WIDTH);
        try_weights(WIDTH, WIDTH);
        try_weights(1u, WIDTH);
        try_weights(WIDTH, WIDTH);
        try_weights(WIDTH, WIDTH);
        try_weights(1u, WIDTH);
        try_weights(1u, WIDTH);
        try_weights(4u * WIDTH, WIDTH);
        try_weights(WIDTH, 4u * WIDTH);
    }
    try_weights(1u, WIDTH);
    try_weights(kByteValues, WIDTH);
}

uint packed_element(uint element, uint place) {
    return (uint(exact_to_int(parameters[element + place])) & 0xFFu) << (8u * place);
}

void pack_weights(uint word) {
    find_weights(word);
    uint quads = max(rows / 4u, 1u);
    uint k = rows == 1u ? left : left / 4u / quads;
    uint row = rows == 1u ? 0u : left / 4u % quads * 4u + left % 4u;
    uint element = first_element + row * columns + 4u * k;
    scratch[word] = packed_element(element, 0u) | packed_element(element, 1u) | packed_element(element, 2u) |
                    packed_element(element, 3u);
}

// The factor of a block of noise: what is left of the block's number in it, its first word, its stream.
uint words_before = 0u, parameter = 0u, domain = 0u, factor_rows = 0u, factor_rank = 0u;

void try_factor(uint in_domain, uint with_rows) {
    if (is_found) return;
    uint ranks = in_domain == kDomainVector ? 1u : RANK;
    if (left < with_rows / 8u) {
        is_found = true;
        domain = in_domain;
        factor_rows = with_rows;
        factor_rank = ranks;
    } else {
        left -= with_rows / 8u;
        words_before += with_rows / 4u * ranks;
        parameter += in_domain == kDomainA ? 0u : 1u;
    }
}
void try_matrix(uint with_rows, uint with_columns) {
    try_factor(kDomainA, with_rows);
    try_factor(kDomainB, with_columns);
}

const uint LAYER_BLOCKS = 22u * WIDTH / 8u;

void find_factor(uint block) {
    left = block;
    try_matrix(kByteValues, WIDTH);
    uint layer = is_found ? 0u : min(left / LAYER_BLOCKS, LAYERS);
    left -= layer * LAYER_BLOCKS;
    words_before += layer * N_LAYER;
    parameter += layer * LAYER_PARAMETERS;
    if (layer < LAYERS) {
        try_factor(kDomainVector, WIDTH);
        try_matrix(WIDTH, WIDTH);
        try_matrix(WIDTH, WIDTH);
        try_factor(kDomainVector, WIDTH);
        try_matrix(WIDTH, WIDTH);
        try_matrix(WIDTH, WIDTH);
        try_factor(kDomainVector, WIDTH);
        try_factor(kDomainVector, WIDTH);
        try_matrix(4u * WIDTH, WIDTH);
        try_matrix(WIDTH, 4u * WIDTH);
    }
    try_factor(kDomainVector, WIDTH);
    try_matrix(kByteValues, WIDTH);
}

const uint MOST_ELEMENTS = 8u * RANK;
int elements[MOST_ELEMENTS];  // [row, column] of the factor's 8 rows

void draw_block(uint block, uint pair) {
    find_factor(block);
    for (uint i = 0u; i < factor_rank; ++i) {
        uvec4 words = philox4x32(uvec4(left * factor_rank + i, parameter | domain, params.first_pair + pair, params.time),
                                 uvec2(params.seed_low, params.seed_high));
        for (uint j = 0u; j < 4u; ++j) {
            ivec2 both = nibble_noise(words[j]);
            uint at = exact_index(8u * i + 2u * j, MOST_ELEMENTS - 1u);
            elements[at] = both.x;
            elements[at + 1u] = both.y;
        }
    }
    uint base = params.weight_words + pair * params.noise_words + words_before + 2u * left;
    for (uint i = 0u; i < 2u * factor_rank; ++i) {
        uint column = i / 2u;
        uint word = 0u;
        for (uint j = 0u; j < 4u; ++j)
            word |= (uint(elements[exact_index((4u * (i % 2u) + j) * factor_rank + column, MOST_ELEMENTS)]) & 0xFFu)
                    << (8u * j);
        scratch[base + column * (factor_rows / 4u) + i % 2u] = word;
    }
}

void main() {
    uint index = (gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x) * WORKGROUP_SIZE + gl_LocalInvocationID.x;
    if (index < params.weight_words) {
        pack_weights(index);
        return;
    }
    index -= params.weight_words;
    uint blocks = 2u * (kByteValues / 8u + WIDTH / 8u) + LAYERS * LAYER_BLOCKS + WIDTH / 8u;
    if (MEAN_ONLY == 0u && index < params.pair_count * blocks) draw_block(index % blocks, index / blocks);
}
