// SPDX-License-Identifier: Apache-2.0
// ABI of the kernels that make es_update's exact sums over a share of the pairs (docs/kernels/es_update.md):
// es_update_sum and es_update_sum_staged from a first pair on, and update_share_combine, which adds the slices up and
// converts nothing. A family of its own, so that the modules of the whole update, and what was measured with them, stay
// as they are.
#ifndef YOLK_ABI_UPDATE_SHARE_H
#define YOLK_ABI_UPDATE_SHARE_H
#include "yolk/internal/abi/parameter_entry.h"
ABI_BEGIN(update_share)

ABI_CONST uint kBindWeights = 0;   // int8, four to a word; one per pair, of all pairs
ABI_CONST uint kBindEntries = 1;   // es_update::ParameterEntry [parameter_count]
ABI_CONST uint kBindPartials = 2;  // scratch: int32 [slice_count, unit_count, kTileEdge]
ABI_CONST uint kBindSums = 3;      // out: uint32 [element_count, 2], two's complement, the low word first
ABI_CONST uint kBindingCount = 4;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;  // as in es_update.h
ABI_CONST uint kSpecRank = 1;
ABI_CONST uint kSpecTileBlocks = 2;

struct Params {
    uint seed_low;
    uint seed_high;
    uint time;
    uint first_pair;
    uint end_pair;  // first_pair plus the share's pairs
    uint pairs_per_slice;
    uint slice_count;  // of the share
    uint parameter_count;
    uint first_tile;  // from here on as in es_update.h
    uint tile_count;
    uint first_group;
    uint group_count;
    uint first_unit;
    uint unit_count;
    uint frozen_count;
};

ABI_END
#endif
