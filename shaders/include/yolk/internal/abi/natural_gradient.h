// SPDX-License-Identifier: Apache-2.0
// ABI of the natural_gradient family (docs/kernels/natural_gradient.md): products of preconditioners with gradients,
// the mean taken off vectors, and the step.
#ifndef YOLK_ABI_NATURAL_GRADIENT_H
#define YOLK_ABI_NATURAL_GRADIENT_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(natural_gradient)

ABI_CONST uint kBindPreconditioner = 0;  // fp32 [blocks, n, n]
ABI_CONST uint kBindVector = 1;          // fp32 [blocks, n]: what the kernel starts from
ABI_CONST uint kBindStep = 2;            // fp32 [blocks, n]
ABI_CONST uint kBindPreconditioned = 3;  // fp32 [blocks, n]
ABI_CONST uint kBindingCount = 4;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;    // 1 ... 256; by group a multiple of kSpecRowLanes
ABI_CONST uint kSpecProjects = 1;         // 1: the mean is taken off
ABI_CONST uint kSpecStep = 2;             // 1: -learning_rate times the result goes to step
ABI_CONST uint kSpecPreconditioned = 3;   // 1: the result goes to preconditioned
ABI_CONST uint kSpecRowLanes = 4;         // by group: invocations per row, 32, 64, 128 or 256

struct Params {
    uint row_count;  // rows of the preconditioners, or vectors
    uint n;
    float one_over_n;
    float minus_learning_rate;
};

ABI_END
#endif
