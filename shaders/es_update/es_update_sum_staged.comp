// SPDX-License-Identifier: Apache-2.0
// es_update, first half, as GPUs want it: the partial sums of es_update_sum, noise drawn once for a workgroup. One
// workgroup of 64 = a group of 8x8 tiles of a matrix (64x64 elements), or 64 tiles of a vector, times one slice of
// pairs; one invocation = one tile. For a few pairs at a time, the noise of the group's rows, times the weights, and of
// its columns goes to shared memory (16 blocks for each pair and rank column, where es_update_sum draws 128); a
// barrier; each tile adds its products. Groups may reach over a window's first and last tiles, which others take.
// Bindings, constants: yolk/internal/abi/es_update.h; with ES_UPDATE_SHARE, of a share of the pairs, yolk/internal/abi/update_share.h. No
// subgroup assumption.
// Class E with int8 weights: products and sums are floats, exact below 2^24, for a slice has at most 128 / RANK pairs
// (RANK rounded up to a power of two), 128 * 127 * 30 * 30 < 2^24. GPUs multiply floats four times as fast as integers.
// With ES_UPDATE_F32 class T: one float chain per element in ascending order of pairs, then columns.
// Loop iterations per invocation: for each PAIRS pairs STAGED / 64 draws, 8 writes each, and STEPS products; 32 for the
// search in the table. A vector's are one per pair.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "update_abi.glsl"
#include "parameter_entries.glsl"
#include "philox.glsl"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 64;
layout(constant_id = kSpecRank) const uint RANK = 1;

const uint kDomainA = 0u << 24;
const uint kDomainB = 1u << 24;
const uint kDomainVector = 2u << 24;

#ifdef ES_UPDATE_F32
#define Sum4 vec4
layout(set = 0, binding = kBindWeights, scalar) readonly restrict buffer Weights { float weights[]; };
float weight_of(uint pair) { return weights[pair]; }
layout(set = 0, binding = kBindPartials, scalar) writeonly restrict buffer Partials { float partials[]; };
#else
#define Sum4 ivec4
layout(set = 0, binding = kBindWeights, scalar) readonly restrict buffer Weights { int weights[]; };
float weight_of(uint pair) { return float(bitfieldExtract(weights[pair / 4u], int(8u * (pair % 4u)), 8)); }
layout(set = 0, binding = kBindPartials, scalar) writeonly restrict buffer Partials { int partials[]; };
#endif

const uint kGroupElements = kTileEdge * kGroupEdge;  // rows and columns of a group
const uint kGroupTiles = kGroupEdge * kGroupEdge;
const uint kQuads = kGroupElements / 4u;
const uint kMostSteps = 8u;                     // 4 KiB of shared memory: a quarter of GCN's waves
const uint PAIRS = RANK > kMostSteps ? 1u : kMostSteps / RANK;  // of a stage
const uint STEPS = PAIRS * RANK;                // products of an element in a stage
const uint BLOCKS = kGroupEdge * RANK;          // noise blocks of a pair's rows, or columns
const uint STAGED = 2u * BLOCKS * PAIRS;

// [side][step][row or column]: A times the weights, then B.
shared vec4 operands_[2u * STEPS * kQuads];
vec4 sums[2u * kTileEdge];

uvec4 noise_words(uint block, uint parameter_and_domain, uint pair) {
    return philox4x32(uvec4(block, parameter_and_domain, pair, params.time), uvec2(params.seed_low, params.seed_high));
}

void stage(uint to, uint block, float scale, uvec4 words) {
    vec4 low = scale * vec4(nibble_noise(words.x), nibble_noise(words.y));
    vec4 high = scale * vec4(nibble_noise(words.z), nibble_noise(words.w));
    if (RANK == 1u) {
        operands_[to + 2u * block] = low;
        operands_[to + 2u * block + 1u] = high;
        return;
    }
    [[unroll]] for (uint i = 0u; i < 8u; ++i) {
        uint element = 8u * block + i;
        uint place = element / RANK;
        operands_[to + element % RANK * kQuads + place / 4u][place % 4u] = i < 4u ? low[i % 4u] : high[i % 4u];
    }
}

// The noise of pairs first ... first + PAIRS - 1; pairs from `end` on weigh nothing.
void stage_pairs(uint parameter, uint first, uint end, uvec2 group) {
    for (uint draw = gl_LocalInvocationID.x; draw < STAGED; draw += WORKGROUP_SIZE) {
        uint block = draw % BLOCKS;
        uint side = draw / BLOCKS % 2u;
        uint step = draw / (2u * BLOCKS);
        uint pair = min(first + step, end - 1u);
        float scale = side == 1u ? 1.0 : first + step < end ? weight_of(pair) : 0.0;
        uvec4 words = noise_words((side == 0u ? group.y : group.x) * BLOCKS + block,
                                  parameter | (side == 0u ? kDomainA : kDomainB), pair);
        stage((side * STEPS + step * RANK) * kQuads, block, scale, words);
    }
}

