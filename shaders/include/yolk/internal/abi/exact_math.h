// SPDX-License-Identifier: Apache-2.0
// ABI of the exact_math family (docs/kernels/exact_math.md): out[i] = function(in[i]).
#ifndef YOLK_ABI_EXACT_MATH_H
#define YOLK_ABI_EXACT_MATH_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(exact_math)

ABI_CONST uint kBindIn = 0;   // fp32 [element_count]
ABI_CONST uint kBindOut = 1;  // out, fp32 [element_count]
ABI_CONST uint kBindingCount = 2;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;  // 1 ... 256
ABI_CONST uint kSpecFunction = 1;       // one of the next

ABI_CONST uint kFlush = 0;
ABI_CONST uint kFlushOperand = 1;
ABI_CONST uint kRoundHalfEven = 2;
ABI_CONST uint kReciprocal = 3;
ABI_CONST uint kSqrt = 4;
ABI_CONST uint kTanh = 5;
ABI_CONST uint kExp = 6;
ABI_CONST uint kSin = 7;
ABI_CONST uint kCos = 8;
ABI_CONST uint kRelu = 9;
ABI_CONST uint kGelu = 10;
ABI_CONST uint kSilu = 11;
ABI_CONST uint kSigmoid = 12;
ABI_CONST uint kLog = 13;
ABI_CONST uint kFunctionCount = 14;

struct Params {
    uint element_count;
};

ABI_END
#endif
