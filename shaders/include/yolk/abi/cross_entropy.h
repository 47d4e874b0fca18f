// SPDX-License-Identifier: Apache-2.0
// ABI of the cross_entropy family (docs/kernels/cross_entropy.md): losses[r] = log sum_i exp(logits[r, i]) -
// logits[r, targets[r % target_count]].
#ifndef YOLK_ABI_CROSS_ENTROPY_H
#define YOLK_ABI_CROSS_ENTROPY_H
#include "yolk/abi/prelude.h"
ABI_BEGIN(cross_entropy)

ABI_CONST uint kBindLogits = 0;   // fp32 [row_count, columns]
ABI_CONST uint kBindTargets = 1;  // u32 [target_count]
ABI_CONST uint kBindLosses = 2;   // out, fp32 [row_count]
ABI_CONST uint kBindStatus = 3;   // in and out, u32 [1]: targets out of range are added to it
ABI_CONST uint kBindingCount = 4;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;  // 1 ... 256; by group a multiple of kSpecRowLanes
ABI_CONST uint kSpecRowLanes = 1;       // by group: invocations per row, 32, 64, 128 or 256

struct Params {
    uint row_count;     // members * rows
    uint columns;       // at least 1
    uint target_count;  // rows where members share the targets, else row_count
};

ABI_END
#endif
