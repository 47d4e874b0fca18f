// SPDX-License-Identifier: Apache-2.0
// ABI of the rearrange family (docs/kernels/rearrange.md): out[m, i4, ..., i0] = source[m, sum of stride_k (start_k +
// step_k i_k)], the fill where an index is outside its extent. The plan has merged dimensions where it could; dimension
// 0 is the innermost. Elements everywhere, also where quads of them are moved.
#ifndef YOLK_ABI_REARRANGE_H
#define YOLK_ABI_REARRANGE_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(rearrange)

ABI_CONST uint kBindSource = 0;  // 4-byte elements [outer or 1, source_elements]
ABI_CONST uint kBindOut = 1;     // out, [outer, extent_4, ..., extent_0]
ABI_CONST uint kBindingCount = 2;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;       // 1 ... 256
ABI_CONST uint kSpecLoadsPerInvocation = 1;  // 1 ... 16: elements, or quads of them, that one invocation writes
ABI_CONST uint kSpecRank = 2;                // 1 ... 5 dimensions
ABI_CONST uint kSpecChecked = 3;             // a bit per dimension that may leave the source; others start at 0 by steps of 1
ABI_CONST uint kSpecHasOuter = 4;            // 0: the dimensions are all there is
ABI_CONST uint kSpecTileRows = 5;            // of rearrange_tiles, 1 ... 64
ABI_CONST uint kSpecTileColumns = 6;         // likewise
ABI_CONST uint kSpecPadding = 7;             // words after each row of a staged tile, 0 or 1
ABI_CONST uint kSpecTileWords = 8;           // tile rows * (tile columns + padding)

struct Params {
    uint unit_count;    // elements, or quads, of the output
    uint outer_stride;  // of the source, from one of what lies outside of the dimensions to the next; modulo 2^32
    uint first;         // of the source: where all indices are 0
    uint fill;          // bits
    uint extent0;       // of the output
    uint source0;       // of the source
    uint start0;
    uint step0;
    uint stride0;  // of the source, modulo 2^32
    uint extent1;
    uint source1;
    uint start1;
    uint step1;
    uint stride1;
    uint extent2;
    uint source2;
    uint start2;
    uint step2;
    uint stride2;
    uint extent3;
    uint source3;
    uint start3;
    uint step3;
    uint stride3;
    uint extent4;
    uint source4;
    uint start4;
    uint step4;
    uint stride4;
};

ABI_END
#endif
