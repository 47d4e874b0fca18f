// SPDX-License-Identifier: Apache-2.0
// ABI of the es_update family (docs/kernels/es_update.md): es_update_sum writes one partial sum per slice of pairs and
// element of a window of tiles, es_update_combine adds the slices up. Both take the same bindings and parameters.
#ifndef YOLK_ABI_ES_UPDATE_H
#define YOLK_ABI_ES_UPDATE_H
#include "yolk/internal/abi/fitness_summary.h"
#include "yolk/internal/abi/parameter_entry.h"
ABI_BEGIN(es_update)

ABI_CONST uint kBindWeights = 0;   // int8, four to a word, or fp32; one per pair
ABI_CONST uint kBindSummary = 1;   // fitness::Summary
ABI_CONST uint kBindEntries = 2;   // ParameterEntry [parameter_count]
ABI_CONST uint kBindPartials = 3;  // scratch: int32 (or fp32) [slice_count, unit_count, kTileEdge]
ABI_CONST uint kBindGradient = 4;  // out: fp32 [element_count]
ABI_CONST uint kBindingCount = 5;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;  // 1 ... 256
ABI_CONST uint kSpecRank = 1;           // 1 ... 32; es_update_sum only
ABI_CONST uint kSpecTileBlocks = 2;     // 1 or 2: columns of a matrix tile, in units of 8; es_update_combine only

struct Params {
    uint seed_low;
    uint seed_high;
    uint time;
    uint pair_count;
    uint pairs_per_slice;
    uint slice_count;
    uint parameter_count;
    uint first_tile;  // of the window
    uint tile_count;
    uint first_group;  // the groups that have the window's tiles; es_update_sum_staged only
    uint group_count;
    uint first_unit;
    uint unit_count;
    uint frozen_count;    // elements that es_update_combine zeroes; in one window only
    float matrix_factor;  // (sqrt(N)/N) (sigma/sqrt(r)) / 85
    float vector_factor;  // (sqrt(N)/N) sigma / sqrt(85)
};

ABI_END
#endif
