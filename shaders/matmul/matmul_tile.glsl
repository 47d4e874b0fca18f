// SPDX-License-Identifier: Apache-2.0
// The register tile of matmul and of perturbed_linear: TILE_M x TILE_N sums of one invocation, without staging and
// without a barrier. The including shader has named `params`, and says where matrices begin (matmul_batch.glsl).
// All loops over tiles are unrolled by us before a driver sees them (docs/adr/0008), so arrays are registers. Four
// columns, or four k, to a vector: a quarter of the instructions for whoever compiles them.
#ifndef YOLK_MATMUL_TILE_GLSL
#define YOLK_MATMUL_TILE_GLSL
#include "matmul_common.glsl"
#include "matmul_operands.glsl"

vec4 sums[TILE_M * GROUPS_N];  // [row, group of four columns]
uint a_starts[TILE_M];  // of each row of the tile in a, its first element of k = 0
uint b_starts[TILE_N];  // of each column in b
uint a_starts4[TILE_M];  // the same in vectors of four
uint b_starts4[TILE_N];
vec4 a_block[TILE_M * BLOCK_K / 4u];  // [row, four k]
vec4 b_block[BLOCK_K * GROUPS_N];     // [k, group of four columns]

// Rows and columns past the last one are computed as the last one and not stored, so that no read is out of bounds.
void locate_operands(TilePlace place) {
    uint a_base = a_base_of(place.batch);
    uint b_base = b_base_of(place.batch);
    [[unroll]] for (uint i = 0u; i < TILE_M; ++i) {
        uint row = row_of(place, i);
        if (RAGGED == 1u) row = min(row, params.m - 1u);
        a_starts[i] = a_base + (TRANSPOSE_A == 1u ? row : row * params.a_stride);
        a_starts4[i] = a_starts[i] / 4u;
    }
    [[unroll]] for (uint j = 0u; j < TILE_N; ++j) {
        uint column = column_of(place, j);
        if (RAGGED == 1u) column = min(column, params.n - 1u);
        b_starts[j] = b_base + (TRANSPOSE_B == 1u ? column * params.b_stride : column);
        b_starts4[j] = b_starts[j] / 4u;
    }
}

void multiply(uint sum, float a, vec4 b) {
#ifdef MATMUL_EXACT
    precise vec4 product = a * b;
    precise vec4 next = sums[sum] + product;
    sums[sum] = next;
#else
    sums[sum] = fma(vec4(a), b, sums[sum]);
#endif
}

// Of row i, elements k ... k + 3.
vec4 a_scalars(uint i, uint k) {
    uint step = TRANSPOSE_A == 1u ? params.a_stride : 1u;
    uint start = a_starts[i] + k * step;
    return vec4(A_AT(start), A_AT(start + step), A_AT(start + 2u * step), A_AT(start + 3u * step));
}

// Of step k, the columns of group j.
vec4 b_scalars(uint j, uint k) {
    uint at = TRANSPOSE_B == 1u ? k : k * params.b_stride;
    return vec4(B_AT(b_starts[4u * j] + at), B_AT(b_starts[4u * j + 1u] + at),
                B_AT(b_starts[4u * j + 2u] + at), B_AT(b_starts[4u * j + 3u] + at));
}

// All rows at once, where vectors run across them.
void load_a_columns(uint k) {
    [[unroll]] for (uint q = 0u; q < BLOCK_K / 4u; ++q) {
        [[unroll]] for (uint i = 0u; i < TILE_M / 4u; ++i) {
            uint step = params.a_stride / 4u;
            uint at = a_starts4[4u * i] + (k + 4u * q) * step;
            vec4 k0 = A4_AT(at);
            vec4 k1 = A4_AT(at + step);
            vec4 k2 = A4_AT(at + 2u * step);
            vec4 k3 = A4_AT(at + 3u * step);
            a_block[(4u * i) * (BLOCK_K / 4u) + q] = operand(vec4(k0.x, k1.x, k2.x, k3.x));
            a_block[(4u * i + 1u) * (BLOCK_K / 4u) + q] = operand(vec4(k0.y, k1.y, k2.y, k3.y));
            a_block[(4u * i + 2u) * (BLOCK_K / 4u) + q] = operand(vec4(k0.z, k1.z, k2.z, k3.z));
            a_block[(4u * i + 3u) * (BLOCK_K / 4u) + q] = operand(vec4(k0.w, k1.w, k2.w, k3.w));
        }
    }
}

