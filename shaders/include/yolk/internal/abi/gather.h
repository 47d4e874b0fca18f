// SPDX-License-Identifier: Apache-2.0
// ABI of the gather family: values[m, i] = table[m, ids[m, i]] (docs/kernels/gather.md). Columns and strides
// count elements, or quads of them where the module moves quads.
#ifndef YOLK_ABI_GATHER_H
#define YOLK_ABI_GATHER_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(gather)

ABI_CONST uint kBindTable = 0;   // 4-byte elements [members or 1, table_rows, columns]
ABI_CONST uint kBindIds = 1;     // uint [members or 1, id_count]
ABI_CONST uint kBindValues = 2;  // [members, id_count, columns], written
ABI_CONST uint kBindStatus = 3;  // uint [1]: ids out of range are added to it
ABI_CONST uint kBindingCount = 4;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;       // 1 ... 256
ABI_CONST uint kSpecLoadsPerInvocation = 1;  // 1 ... 16

struct Params {
    uint members;
    uint table_rows;
    uint columns;
    uint id_count;       // per member
    uint table_stride;   // from member to member; 0 where shared
    uint ids_stride;     // likewise, in ids
    uint values_stride;  // likewise
};

ABI_END
#endif
