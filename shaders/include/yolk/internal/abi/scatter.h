// SPDX-License-Identifier: Apache-2.0
// ABI of the scatter family: target[m, ids[m, i]] = or += values[m, i] (docs/kernels/scatter.md). Columns and strides
// count elements, or quads of them where the module moves quads.
#ifndef YOLK_ABI_SCATTER_H
#define YOLK_ABI_SCATTER_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(scatter)

ABI_CONST uint kBindTarget = 0;  // 4-byte elements [members, target_rows, columns], in place
ABI_CONST uint kBindIds = 1;     // uint [members or 1, ids]
ABI_CONST uint kBindValues = 2;  // [members or 1, ids, columns]
ABI_CONST uint kBindStatus = 3;  // uint [1]: ids out of range are added to it
ABI_CONST uint kBindingCount = 4;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;  // 1 ... 256
ABI_CONST uint kSpecMode = 1;           // one of the next

ABI_CONST uint kModeAssign = 0;
ABI_CONST uint kModeAdd = 1;

ABI_CONST uint kMaxRowWords = 8;  // by row: 256 bits

struct Params {
    uint members;
    uint target_rows;
    uint columns;
    uint first_id;       // of this dispatch
    uint end_id;         // past its last
    uint target_stride;  // from member to member
    uint ids_stride;     // likewise, in ids; 0 where shared
    uint values_stride;  // likewise
};

ABI_END
#endif
