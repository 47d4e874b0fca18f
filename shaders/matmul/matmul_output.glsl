// SPDX-License-Identifier: Apache-2.0
// The sums of matmul's tiles between registers and `out_`.
#ifndef YOLK_MATMUL_OUTPUT_GLSL
#define YOLK_MATMUL_OUTPUT_GLSL
#include "matmul_epilogue.glsl"

layout(constant_id = kSpecPartial) const uint PARTIAL = 0;

uint out_base_of(TilePlace place) {
    return params.out_offset + (place.split * params.batch + place.batch) * params.out_batch_stride;
}

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

void store_element(TilePlace place, uint row_start, uint row, uint column, float sum) {
    // What is partial gets its epilogue in the last dispatch of its chain; split-K, in matmul_combine.
    float value = sum;
    if (PARTIAL == 0u || (params.split_count == 1u && params.end_k == params.k))
        value = finished(sum, place.batch, row, column);
    if (column_is_inside(column)) out_.values[row_start + column] = value;
}

void store_sums(TilePlace place) {
    uint base = out_base_of(place);
    [[unroll]] for (uint i = 0u; i < TILE_M; ++i) {
        uint row = row_of(place, i);
        if (row_is_inside(place, i)) {
            [[unroll]] for (uint j = 0u; j < GROUPS_N; ++j) {
                uint start = base + row * params.out_stride;
                vec4 four = sums[i * GROUPS_N + j];
                store_element(place, start, row, column_of(place, 4u * j), four.x);
                store_element(place, start, row, column_of(place, 4u * j + 1u), four.y);
                store_element(place, start, row, column_of(place, 4u * j + 2u), four.z);
                store_element(place, start, row, column_of(place, 4u * j + 3u), four.w);
            }
        }
    }
}

#endif
