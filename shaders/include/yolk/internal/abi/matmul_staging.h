// SPDX-License-Identifier: Apache-2.0
// The shared memory of kernels that stage the operands of a product (shaders/matmul/matmul_staging.glsl).
#ifndef YOLK_ABI_MATMUL_STAGING_H
#define YOLK_ABI_MATMUL_STAGING_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(matmul_staging)

// Floats between two steps of k: enough that they do not begin in the same bank, and whole vectors of four.
ABI_CONST uint kStagedPadding = 4;
// Two stages where they take at most this much for each invocation: 20 KiB for 256 of them, so that a compute unit with
// 64 KiB of shared memory holds three waves on each of its four units, and half of the portable floor is left.
ABI_CONST uint kTwoStagesBytesPerLane = 80;

ABI_END
#endif
