// SPDX-License-Identifier: Apache-2.0
// ABI of the matmul_i8 family (docs/kernels/matmul_i8.md): out[z, i, j] = sum over k of a[z, i, k] b[z, j, k], signed
// bytes in, int32 out. Offsets and strides of a and b in words of four bytes, lowest byte first; of out in elements.
#ifndef YOLK_ABI_MATMUL_I8_H
#define YOLK_ABI_MATMUL_I8_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(matmul_i8)

ABI_CONST uint kBindA = 0;    // int8 [batch, m, k], four to a word
ABI_CONST uint kBindB = 1;    // int8 [batch or 1, n, k], likewise
ABI_CONST uint kBindOut = 2;  // int32 [batch, m, n]
ABI_CONST uint kBindingCount = 3;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;  // 1 ... 256
ABI_CONST uint kSpecTileM = 1;          // rows of an invocation; of a subgroup in matmul_i8_cooperative_*
ABI_CONST uint kSpecTileN = 2;          // columns likewise
ABI_CONST uint kSpecLanesN = 3;         // invocations side by side along n; divides the workgroup
// matmul_i8_cooperative_*, which read vectors of 16 bytes, of 8 in the narrow one: a block of a workgroup, its k, the
// blocks in shared memory at once, a fragment's shape.
ABI_CONST uint kSpecBlockM = 4;
ABI_CONST uint kSpecBlockN = 5;
ABI_CONST uint kSpecBlockK = 6;
ABI_CONST uint kSpecStages = 7;
ABI_CONST uint kSpecShapeM = 8;
ABI_CONST uint kSpecShapeN = 9;
ABI_CONST uint kSpecShapeK = 10;

struct Params {
    uint m;
    uint n;
    uint words;      // of a row's k, the last one in part
    uint last_mask;  // of the last word, the bits that are elements
    uint batch;
    uint a_offset;
    uint a_stride;
    uint a_batch_stride;
    uint b_offset;
    uint b_stride;
    uint b_batch_stride;
    uint out_offset;
    uint out_stride;
    uint out_batch_stride;
};

ABI_END
#endif
