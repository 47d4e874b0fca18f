// SPDX-License-Identifier: Apache-2.0
// The sums of matmul's tiles between registers and `out_`.
#ifndef YOLK_MATMUL_OUTPUT_GLSL
#define YOLK_MATMUL_OUTPUT_GLSL
#include "matmul_batch.glsl"
#include "matmul_epilogue.glsl"

layout(constant_id = kSpecPartial) const uint PARTIAL = 0;
layout(constant_id = kSpecVectorOut) const uint VECTOR_OUT = 0;

uint out_base_of(TilePlace place) { return out_base_of(place.split * params.batch + place.batch); }

// Zeros, or what the dispatch before stored of the same chains. Elements outside the matrix begin with those of the last
// row and column, and end nowhere.
void begin_sums(TilePlace place) {
    [[unroll]] for (uint i = 0u; i < TILE_M * GROUPS_N; ++i) sums[i] = vec4(0.0);
    if (PARTIAL == 0u || params.first_k == 0u) return;
    uint base = out_base_of(place);
    [[unroll]] for (uint i = 0u; i < TILE_M; ++i) {
        uint row = base + min(row_of(place, i), params.m - 1u) * params.out_stride;
        [[unroll]] for (uint j = 0u; j < GROUPS_N; ++j) {
            uint last = params.n - 1u;
            sums[i * GROUPS_N + j] = vec4(out_.values[row + min(column_of(place, 4u * j), last)],
                                          out_.values[row + min(column_of(place, 4u * j + 1u), last)],
                                          out_.values[row + min(column_of(place, 4u * j + 2u), last)],
                                          out_.values[row + min(column_of(place, 4u * j + 3u), last)]);
        }
    }
}

float output_of(TilePlace place, uint row, uint column, float sum) {
    // What is partial gets its epilogue in the last dispatch of its chain; split-K, in matmul_combine.
    if (PARTIAL == 1u && (params.split_count != 1u || params.end_k != params.k)) return sum;
    return finished(sum, place.batch, row, column);
}

void store_plainly(TilePlace place) {
    uint base = out_base_of(place);
    [[unroll]] for (uint i = 0u; i < TILE_M; ++i) {
        uint start = base + row_of(place, i) * params.out_stride;
        [[unroll]] for (uint j = 0u; j < GROUPS_N; ++j) {
            vec4 four = sums[i * GROUPS_N + j];
            // lavapipe stores lane by lane: an element of a vector takes .9 ns, one alone 1.9.
            if (VECTOR_OUT == 1u && NEIGHBOURS) {
                out4_.values[(start + column_of(place, 4u * j)) / 4u] = four;
                continue;
            }
            out_.values[start + column_of(place, 4u * j)] = four.x;
            out_.values[start + column_of(place, 4u * j + 1u)] = four.y;
            out_.values[start + column_of(place, 4u * j + 2u)] = four.z;
            out_.values[start + column_of(place, 4u * j + 3u)] = four.w;
        }
    }
}

// A loop, on purpose: unrolled, its conditions and epilogues are most of the module, and SwiftShader takes a minute to
// compile a tile of 16 x 8.
#ifdef MATMUL_STAGED
// The sums move up by a group in each iteration, so that the first one is always the one at hand: an array that a loop
// indexes is memory on GPUs (NVK: 256 bytes of scratch for a tile of 8 x 8).
void store_in_loop(TilePlace place) {
    uint base = out_base_of(place);
    for (uint g = 0u; g < TILE_M * GROUPS_N; ++g) {
        uint row = row_of(place, g / GROUPS_N);
        uint column = column_of(place, 4u * (g % GROUPS_N));
        [[unroll]] for (uint c = 0u; c < 4u; ++c) {
            if (row < params.m && column + c < params.n) {
                out_.values[base + row * params.out_stride + column + c] =
                    output_of(place, row, column + c, sums[0][c]);
            }
        }
        [[unroll]] for (uint i = 1u; i < TILE_M * GROUPS_N; ++i) sums[i - 1u] = sums[i];
    }
}
#else
// So the sums go through an array in memory here, once per tile.
void store_in_loop(TilePlace place) {
    vec4 finals[TILE_M * GROUPS_N];
    [[unroll]] for (uint i = 0u; i < TILE_M * GROUPS_N; ++i) finals[i] = sums[i];
    uint base = out_base_of(place);
    for (uint e = 0u; e < TILE_M * TILE_N; ++e) {
        uint row = row_of(place, e / TILE_N);
        uint column = column_of(place, e % TILE_N);
        if (row < params.m && column < params.n) {
            float sum = finals[e / 4u][e % 4u];
            out_.values[base + row * params.out_stride + column] = output_of(place, row, column, sum);
        }
    }
}
#endif

void store_sums(TilePlace place) {
    if (RAGGED == 0u && BIAS == 0u && ACTIVATION == kActivationIdentity && RESIDUAL == 0u) store_plainly(place);
    else store_in_loop(place);
}

#endif
