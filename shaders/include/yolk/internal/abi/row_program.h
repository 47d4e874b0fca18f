// SPDX-License-Identifier: Apache-2.0
// ABI of the row_program family (docs/kernels/row_program.md). The modules of the catalogue have one input; those that
// are made of them (yolk/internal/shaders/row_module.hpp) have as many as their program, and `out` behind them.
#ifndef YOLK_ABI_ROW_PROGRAM_H
#define YOLK_ABI_ROW_PROGRAM_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(row_program)

ABI_CONST uint kBindIn = 0;   // 4-byte elements
ABI_CONST uint kBindOut = 1;  // 4-byte elements
ABI_CONST uint kBindingCount = 2;
ABI_CONST uint kUniformMask = 0;
ABI_CONST uint kTexelMask = 1u << kBindIn;  // row_program_by_invocation_texel
ABI_CONST uint kNoTexels = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;  // 1 ... 256; by group a multiple of kSpecRowLanes
ABI_CONST uint kSpecRowLanes = 1;       // by group: invocations per row, 32, 64, 128 or 256

ABI_CONST uint kMostReductions = 4;
ABI_CONST uint kMostRuns = 4;
ABI_CONST uint kMostNumbers = 4;

// A row is element k of [outer, columns, inner], k from 0 to columns - 1. A run of dimensions that an input keeps, and
// the quotients for it, as in yolk/internal/abi/elementwise.h; from one element of a row to the next the place in the
// run grows by `row_stride`.
struct Params {
    uint row_count;  // outer * inner
    uint columns;
    uint inner;
    uint inner_factor[kMostRuns];
    uint inner_shift[kMostRuns];
    uint outer_factor[kMostRuns];
    uint outer_shift[kMostRuns];
    uint size[kMostRuns];
    uint row_stride[kMostRuns];
    uint numbers[kMostNumbers];  // bits of fp32
};

ABI_END
#endif
