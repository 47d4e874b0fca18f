// SPDX-License-Identifier: Apache-2.0
// The parameters as es_update walks them, apart from the rest of its ABI: the kernels of a share read them, too.
#ifndef YOLK_ABI_PARAMETER_ENTRY_H
#define YOLK_ABI_PARAMETER_ENTRY_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(es_update)

// Rows of a matrix tile (r whole noise blocks), elements of a vector tile (one block), elements of a unit. A matrix
// tile is 8 x 8 or 8 x 16. Partial sums lie in units of 8: the row of a matrix tile is one unit or two, side by side,
// and a vector tile is one. Elements of a tile beyond the edge of its parameter have partial sums that nobody reads.
ABI_CONST uint kTileEdge = 8;
// Rows and columns of tiles that a workgroup of es_update_sum_staged takes, beginning at multiples of this number; of a
// vector it takes the square of it, one after the other.
ABI_CONST uint kGroupEdge = 8;

ABI_CONST uint kKindMatrix = 0;
ABI_CONST uint kKindVector = 1;
ABI_CONST uint kKindFrozen = 2;

// One parameter, in id order. The last of them never fall from entry to entry, so that they can be searched.
struct ParameterEntry {
    uint kind;
    uint rows;          // a vector's length
    uint columns;       // 1 for a vector
    uint offset;        // of its first element in the gradient
    uint first_tile;    // frozen parameters have no tiles,
    uint first_group;   // no groups of tiles
    uint first_unit;    // and no units,
    uint first_frozen;  // but only they have elements in this count
};

ABI_END
#endif
