// SPDX-License-Identifier: Apache-2.0
// perturbed_linear, second half: out[instance, n] = sum over k of x_k W_n_k, then + sum over rho of
// projection[instance, rho] A_n_rho, A the integers of the stream of n, regenerated here. FUSED: each invocation makes
// the projections of its rows itself. Layout, bindings, constants: yolk/internal/abi/perturbed_linear.h. Between the dispatches
// of a split chain the outputs hold the partial sums.
// With BASE the sums over k were made before, by matmul: this adds the perturbation to them. Last, the ACTIVATION.
// Work: matmul's register tile, rows are instances; then for each pair that the tile's rows belong to, one draw for all
// of them, both sides. With MATMUL_TEXEL x and W are texel buffers; with MATMUL_UNIFORM x is read from uniform buffers
// in windows of 64 KiB, with MATMUL_UNIFORM_B W from one; with MATMUL_STAGED both pass through shared memory
// (matmul_staging.glsl), x is not shared and the projections are made before. No subgroup assumption.
// Exactness: with PERTURBED_LINEAR_FAST class T, fused multiply-adds; else class P by the operand rule. One chain per output, k ascending, then rho ascending; x, W and the projection
// are zero or at least 2^-40, so every sum is a multiple of 2^-103. Rows of other pairs, and rho past the last, add a
// zero, which changes no sum: none is ever -0. Any configuration gives the same bits.
// Loops (after unrolling), one after the other: (end_k - first_k) / BLOCK_K + BLOCK_K - 1 iterations; in the last
// dispatch, P the pairs of a tile, P * (k / STEP_K) where FUSED, then RANK / 8 * P, each rounded up.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#ifdef MATMUL_STORAGE16
#extension GL_EXT_shader_16bit_storage : require
#endif
#ifndef PERTURBED_LINEAR_FAST
#define MATMUL_EXACT 1
#endif
#include "yolk/internal/abi/perturbed_linear.h"

layout(constant_id = kSpecPartial) const uint PARTIAL = 0;
layout(constant_id = kSpecFused) const uint FUSED = 0;
layout(constant_id = kSpecInputIsShared) const uint INPUT_IS_SHARED = 0;
layout(constant_id = kSpecBase) const uint BASE = 0;
layout(constant_id = kSpecActivation) const uint ACTIVATION = 0;
layout(constant_id = kSpecVectorOut) const uint VECTOR_OUT = 0;

layout(push_constant, scalar) uniform PushConstants { Params params; };
// One buffer, element by element and four at a time.
layout(set = 0, binding = kBindOut, scalar) buffer Out { float values[]; } out_;
layout(set = 0, binding = kBindOut, scalar) buffer Out4 { vec4 values[]; } out4_;
layout(set = 0, binding = kBindProjection, scalar) readonly restrict buffer Projection { float values[]; } projection_;
uint a_base_of(uint batch) { return params.a_offset; }  // there is one product
uint b_base_of(uint batch) { return params.b_offset; }
#ifdef MATMUL_STAGED
#include "matmul_staging.glsl"
#else
#include "matmul_tile.glsl"
#endif
#include "activation.glsl"
#include "perturbed_linear.glsl"

// Whether eight columns are neighbours; as NEIGHBOURS, four of which share blocks of noise at small ranks.
#define EIGHT_NEIGHBOURS (TRANSPOSE_B == 1u && LANES_N == 1u && TILE_N % 8u == 0u)

float projections[TILE_M * CHUNK];  // of the tile's rows
int pairs[TILE_M];
vec4 group_noise[CHUNK];  // [rho, column of the group]
uvec4 group_words;

// Of member -1, the mean: -1. All its projections are zero, so its noise does not count.
int pair_of(uint instance) { return (params.first_member + int(instance / params.rows)) >> ANTITHETIC; }

uint instance_of(TilePlace place, uint i) {
    uint row = row_of(place, i);
    return params.first_instance + (RAGGED == 1u ? min(row, params.m - 1u) : row);
}

