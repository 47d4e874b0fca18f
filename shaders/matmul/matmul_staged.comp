// SPDX-License-Identifier: Apache-2.0
// matmul with staging: operands pass through shared memory (matmul_staging.glsl). Layout, bindings, constants:
// yolk/internal/abi/matmul.h.
// Exactness: with MATMUL_EXACT class P by the operand rule, one ascending chain over k per output, whatever the tile (the
// zeros past the last k change no sum, which is never -0); else class T.
// Loops (after unrolling), one after the other: (end_k - first_k) / BLOCK_K iterations, TILE_M * TILE_N / 4. Shared memory: of one
// or two stages, 4 BLOCK_K (BLOCK_M + BLOCK_N + 2 kStagedPadding) bytes each.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#ifdef MATMUL_STORAGE16
#extension GL_EXT_shader_16bit_storage : require
#endif
#define MATMUL_STAGED 1
#include "yolk/internal/abi/matmul.h"

layout(push_constant, scalar) uniform PushConstants { Params params; };
// One buffer, element by element and four at a time.
layout(set = 0, binding = kBindOut, scalar) buffer Out { float values[]; } out_;
layout(set = 0, binding = kBindOut, scalar) writeonly buffer Out4 { vec4 values[]; } out4_;
#include "matmul_batch.glsl"
#include "matmul_staging.glsl"
#include "matmul_output.glsl"

void main() {
    TilePlace place = place_of_invocation(params.m, params.n, params.batch);
    if (place.split >= params.split_count) return;  // the same in the whole workgroup
    uint first_k = params.first_k + place.split * params.split_k;
    uint end_k = min(first_k + params.split_k, params.end_k);
    begin_sums(place);
    add_staged_products(place, first_k, end_k);
    store_sums(place);
}
