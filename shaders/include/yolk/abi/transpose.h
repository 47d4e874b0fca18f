// SPDX-License-Identifier: Apache-2.0
// ABI of the transpose family (docs/kernels/transpose.md): out[m, c, r] = source[m, r, c].
#ifndef YOLK_ABI_TRANSPOSE_H
#define YOLK_ABI_TRANSPOSE_H
#include "yolk/abi/prelude.h"
ABI_BEGIN(transpose)

ABI_CONST uint kBindSource = 0;  // 4-byte elements [members, rows, columns]
ABI_CONST uint kBindOut = 1;     // out, [members, columns, rows]
ABI_CONST uint kBindingCount = 2;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;  // 1 ... 256
ABI_CONST uint kSpecTileRows = 1;       // of the source, 1 ... 64
ABI_CONST uint kSpecTileColumns = 2;    // likewise
ABI_CONST uint kSpecPadding = 3;        // words after each row of a staged tile, 0 or 1
ABI_CONST uint kSpecTileWords = 4;      // tile rows * (tile columns + padding)

struct Params {
    uint members;
    uint rows;
    uint columns;
};

ABI_END
#endif
