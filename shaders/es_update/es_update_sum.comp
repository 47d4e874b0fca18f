// SPDX-License-Identifier: Apache-2.0
// es_update, first half: partials[slice, element] = sum over the slice's pairs of q A B^T (matrices) or q V (vectors)
// for the elements of a window of tiles, noise regenerated here. One invocation = one 8x8 (with ES_UPDATE_WIDE 8x16)
// tile of a matrix, or 8 elements of a vector, times one slice of pairs. Tiles begin at multiples of 8 rows and
// columns, so the rows of A and B that a tile needs are whole noise blocks, RANK of them for each 8. Consecutive
// invocations take consecutive tiles of one slice, so a workgroup reads the same weights. Bindings, constants:
// yolk/internal/abi/es_update.h; with ES_UPDATE_SHARE, of a share of the pairs, yolk/internal/abi/update_share.h. No subgroup assumption,
// no shared memory. Class E with int8 weights: a slice has at most 16,384 / RANK pairs (RANK rounded up to a power of
// two), 16,384 * 127 * 30 * 30 < 2^31. With ES_UPDATE_F32 class T: one float chain per element in ascending order of
// pairs, then columns. Loop iterations per invocation: pairs_per_slice * (1 + 2 * RANK) + 32 (the search in the table)
// + 16 * kTileBlocks.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "update_abi.glsl"
#include "parameter_entries.glsl"
#include "philox.glsl"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 32;
layout(constant_id = kSpecRank) const uint RANK = 1;

// Not a specialization constant: SwiftShader executes what an `if` skips.
#ifdef ES_UPDATE_WIDE
const uint kTileBlocks = 2u;
#else
const uint kTileBlocks = 1u;
#endif

const uint kDomainA = 0u << 24;
const uint kDomainB = 1u << 24;
const uint kDomainVector = 2u << 24;

#ifdef ES_UPDATE_F32
#define Sum float
#define Sum4 vec4
#define TERM(weight, left, right) ((weight) * vec4((left) * (right)))
layout(set = 0, binding = kBindWeights, scalar) readonly restrict buffer Weights { float weights[]; };
float weight_of(uint pair) { return weights[pair]; }
#else
#define Sum int
#define Sum4 ivec4
#define TERM(weight, left, right) (((weight) * (left)) * (right))
layout(set = 0, binding = kBindWeights, scalar) readonly restrict buffer Weights { int weights[]; };
int weight_of(uint pair) { return bitfieldExtract(weights[pair / 4u], int(8u * (pair % 4u)), 8); }
#endif
layout(set = 0, binding = kBindPartials, scalar) writeonly restrict buffer Partials { Sum partials[]; };

int a[kTileEdge * RANK];
int b[kTileEdge * RANK * kTileBlocks];
// Row-major, one 8x8 block behind the other; a vector's tile uses the first two.
Sum4 sums[2 * kTileEdge * kTileBlocks];

uvec4 noise_words(uint block, uint parameter_and_domain, uint pair) {
    return philox4x32(uvec4(block, parameter_and_domain, pair, params.time), uvec2(params.seed_low, params.seed_high));
}

#define UNPACK(target, first, words)                                   \
    {                                                                  \
        ivec2 n0 = nibble_noise(words.x), n1 = nibble_noise(words.y);  \
        ivec2 n2 = nibble_noise(words.z), n3 = nibble_noise(words.w);  \
        target[first] = n0.x, target[first + 1u] = n0.y;               \
        target[first + 2u] = n1.x, target[first + 3u] = n1.y;          \
        target[first + 4u] = n2.x, target[first + 5u] = n2.y;          \
        target[first + 6u] = n3.x, target[first + 7u] = n3.y;          \
    }

#define ADD_ROW(block, row)                                                                \
    sums[2 * kTileEdge * (block) + 2 * row] += TERM(weight, a[row * RANK + column], low);  \
    sums[2 * kTileEdge * (block) + 2 * row + 1] += TERM(weight, a[row * RANK + column], high);

