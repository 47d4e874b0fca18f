// SPDX-License-Identifier: Apache-2.0
// ABI of the gather family: values[m, i] = table[m, ids[m, i]] (docs/kernels/gather.md), and back
// (docs/kernels/scatter.md). Columns and strides count elements, or quads of them where the module moves quads.
#ifndef YOLK_ABI_GATHER_H
#define YOLK_ABI_GATHER_H
#include "yolk/abi/prelude.h"
ABI_BEGIN(gather)

ABI_CONST uint kBindTable = 0;   // 4-byte elements [members or 1, table_rows, columns]; scatter writes it
ABI_CONST uint kBindIds = 1;     // uint [members or 1, id_count]
ABI_CONST uint kBindValues = 2;  // [members, id_count, columns]; gather writes it; for scatter [members or 1, ...]
ABI_CONST uint kBindStatus = 3;  // uint [1]: ids out of range are added to it
ABI_CONST uint kBindingCount = 4;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;       // 1 ... 256
ABI_CONST uint kSpecLoadsPerInvocation = 1;  // 1 ... 16, of gather
ABI_CONST uint kSpecMode = 2;                // of scatter, one of the next

ABI_CONST uint kScatterAssign = 0;
ABI_CONST uint kScatterAdd = 1;

struct Params {
    uint members;
    uint table_rows;
    uint columns;
    uint id_count;       // per member
    uint first_id;       // of this dispatch of scatter
    uint end_id;         // past its last
    uint table_stride;   // from member to member; 0 where shared
    uint ids_stride;     // likewise, in ids
    uint values_stride;  // likewise
};

ABI_END
#endif
