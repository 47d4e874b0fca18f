// SPDX-License-Identifier: Apache-2.0
// ABI of the block_trace family: out[b] = weight * trace(in[b]), which covariance, inverse_sqrt and
// kronecker_precondition take their damping from (docs/kernels/covariance.md).
#ifndef YOLK_ABI_BLOCK_TRACE_H
#define YOLK_ABI_BLOCK_TRACE_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(block_trace)

ABI_CONST uint kBindIn = 0;   // fp32 [blocks, n, n]
ABI_CONST uint kBindOut = 1;  // fp32 [blocks]
ABI_CONST uint kBindingCount = 2;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;  // 1 ... 256; by group a multiple of 32

struct Params {
    uint blocks;
    uint n;
    float weight;
};

ABI_END
#endif