// The sums of the dispatch before, or of matmul. Columns past the last one take sums that are there, and are not stored.
void load_sums(TilePlace place) {
    uint last = params.n - (VECTOR_OUT == 1u && NEIGHBOURS ? 4u : 1u);
    [[unroll]] for (uint i = 0u; i < TILE_M; ++i) {
        uint instance = instance_of(place, i);
        uint row = (BASE == kBaseInA ? instance % params.rows : instance) * params.n;
        [[unroll]] for (uint j = 0u; j < GROUPS_N; ++j) {
            uvec4 at = row + uvec4(min(column_of(place, 4u * j), last), min(column_of(place, 4u * j + 1u), last),
                                   min(column_of(place, 4u * j + 2u), last), min(column_of(place, 4u * j + 3u), last));
            if (VECTOR_OUT == 1u && NEIGHBOURS) {
                if (BASE == kBaseInA) sums[i * GROUPS_N + j] = A4_AT(at.x / 4u);
                else sums[i * GROUPS_N + j] = out4_.values[at.x / 4u];
                continue;
            }
            if (BASE == kBaseInA) sums[i * GROUPS_N + j] = vec4(A_AT(at.x), A_AT(at.y), A_AT(at.z), A_AT(at.w));
            else sums[i * GROUPS_N + j] = vec4(out_.values[at.x], out_.values[at.y], out_.values[at.z],
                                               out_.values[at.w]);
        }
    }
}

void begin(TilePlace place) {
#ifndef MATMUL_STAGED
    locate_operands(place);
    [[unroll]] for (uint i = 0u; i < TILE_M; ++i) {
        if (INPUT_IS_SHARED == 1u) {
            a_starts[i] = instance_of(place, i) % params.rows * params.a_stride;
            a_starts4[i] = a_starts[i] / 4u;
        }
    }
#endif
    [[unroll]] for (uint i = 0u; i < TILE_M * GROUPS_N; ++i) sums[i] = vec4(0.0);
    if (BASE != 0u) load_sums(place);
    else if (PARTIAL == 1u && params.first_k != 0u) load_sums(place);
}

void store_element(uint row_start, uint column, float sum) {
    if (column_is_inside(column)) out_.values[row_start + column] = sum;
}

void store(TilePlace place) {
    [[unroll]] for (uint i = 0u; i < TILE_M; ++i) {
        if (row_is_inside(place, i)) {
            uint start = (params.first_instance + row_of(place, i)) * params.n;
            [[unroll]] for (uint j = 0u; j < GROUPS_N; ++j) {
                vec4 four = sums[i * GROUPS_N + j];
                if (VECTOR_OUT == 1u && NEIGHBOURS) {
                    uint column = column_of(place, 4u * j);
                    if (column_is_inside(column)) out4_.values[(start + column) / 4u] = four;
                    continue;
                }
                store_element(start, column_of(place, 4u * j), four.x);
                store_element(start, column_of(place, 4u * j + 1u), four.y);
                store_element(start, column_of(place, 4u * j + 2u), four.z);
                store_element(start, column_of(place, 4u * j + 3u), four.w);
            }
        }
    }
}

#ifndef MATMUL_STAGED
// The chains of the first half for the tile's rows, in the same order.
void project_rows(TilePlace place) {
    [[unroll]] for (uint i = 0u; i < TILE_M * CHUNK; ++i) projections[i] = 0.0;
    for (int pair = pairs[0]; pair <= pairs[TILE_M - 1u]; ++pair) {
        for (uint k = 0u; k < params.k; k += STEP_K) {
            draw_step(params.projection_stream, k, 0u, pair);
            [[unroll]] for (uint i = 0u; i < TILE_M; ++i) {
                [[unroll]] for (uint q = 0u; q < STEP_K; ++q) {
                    uint at = min(k + q, params.k - 1u);
                    float value = exact_flush_operand(A_AT(a_starts[i] + at));
                    float x = mix(0.0, value, k + q < params.k && pairs[i] == pair);
                    [[unroll]] for (uint rho = 0u; rho < CHUNK; ++rho) {
                        precise float product = x * step_noise[q * CHUNK + rho];
                        precise float next = projections[i * CHUNK + rho] + product;
                        projections[i * CHUNK + rho] = next;
                    }
                }
            }
        }
    }
    [[unroll]] for (uint i = 0u; i < TILE_M; ++i) {
        float scale = scale_of(params.first_member + int(instance_of(place, i) / params.rows));
        [[unroll]] for (uint rho = 0u; rho < CHUNK; ++rho) {
            precise float scaled = projections[i * CHUNK + rho] * scale;
            projections[i * CHUNK + rho] = exact_flush_operand(scaled);
        }
    }
}

#endif

