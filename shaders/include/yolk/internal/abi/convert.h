// SPDX-License-Identifier: Apache-2.0
// ABI of the convert family (docs/kernels/convert.md): arrays of fp32 to fp16 or bf16 (convert_narrow) and back
// (convert_widen).
#ifndef YOLK_ABI_CONVERT_H
#define YOLK_ABI_CONVERT_H
#include "yolk/internal/abi/float_format.h"
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(convert)

ABI_CONST uint kBindIn = 0;   // narrow: fp32 [count]; widen: 16-bit, two to a word
ABI_CONST uint kBindOut = 1;  // the other; narrow: an odd count leaves a zero in the last word's upper half
ABI_CONST uint kBindingCount = 2;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;       // 1 ... 256
ABI_CONST uint kSpecWordsPerInvocation = 1;  // 1 ... 8
ABI_CONST uint kSpecFormat = 2;              // yolk/internal/abi/float_format.h: of the 16-bit side

struct Params {
    uint count;  // elements
};

ABI_END
#endif
