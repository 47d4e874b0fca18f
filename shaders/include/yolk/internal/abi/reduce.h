// SPDX-License-Identifier: Apache-2.0
// ABI of the reduce family (docs/kernels/reduce.md): out[o, j] = sum, mean, max, argmax or min over i of in[o, i, j].
#ifndef YOLK_ABI_REDUCE_H
#define YOLK_ABI_REDUCE_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(reduce)

ABI_CONST uint kBindIn = 0;   // fp32 [outer, columns, inner]
ABI_CONST uint kBindOut = 1;  // out, [outer, inner]: fp32, or u32 for argmax
ABI_CONST uint kBindingCount = 2;
ABI_CONST uint kUniformMask = 0;
ABI_CONST uint kTexelMask = 1u << kBindIn;  // reduce_by_invocation_texel
ABI_CONST uint kNoTexels = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;  // 1 ... 256; by group a multiple of kSpecRowLanes
ABI_CONST uint kSpecOperation = 1;      // one of the next
ABI_CONST uint kSpecRowLanes = 2;       // by group: invocations per row, 32, 64, 128 or 256
ABI_CONST uint kSpecKeptWords = 3;      // by group: of shared memory, in which a workgroup keeps its rows; 0: none

ABI_CONST uint kSum = 0;
ABI_CONST uint kMean = 1;
ABI_CONST uint kMax = 2;
ABI_CONST uint kArgmax = 3;
ABI_CONST uint kMin = 4;
ABI_CONST uint kOperationCount = 5;

struct Params {
    uint row_count;  // outer * inner
    uint columns;    // at least 1
    uint inner;
    float factor;  // of the sum: 1, or 1 / columns
};

ABI_END
#endif
