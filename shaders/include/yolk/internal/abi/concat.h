// SPDX-License-Identifier: Apache-2.0
// ABI of the concat family (docs/kernels/concat.md): copies the runs of one part into, or out of, the whole. Lengths and
// places count elements, or quads of them where the module moves quads.
#ifndef YOLK_ABI_CONCAT_H
#define YOLK_ABI_CONCAT_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(concat)

ABI_CONST uint kBindSource = 0;  // 4-byte elements
ABI_CONST uint kBindTarget = 1;  // out
ABI_CONST uint kBindingCount = 2;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;       // 1 ... 256
ABI_CONST uint kSpecLoadsPerInvocation = 1;  // 1 ... 16

struct Params {
    uint run_count;      // members * outer
    uint run_length;     // the part's extent * inner
    uint source_runs;    // runs that the source has; it is repeated where run_count is more
    uint source_stride;  // from run to run
    uint source_first;   // where the first run begins
    uint target_stride;
    uint target_first;
};

ABI_END
#endif
