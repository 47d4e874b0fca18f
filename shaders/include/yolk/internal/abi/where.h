// SPDX-License-Identifier: Apache-2.0
// ABI of the where family (docs/kernels/where.md): out[i] = condition[i] != 0 ? first[i] : second[i].
#ifndef YOLK_ABI_WHERE_H
#define YOLK_ABI_WHERE_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(where)

ABI_CONST uint kBindCondition = 0;  // fp32, by its layout
ABI_CONST uint kBindFirst = 1;      // 4-byte elements, by its layout: taken where the condition is not 0
ABI_CONST uint kBindSecond = 2;     // likewise: taken elsewhere
ABI_CONST uint kBindOut = 3;        // out, [members, rows, columns]
ABI_CONST uint kBindingCount = 4;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;       // 1 ... 256
ABI_CONST uint kSpecLoadsPerInvocation = 1;  // 1 ... 16: elements, or quads of them, that one invocation writes
ABI_CONST uint kSpecCondition = 2;           // layouts, one of the next each
ABI_CONST uint kSpecFirst = 3;
ABI_CONST uint kSpecSecond = 4;

ABI_CONST uint kOperandFull = 0;        // [members, rows, columns]
ABI_CONST uint kOperandShared = 1;      // [rows, columns]
ABI_CONST uint kOperandMemberRows = 2;  // [members, columns]
ABI_CONST uint kOperandRow = 3;         // [columns]

struct Params {
    uint first_element;  // of this dispatch: what lies before is another's
    uint element_count;  // past the last element of this dispatch
    uint member_size;    // rows * columns
    uint columns;
};

ABI_END
#endif
