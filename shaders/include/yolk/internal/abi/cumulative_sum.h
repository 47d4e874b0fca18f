// SPDX-License-Identifier: Apache-2.0
// ABI of the cumulative_sum family (docs/kernels/cumulative_sum.md): out[o, i, j] = in[o, 0, j] + ... + in[o, i, j], in
// chunks of 1,024 elements of a row (o, j), whose totals are summed by the same kernel and added by another.
#ifndef YOLK_ABI_CUMULATIVE_SUM_H
#define YOLK_ABI_CUMULATIVE_SUM_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(cumulative_sum)

ABI_CONST uint kBindIn = 0;      // fp32 [outer, columns, inner]; not of cumulative_add
ABI_CONST uint kBindOut = 1;     // out, the same; may be the input where a plan's own totals are summed
ABI_CONST uint kBindTotals = 2;  // fp32 [outer * inner, chunks]: of each chunk, written; cumulative_add reads their sums
ABI_CONST uint kBindingCount = 3;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;  // 1 ... 256; by group kSpecChunkLanes per chunk
ABI_CONST uint kSpecElements = 1;       // of cumulative_add: elements per invocation
ABI_CONST uint kSpecChunkLanes = 2;     // by group: invocations per chunk, 32, 64, 128 or 256

ABI_CONST uint kRun = 32;      // elements that are summed one after the other
ABI_CONST uint kRuns = 32;     // of a chunk
ABI_CONST uint kChunk = 1024;  // elements

struct Params {
    uint count;  // chunks of all rows; of cumulative_add elements beyond each row's first chunk
    uint columns;
    uint inner;
    uint chunks;  // of a row
    uint has_totals;  // 0: a row is one chunk, and no totals are written
};

ABI_END
#endif
