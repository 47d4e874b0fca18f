// SPDX-License-Identifier: Apache-2.0
// matmul without staging: every invocation reads what its TILE_M x TILE_N sums need straight from the buffers. No
// shared memory and no barrier in the module: on CPU drivers a barrier makes every workgroup a set of coroutines.
// With MATMUL_TEXEL the operands are texel buffers, which CPU drivers read several times faster. With MATMUL_UNIFORM a is
// a uniform buffer of at most 64 KiB: for workgroups of one row of tiles its elements are the same in all invocations,
// which lavapipe reads faster from there than from a storage buffer. Layout, bindings, constants: yolk/internal/abi/matmul.h.
// Exactness: with MATMUL_EXACT class P by the operand rule, one ascending chain over k per output, whatever the tile; else
// class T.
// Loops (after unrolling), one after the other: (end_k - first_k) / BLOCK_K iterations, BLOCK_K - 1, TILE_M * TILE_N.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#ifdef MATMUL_STORAGE16
#extension GL_EXT_shader_16bit_storage : require
#endif
#include "yolk/internal/abi/matmul.h"

layout(push_constant, scalar) uniform PushConstants { Params params; };
// One buffer, element by element and four at a time.
layout(set = 0, binding = kBindOut, scalar) buffer Out { float values[]; } out_;
layout(set = 0, binding = kBindOut, scalar) writeonly buffer Out4 { vec4 values[]; } out4_;
#include "matmul_batch.glsl"
#include "matmul_tile.glsl"
#include "matmul_output.glsl"

void main() {
    TilePlace place = place_of_invocation(params.m, params.n, params.batch);
    if (place.split >= params.split_count) return;
    locate_operands(place);
    begin_sums(place);
    uint first_k = params.first_k + place.split * params.split_k;
    add_products(first_k, min(first_k + params.split_k, params.end_k));
    store_sums(place);
}