void load_a_row(uint i, uint k) {
    [[unroll]] for (uint q = 0u; q < BLOCK_K / 4u; ++q) {
        vec4 four = VECTOR_A == 1u ? A4_AT(a_starts4[i] + k / 4u + q) : a_scalars(i, k + 4u * q);
        a_block[i * (BLOCK_K / 4u) + q] = operand(four);
    }
}

void load_b_block(uint k) {
    if (VECTOR_B == 1u && TRANSPOSE_B == 1u) {
        [[unroll]] for (uint q = 0u; q < BLOCK_K / 4u; ++q) {
            [[unroll]] for (uint j = 0u; j < GROUPS_N; ++j) {
                vec4 c0 = B4_AT(b_starts4[4u * j] + k / 4u + q);
                vec4 c1 = B4_AT(b_starts4[4u * j + 1u] + k / 4u + q);
                vec4 c2 = B4_AT(b_starts4[4u * j + 2u] + k / 4u + q);
                vec4 c3 = B4_AT(b_starts4[4u * j + 3u] + k / 4u + q);
                b_block[(4u * q) * GROUPS_N + j] = operand(vec4(c0.x, c1.x, c2.x, c3.x));
                b_block[(4u * q + 1u) * GROUPS_N + j] = operand(vec4(c0.y, c1.y, c2.y, c3.y));
                b_block[(4u * q + 2u) * GROUPS_N + j] = operand(vec4(c0.z, c1.z, c2.z, c3.z));
                b_block[(4u * q + 3u) * GROUPS_N + j] = operand(vec4(c0.w, c1.w, c2.w, c3.w));
            }
        }
        return;
    }
    [[unroll]] for (uint q = 0u; q < BLOCK_K; ++q) {
        [[unroll]] for (uint j = 0u; j < GROUPS_N; ++j) {
            vec4 four = VECTOR_B == 1u ? B4_AT(b_starts4[4u * j] + (k + q) * (params.b_stride / 4u))
                                       : b_scalars(j, k + q);
            b_block[q * GROUPS_N + j] = operand(four);
        }
    }
}

// BLOCK_K steps of k, in ascending order for each sum. Row by row, so that a row's sums stay in registers for all of
// them, and its elements of a for no longer.
void add_block(uint k) {
    load_b_block(k);
    if (VECTOR_A == 1u && TRANSPOSE_A == 1u) load_a_columns(k);
    [[unroll]] for (uint i = 0u; i < TILE_M; ++i) {
        if (VECTOR_A == 0u || TRANSPOSE_A == 0u) load_a_row(i, k);
        [[unroll]] for (uint q = 0u; q < BLOCK_K; ++q) {
            float a = a_block[i * (BLOCK_K / 4u) + q / 4u][q % 4u];
            [[unroll]] for (uint j = 0u; j < GROUPS_N; ++j) multiply(i * GROUPS_N + j, a, b_block[q * GROUPS_N + j]);
        }
    }
}

// One step of k, element by element.
void add_step(uint k) {
    uint a_step = TRANSPOSE_A == 1u ? k * params.a_stride : k;
    [[unroll]] for (uint j = 0u; j < GROUPS_N; ++j) b_block[j] = operand(b_scalars(j, k));
    [[unroll]] for (uint i = 0u; i < TILE_M; ++i) {
        float a = operand(A_AT(a_starts[i] + a_step));
        [[unroll]] for (uint j = 0u; j < GROUPS_N; ++j) multiply(i * GROUPS_N + j, a, b_block[j]);
    }
}

// k in [first, end). first is a multiple of BLOCK_K. WHOLE_K: the number of k is one, too, so there is no rest.
void add_products(uint first, uint end) {
    uint k = first;
    for (; k + BLOCK_K <= end; k += BLOCK_K) add_block(k);
    if (WHOLE_K == 0u) {
        for (; k < end; ++k) add_step(k);
    }
}

#endif