// The products of one 8x8 block. Unrolled over the rows so that the sums stay in registers, and to spare the loop limit
// of lavapipe 22.3 (docs/quirks.md).
#define ADD_BLOCK(block)                                                              \
    {                                                                                 \
        uint at = (block) * 8 * RANK + column;                                        \
        ivec4 low = ivec4(b[at], b[at + RANK], b[at + 2 * RANK], b[at + 3 * RANK]);   \
        at += 4 * RANK;                                                               \
        ivec4 high = ivec4(b[at], b[at + RANK], b[at + 2 * RANK], b[at + 3 * RANK]);  \
        ADD_ROW(block, 0) ADD_ROW(block, 1) ADD_ROW(block, 2) ADD_ROW(block, 3)       \
        ADD_ROW(block, 4) ADD_ROW(block, 5) ADD_ROW(block, 6) ADD_ROW(block, 7)       \
    }

void add_matrix_pair(Sum weight, uint parameter, uint pair, uint tile_row, uint tile_column) {
    for (uint block = 0u; block < RANK; ++block) {
        uvec4 words = noise_words(tile_row * RANK + block, parameter | kDomainA, pair);
        UNPACK(a, 8u * block, words)
        words = noise_words(tile_column * kTileBlocks * RANK + block, parameter | kDomainB, pair);
        UNPACK(b, 8u * block, words)
#ifdef ES_UPDATE_WIDE
        words = noise_words((tile_column * kTileBlocks + 1u) * RANK + block, parameter | kDomainB, pair);
        UNPACK(b, 8u * (RANK + block), words)
#endif
    }
    for (uint column = 0u; column < RANK; ++column) {
        ADD_BLOCK(0)
#ifdef ES_UPDATE_WIDE
        ADD_BLOCK(1)
#endif
    }
}

void add_vector_pair(Sum weight, uint parameter, uint pair, uint tile) {
    uvec4 words = noise_words(tile, parameter | kDomainVector, pair);
    sums[0] += TERM(weight, 1, ivec4(nibble_noise(words.x), nibble_noise(words.y)));
    sums[1] += TERM(weight, 1, ivec4(nibble_noise(words.z), nibble_noise(words.w)));
}

void store4(uint first, Sum4 values) {
    partials[first] = values.x;
    partials[first + 1u] = values.y;
    partials[first + 2u] = values.z;
    partials[first + 3u] = values.w;
}

#define STORE_ROW(block, row)                                                                           \
    store4(base + kTileEdge * (row * kTileBlocks + (block)), sums[2 * kTileEdge * (block) + 2 * row]);  \
    store4(base + kTileEdge * (row * kTileBlocks + (block)) + 4u, sums[2 * kTileEdge * (block) + 2 * row + 1]);
#define STORE_BLOCK(block)                                                           \
    STORE_ROW(block, 0) STORE_ROW(block, 1) STORE_ROW(block, 2) STORE_ROW(block, 3)  \
    STORE_ROW(block, 4) STORE_ROW(block, 5) STORE_ROW(block, 6) STORE_ROW(block, 7)

void main() {
    uint invocation = linear_invocation(WORKGROUP_SIZE);
    uint slice = invocation / params.tile_count;
    if (slice >= params.slice_count) return;
    uint tile = params.first_tile + invocation % params.tile_count;
    uint parameter = parameter_of_tile(tile);
    ParameterEntry entry = entries[parameter];
    tile -= entry.first_tile;
    bool is_vector = entry.kind == kKindVector;
    const uint kColumns = kTileEdge * kTileBlocks;
    uint tiles_across = (entry.columns + kColumns - 1u) / kColumns;
    uint tile_row = is_vector ? 0u : tile / tiles_across;
    uint tile_column = is_vector ? 0u : tile % tiles_across;

    for (uint i = 0u; i < 2u * kColumns; ++i) sums[i] = Sum4(0);
    uint first_pair = FIRST_PAIR(slice);
    uint end_pair = min(first_pair + params.pairs_per_slice, END_PAIR);
    for (uint pair = first_pair; pair < end_pair; ++pair) {
        Sum weight = weight_of(pair);
        if (weight == Sum(0)) continue;  // ties are common and cost nothing
        if (is_vector) add_vector_pair(weight, parameter, pair, tile);
        else add_matrix_pair(weight, parameter, pair, tile_row, tile_column);
    }

    uint unit = entry.first_unit + tile * (is_vector ? 1u : kColumns) - params.first_unit;
    uint base = kTileEdge * (slice * params.unit_count + unit);
    if (is_vector) {
        store4(base, sums[0]);
        store4(base + 4u, sums[1]);
        return;
    }
    STORE_BLOCK(0)
#ifdef ES_UPDATE_WIDE
    STORE_BLOCK(1)
#endif
}