void load_projections(TilePlace place, uint first_rho) {
    [[unroll]] for (uint i = 0u; i < TILE_M; ++i) {
        uint base = instance_of(place, i) * RANK;
        [[unroll]] for (uint r = 0u; r < CHUNK; ++r) {
            uint rho = first_rho + r;
            float value = projection_.values[base + min(rho, RANK - 1u)];
            projections[i * CHUNK + r] = mix(0.0, value, rho < RANK);
        }
    }
}

// The noise of group j's four columns and of rho first_rho ... first_rho + CHUNK - 1.
void draw_group(TilePlace place, uint j, uint first_rho, int pair) {
    uint column = column_of(place, 4u * j);
    if (NEIGHBOURS && RANK == 1u) {
        bool second_half = j % 2u == 1u;
        if (!(EIGHT_NEIGHBOURS && second_half)) group_words = noise_words(params.output_stream, column / 8u, pair);
        uvec2 two = mix(group_words.xy, group_words.zw, bvec2((column & 4u) != 0u));
        group_noise[0] = vec4(nibble_noise(two.x), nibble_noise(two.y));
    } else if (NEIGHBOURS && (RANK == 2u || RANK == 4u)) {
        uvec4 words = noise_words(params.output_stream, column * RANK / 8u, pair);
        uvec4 next = words;
        if (RANK == 4u) next = noise_words(params.output_stream, column / 2u + 1u, pair);
        [[unroll]] for (uint r = 0u; r < CHUNK; ++r) {
            // Column c's elements begin at c * RANK, those of columns 2 and 3 at rank 4 in the second block.
            uint third = RANK == 4u ? 0u : 2u * RANK;
            group_noise[r] = vec4(noise_at(words, r), noise_at(words, RANK + r), noise_at(next, third + r),
                                  noise_at(next, third + RANK + r));
        }
    } else {
        uvec4 w0 = noise_from(params.output_stream, column * RANK + first_rho, pair);
        uvec4 w1 = noise_from(params.output_stream, column_of(place, 4u * j + 1u) * RANK + first_rho, pair);
        uvec4 w2 = noise_from(params.output_stream, column_of(place, 4u * j + 2u) * RANK + first_rho, pair);
        uvec4 w3 = noise_from(params.output_stream, column_of(place, 4u * j + 3u) * RANK + first_rho, pair);
        [[unroll]] for (uint r = 0u; r < CHUNK; ++r)
            group_noise[r] = vec4(noise_at(w0, r), noise_at(w1, r), noise_at(w2, r), noise_at(w3, r));
    }
}

void add_perturbation(TilePlace place) {
    [[unroll]] for (uint i = 0u; i < TILE_M; ++i) pairs[i] = pair_of(instance_of(place, i));
#ifndef MATMUL_STAGED
    if (FUSED == 1u) project_rows(place);
#endif
    for (uint first_rho = 0u; first_rho < RANK; first_rho += CHUNK) {
        if (FUSED == 0u) load_projections(place, first_rho);
        for (int pair = pairs[0]; pair <= pairs[TILE_M - 1u]; ++pair) {
            [[unroll]] for (uint j = 0u; j < GROUPS_N; ++j) {
                draw_group(place, j, first_rho, pair);
                [[unroll]] for (uint i = 0u; i < TILE_M; ++i) {
                    [[unroll]] for (uint r = 0u; r < CHUNK; ++r) {
                        float projection = mix(0.0, projections[i * CHUNK + r], pairs[i] == pair);
                        multiply(i * GROUPS_N + j, projection, group_noise[r]);
                    }
                }
            }
        }
    }
}

void finish_sums() {
    if (ACTIVATION == kActivationIdentity) return;
    [[unroll]] for (uint i = 0u; i < TILE_M * GROUPS_N; ++i) {
        vec4 x = sums[i];
        sums[i] = vec4(activate(ACTIVATION, x.x), activate(ACTIVATION, x.y), activate(ACTIVATION, x.z),
                       activate(ACTIVATION, x.w));
    }
}

void main() {
    TilePlace place = place_of_invocation(params.m, params.n, 1u);
    if (place.split != 0u) return;
    begin(place);
#ifdef MATMUL_STAGED
    if (params.first_k < params.end_k) add_staged_products(place, params.first_k, params.end_k);
#else
    if (BASE == 0u) add_products(params.first_k, params.end_k);
#endif
    if (PARTIAL == 0u || params.end_k == params.k) {
        add_perturbation(place);
        finish_sums();
    }
    store(place);
}
