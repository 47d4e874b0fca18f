// SPDX-License-Identifier: Apache-2.0
// es_update, second half: gradient[element] = (factor * coefficient) * sum over slices of partials[slice, element] for
// the elements of a window of tiles; 0 for frozen parameters. One invocation per partial sum of a slice (those beyond
// the edge of a parameter have nothing to do), then one per frozen element. Bindings, constants: yolk/internal/abi/es_update.h.
// No subgroup assumption, no shared memory. With int8 weights the slices are added as two-word integers (E), so any
// slicing gives the same sum; it is rounded once to the nearest fp32, ties to even, and multiplied in class P by the
// product rule (yolk/exact/exact_math.h). With ES_UPDATE_F32 class T: floats, slices ascending. Loop iterations per
// invocation: slice_count + 32 (the search in the table), or 32. With ES_UPDATE_SHARE class E: the two words of the sum
// are the result, of a share of the pairs (yolk/internal/abi/update_share.h).
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "update_abi.glsl"
#include "parameter_entries.glsl"
#include "wide_integer.glsl"
#include "yolk/exact/exact_math.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 32;
layout(constant_id = kSpecTileBlocks) const uint TILE_BLOCKS = 1;

#ifdef ES_UPDATE_F32
#define Sum float
#else
#define Sum int
#endif
#ifndef ES_UPDATE_SHARE
layout(set = 0, binding = kBindSummary, scalar) readonly restrict buffer Summaries { Summary summary; };
#endif
layout(set = 0, binding = kBindPartials, scalar) readonly restrict buffer Partials { Sum partials[]; };
#ifdef ES_UPDATE_SHARE
#define Total uvec2
#define TOTAL(words) words
#define RESULT sums
layout(set = 0, binding = kBindSums, scalar) writeonly restrict buffer Sums { uvec2 sums[]; };
#else
#define Total float
#define TOTAL(words) signed_to_float(words)
#define RESULT gradient
layout(set = 0, binding = kBindGradient, scalar) writeonly restrict buffer Gradient { float gradient[]; };
#endif

#ifdef ES_UPDATE_F32
float total_of(uint partial) {
    float total = 0.0;
    for (uint slice = 0u; slice < params.slice_count; ++slice) {
        total += partials[slice * params.unit_count * kTileEdge + partial];
    }
    return total;
}
#else
Total total_of(uint partial) {
    uvec2 total = uvec2(0u);
    for (uint slice = 0u; slice < params.slice_count; ++slice) {
        int value = partials[slice * params.unit_count * kTileEdge + partial];
        uint carry;
        total.x = uaddCarry(total.x, uint(value), carry);
        total.y += uint(value >> 31) + carry;
    }
    return TOTAL(total);
}
#endif

void zero_frozen(uint index) {
    if (index >= params.frozen_count) return;
    ParameterEntry entry = entries[parameter_of_frozen(index)];
    RESULT[entry.offset + (index - entry.first_frozen)] = Total(0);
}

void main() {
    uint partial = linear_invocation(WORKGROUP_SIZE);
    if (partial >= params.unit_count * kTileEdge) {
        zero_frozen(partial - params.unit_count * kTileEdge);
        return;
    }
    uint unit = params.first_unit + partial / kTileEdge;
    ParameterEntry entry = entries[parameter_of_unit(unit)];
    unit -= entry.first_unit;
    uint row = 0u;
    uint column = kTileEdge * unit + partial % kTileEdge;
    uint columns = entry.rows;  // a vector lies in one row
    if (entry.kind == kKindMatrix) {
        const uint kUnitsPerTile = kTileEdge * TILE_BLOCKS;
        columns = entry.columns;
        uint tiles_across = (columns + kUnitsPerTile - 1u) / kUnitsPerTile;
        uint tile = unit / kUnitsPerTile;
        row = kTileEdge * (tile / tiles_across) + (unit % kUnitsPerTile) / TILE_BLOCKS;
        column = kTileEdge * (TILE_BLOCKS * (tile % tiles_across) + unit % TILE_BLOCKS) + partial % kTileEdge;
        if (row >= entry.rows) return;
    }
    if (column >= columns) return;
#ifdef ES_UPDATE_SHARE
    sums[entry.offset + row * columns + column] = total_of(partial);
#else
    float factor = entry.kind == kKindVector ? params.vector_factor : params.matrix_factor;
    precise float product = factor * summary.coefficient;
    precise float scale = exact_flush(product);
    product = scale * total_of(partial);
    gradient[entry.offset + row * columns + column] = exact_flush(product);
#endif
}
