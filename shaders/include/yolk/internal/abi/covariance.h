// SPDX-License-Identifier: Apache-2.0
// ABI of the covariance family (docs/kernels/covariance.md): what becomes of the product X^T X, which matmul's kernels
// make.
#ifndef YOLK_ABI_COVARIANCE_H
#define YOLK_ABI_COVARIANCE_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(covariance)

ABI_CONST uint kBindSums = 0;        // fp32 [blocks, n, n]: X^T X; the same as covariance where there is no average
ABI_CONST uint kBindCovariance = 1;  // fp32 [blocks, n, n]
ABI_CONST uint kBindShift = 2;       // fp32 [blocks]: what relative damping adds to diagonals
ABI_CONST uint kBindDamped = 3;      // fp32 [blocks, n, n]
ABI_CONST uint kBindTrace = 4;       // fp32 [blocks]: of the sums; with kSpecAverages
ABI_CONST uint kBindLeftOut = 5;     // uint32 [blocks]: 1 where the sums were left out, else 0; with kSpecReports
ABI_CONST uint kBindingCount = 6;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;  // 1 ... 256
ABI_CONST uint kSpecRelative = 1;       // 1: the shift is the block's, else the parameter
ABI_CONST uint kSpecAverages = 2;       // 1: a block whose trace is not finite is left out
ABI_CONST uint kSpecReports = 3;        // 1: and said to be

struct Params {
    uint element_count;  // blocks n n
    uint n;
    uint keeps_old;   // 1: decay times what covariance held is added
    float decay;
    float weight;     // of the sums
    float shift;
};

ABI_END
#endif
