// SPDX-License-Identifier: Apache-2.0
// ABI of the inverse_sqrt family (docs/kernels/inverse_sqrt.md): what lies between the products of the iteration, which
// matmul's kernels make.
#ifndef YOLK_ABI_INVERSE_SQRT_H
#define YOLK_ABI_INVERSE_SQRT_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(inverse_sqrt)

ABI_CONST uint kBindMatrix = 0;    // fp32 [blocks, n, n]: in, Z Y or Z, whatever the kernel reads
ABI_CONST uint kBindState = 1;     // fp32 [3, blocks]: the damping of a block, its scale 4^-e, and 2^-e
ABI_CONST uint kBindRowSums = 2;   // fp32 [blocks, n]
ABI_CONST uint kBindStatus = 3;    // uint [blocks]
ABI_CONST uint kBindResidual = 4;  // fp32 [blocks]
ABI_CONST uint kBindFirst = 5;     // fp32 [blocks, n, n]: Y, Z Y or out, whatever the kernel writes
ABI_CONST uint kBindSecond = 6;    // fp32 [blocks, n, n]: Z at the start
ABI_CONST uint kBindingCount = 7;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;  // 1 ... 256; by group a multiple of 32

// The low byte of a status word; the iterations follow.
ABI_CONST uint kConverged = 0;
ABI_CONST uint kNotConverged = 1;  // and still iterating
ABI_CONST uint kNotFinite = 2;
ABI_CONST uint kNotPositive = 3;

struct Params {
    uint blocks;
    uint n;
    uint iteration;    // from 1
    float one_over_n;
    float tolerance;
};

ABI_END
#endif
