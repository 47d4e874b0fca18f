// SPDX-License-Identifier: Apache-2.0
// ABI of the softmax family (docs/kernels/softmax.md): softmax or its logarithm over the rows of in.
#ifndef YOLK_ABI_SOFTMAX_H
#define YOLK_ABI_SOFTMAX_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(softmax)

ABI_CONST uint kBindIn = 0;   // fp32 [row_count, columns]
ABI_CONST uint kBindOut = 1;  // out, fp32 [row_count, columns]
ABI_CONST uint kBindingCount = 2;
ABI_CONST uint kUniformMask = 0;
ABI_CONST uint kTexelMask = 1u << kBindIn;  // softmax_by_invocation_texel
ABI_CONST uint kNoTexels = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;  // 1 ... 256; by group a multiple of kSpecRowLanes
ABI_CONST uint kSpecLogarithm = 1;      // 1: log_softmax
ABI_CONST uint kSpecRowLanes = 2;       // by group: invocations per row, 32, 64, 128 or 256
ABI_CONST uint kSpecKeptWords = 3;      // by group: of shared memory, in which a workgroup keeps its rows; 0: none

struct Params {
    uint row_count;
    uint columns;
};

ABI_END
#endif
