// SPDX-License-Identifier: Apache-2.0
// ABI of the es_update family (docs/kernels/es_update.md): es_update_sum writes one partial sum per slice of pairs and
// element, es_update_combine adds the slices up. Both take the same bindings and parameters.
#ifndef YOLK_ABI_ES_UPDATE_H
#define YOLK_ABI_ES_UPDATE_H
#include "yolk/abi/fitness_summary.h"
ABI_BEGIN(es_update)

ABI_CONST uint kBindWeights = 0;   // int8, four to a word, or fp32; one per pair
ABI_CONST uint kBindSummary = 1;   // fitness::Summary
ABI_CONST uint kBindEntries = 2;   // ParameterEntry [parameter_count]
ABI_CONST uint kBindPartials = 3;  // scratch: int32 (or fp32) [slice_count, partial_count]
ABI_CONST uint kBindGradient = 4;  // out: fp32 [element_count]
ABI_CONST uint kBindingCount = 5;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;  // 1 ... 256
ABI_CONST uint kSpecRank = 1;           // 1 ... 32; es_update_sum only

// Rows and columns of a matrix tile (r whole noise blocks per side), elements of a vector tile (one block).
ABI_CONST uint kTileEdge = 8;

ABI_CONST uint kKindMatrix = 0;
ABI_CONST uint kKindVector = 1;
ABI_CONST uint kKindFrozen = 2;

// One parameter, in id order; `first_tile` never falls and `offset` rises from entry to entry, so that both can be
// searched.
struct ParameterEntry {
    uint kind;
    uint rows;            // a vector's length
    uint columns;         // 1 for a vector
    uint offset;          // of its first element in the gradient
    uint partial_offset;  // of its first element in a slice of partial sums; frozen parameters have none there
    uint first_tile;      // frozen parameters have no tiles
};

struct Params {
    uint seed_low;
    uint seed_high;
    uint time;
    uint pair_count;
    uint pairs_per_slice;
    uint slice_count;
    uint tile_count;
    uint parameter_count;
    uint element_count;
    uint partial_count;   // elements that are not frozen
    float matrix_factor;  // (sqrt(N)/N) (sigma/sqrt(r)) / 85
    float vector_factor;  // (sqrt(N)/N) sigma / sqrt(85)
};

ABI_END
#endif
