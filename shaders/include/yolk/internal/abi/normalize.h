// SPDX-License-Identifier: Apache-2.0
// ABI of the normalize family (docs/kernels/normalize.md): layer and root-mean-square normalization of rows.
#ifndef YOLK_ABI_NORMALIZE_H
#define YOLK_ABI_NORMALIZE_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(normalize)

ABI_CONST uint kBindIn = 0;     // fp32 [members, rows, columns]
ABI_CONST uint kBindScale = 1;  // fp32 [columns] or [members, columns]; anything where there is none
ABI_CONST uint kBindBias = 2;   // likewise
ABI_CONST uint kBindOut = 3;    // out, fp32 [members, rows, columns]
ABI_CONST uint kBindingCount = 4;
ABI_CONST uint kUniformMask = 0;
ABI_CONST uint kTexelMask = 1u << kBindIn;  // normalize_by_invocation_texel
ABI_CONST uint kNoTexels = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;  // 1 ... 256; by group a multiple of kSpecRowLanes
ABI_CONST uint kSpecCentred = 1;        // 1: layer normalization, 0: root mean square
ABI_CONST uint kSpecHasScale = 2;
ABI_CONST uint kSpecHasBias = 3;
ABI_CONST uint kSpecRowLanes = 4;   // by group: invocations per row, 32, 64, 128 or 256
ABI_CONST uint kSpecKeptWords = 5;  // by group: of shared memory, in which a workgroup keeps its rows; 0: none

struct Params {
    uint row_count;  // members * rows
    uint rows;       // per member
    uint columns;
    uint scale_stride;  // from one member's scale to the next: columns, or 0 where they share it
    uint bias_stride;
    float factor;   // 1 / columns
    float epsilon;  // at least 2^-40
};

ABI_END
#endif
