// SPDX-License-Identifier: Apache-2.0
// ABI of the elementwise family (docs/kernels/elementwise.md): out[i] = operation(first[i], second[where(i)]).
#ifndef YOLK_ABI_ELEMENTWISE_H
#define YOLK_ABI_ELEMENTWISE_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(elementwise)

ABI_CONST uint kBindFirst = 0;   // fp32 [members, rows, columns]
ABI_CONST uint kBindSecond = 1;  // fp32, by its layout; the first operand again where the operation takes one
ABI_CONST uint kBindOut = 2;     // out, fp32 [members, rows, columns]; may be the first operand
ABI_CONST uint kBindingCount = 3;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;       // 1 ... 256
ABI_CONST uint kSpecLoadsPerInvocation = 1;  // 1 ... 16: elements, or quads of them, that one invocation computes
ABI_CONST uint kSpecOperation = 2;           // below 6 an activation (yolk/internal/abi/activation.h), then one of the next
ABI_CONST uint kSpecSecond = 3;              // layout of the second operand, below

ABI_CONST uint kExp = 6;
ABI_CONST uint kLog = 7;
ABI_CONST uint kNegate = 8;
ABI_CONST uint kScaleShift = 9;
ABI_CONST uint kAdd = 10;  // two operands, to kMaximum
ABI_CONST uint kSubtract = 11;
ABI_CONST uint kMultiply = 12;
ABI_CONST uint kMaximum = 13;
ABI_CONST uint kAbsolute = 14;
ABI_CONST uint kSqrt = 15;
ABI_CONST uint kRsqrt = 16;
ABI_CONST uint kSin = 17;
ABI_CONST uint kCos = 18;
ABI_CONST uint kFloor = 19;
ABI_CONST uint kRound = 20;
ABI_CONST uint kMinimum = 21;  // from here on two operands
ABI_CONST uint kDivide = 22;
ABI_CONST uint kPower = 23;
ABI_CONST uint kLessThan = 24;
ABI_CONST uint kLessOrEqual = 25;
ABI_CONST uint kGreaterThan = 26;
ABI_CONST uint kGreaterOrEqual = 27;
ABI_CONST uint kEqualTo = 28;
ABI_CONST uint kNotEqualTo = 29;
ABI_CONST uint kOperationCount = 30;

ABI_CONST uint kSecondFull = 0;        // [members, rows, columns]
ABI_CONST uint kSecondShared = 1;      // [rows, columns]
ABI_CONST uint kSecondMemberRows = 2;  // [members, columns]
ABI_CONST uint kSecondRow = 3;         // [columns]

struct Params {
    uint first_element;  // of this dispatch: what lies before is another's
    uint element_count;  // past the last element of this dispatch
    uint member_size;    // rows * columns
    uint columns;
    float scale;  // of kScaleShift, zero or at least 2^-100 in magnitude
    float shift;
};

ABI_END
#endif
