// SPDX-License-Identifier: Apache-2.0
// ABI of the limits family (docs/kernels/limits.md): kernels that do nothing but one thing, to find out how fast a
// device does it.
#ifndef YOLK_ABI_LIMITS_H
#define YOLK_ABI_LIMITS_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(limits)

ABI_CONST uint kBindOut = 0;  // fp32 [invocations]; in matrix_multiply_add_* a fragment of sums for each subgroup
ABI_CONST uint kBindingCount = 1;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;  // 1 ... 256
ABI_CONST uint kSpecChains = 1;         // sums that do not wait for each other
ABI_CONST uint kSpecShapeM = 2;         // of a fragment: matrix_multiply_add_*
ABI_CONST uint kSpecShapeN = 3;
ABI_CONST uint kSpecShapeK = 4;

// Steps of each chain per iteration: a multiply-add, or a dot product of four.
ABI_CONST uint kStepsPerIteration = 16;
// Multiplications of fragments of each chain per iteration.
ABI_CONST uint kMatrixStepsPerIteration = 4;

struct Params {
    uint invocations;  // in matrix_multiply_add_* workgroups
    uint iterations;
    float factor;
    float summand;
};

ABI_END
#endif
