// SPDX-License-Identifier: Apache-2.0
// ABI of the elementwise family (docs/kernels/elementwise.md). The module of the catalogue has one input; those
// that are made of it (yolk/internal/shaders/element_module.hpp) have as many as their program, and `out` behind them.
#ifndef YOLK_ABI_ELEMENTWISE_H
#define YOLK_ABI_ELEMENTWISE_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(elementwise)

ABI_CONST uint kBindIn = 0;   // 4-byte elements
ABI_CONST uint kBindOut = 1;  // 4-byte elements
ABI_CONST uint kBindingCount = 2;
ABI_CONST uint kUniformMask = 0;
ABI_CONST uint kTexelMask = 1u << kBindIn;  // elementwise_texel*
ABI_CONST uint kNoTexels = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;  // 1 ... 256

ABI_CONST uint kMostRuns = 5;
ABI_CONST uint kMostNumbers = 4;

// A run of dimensions that an input keeps: element e of the output has the place e / inner % size in it. Quotients by d
// of numbers below 2^30 are the upper word of 4 n times the factor, shifted: factor is 2^(30 + shift) / d rounded up,
// 2^shift at least d.
struct Params {
    uint element_count;
    uint loads;  // elements of one invocation, a workgroup's size apart
    uint inner_factor[kMostRuns];
    uint inner_shift[kMostRuns];
    uint outer_factor[kMostRuns];  // of inner * size
    uint outer_shift[kMostRuns];
    uint size[kMostRuns];
    uint numbers[kMostNumbers];  // bits of fp32
};

ABI_END
#endif