#define ADD_ROW(row, left)                                      \
    sums[2u * (row)] = fma(vec4(left), low, sums[2u * (row)]);  \
    sums[2u * (row) + 1u] = fma(vec4(left), high, sums[2u * (row) + 1u]);

void add_staged(uvec2 place) {
    for (uint step = 0u; step < STEPS; ++step) {
        uint from = (STEPS + step) * kQuads + 2u * place.x;
        vec4 low = operands_[from];
        vec4 high = operands_[from + 1u];
        from = step * kQuads + 2u * place.y;
        vec4 left = operands_[from];
        ADD_ROW(0, left.x) ADD_ROW(1, left.y) ADD_ROW(2, left.z) ADD_ROW(3, left.w)
        left = operands_[from + 1u];
        ADD_ROW(4, left.x) ADD_ROW(5, left.y) ADD_ROW(6, left.z) ADD_ROW(7, left.w)
    }
}

void add_vector_pair(uint parameter, uint pair, uint tile) {
    float weight = weight_of(pair);
    if (weight == 0.0) return;
    uvec4 words = noise_words(tile, parameter | kDomainVector, pair);
    sums[0] = fma(vec4(weight), vec4(nibble_noise(words.x), nibble_noise(words.y)), sums[0]);
    sums[1] = fma(vec4(weight), vec4(nibble_noise(words.z), nibble_noise(words.w)), sums[1]);
}

void store4(uint first, vec4 values) {
    Sum4 sum = Sum4(values);
    partials[first] = sum.x;
    partials[first + 1u] = sum.y;
    partials[first + 2u] = sum.z;
    partials[first + 3u] = sum.w;
}

#define STORE_ROW(row)                              \
    store4(base + kTileEdge * row, sums[2 * row]);  \
    store4(base + kTileEdge * row + 4u, sums[2 * row + 1]);

void main() {
    uint index = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    uint slice = index / params.group_count;
    if (slice >= params.slice_count) return;
    uint group = params.first_group + index % params.group_count;
    uint parameter = parameter_of_group(group);
    ParameterEntry entry = entries[parameter];
    group -= entry.first_group;
    uint first_pair = FIRST_PAIR(slice);
    uint end_pair = min(first_pair + params.pairs_per_slice, END_PAIR);

    [[unroll]] for (uint i = 0u; i < 2u * kTileEdge; ++i) sums[i] = vec4(0.0);
    uint tile;
    bool is_there;
    if (entry.kind == kKindVector) {
        tile = group * kGroupTiles + gl_LocalInvocationID.x;
        is_there = tile * kTileEdge < entry.rows;
        for (uint pair = first_pair; pair < end_pair; ++pair) add_vector_pair(parameter, pair, tile);
    } else {
        uint tiles_across = (entry.columns + kTileEdge - 1u) / kTileEdge;
        uint groups_across = (tiles_across + kGroupEdge - 1u) / kGroupEdge;
        uvec2 at = uvec2(group % groups_across, group / groups_across);
        uvec2 place = uvec2(gl_LocalInvocationID.x % kGroupEdge, gl_LocalInvocationID.x / kGroupEdge);
        uvec2 of_tile = kGroupEdge * at + place;
        tile = of_tile.y * tiles_across + of_tile.x;
        is_there = of_tile.x < tiles_across && of_tile.y * kTileEdge < entry.rows;
        for (uint pair = first_pair; pair < end_pair; pair += PAIRS) {
            barrier();
            stage_pairs(parameter, pair, end_pair, at);
            barrier();
            add_staged(place);
        }
    }
    uint of_window = entry.first_tile + tile - params.first_tile;  // wraps before the window's first tile
    if (!is_there || of_window >= params.tile_count) return;
    bool is_vector = entry.kind == kKindVector;
    uint unit = entry.first_unit + tile * (is_vector ? 1u : kTileEdge) - params.first_unit;
    uint base = kTileEdge * (slice * params.unit_count + unit);
    STORE_ROW(0)
    if (is_vector) return;
    STORE_ROW(1) STORE_ROW(2) STORE_ROW(3) STORE_ROW(4) STORE_ROW(5) STORE_ROW(6) STORE_ROW(7)
}
