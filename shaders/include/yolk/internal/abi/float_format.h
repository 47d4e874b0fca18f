// SPDX-License-Identifier: Apache-2.0
// How floats lie in memory, as specialization constants of kernels that take several formats. 16-bit ones are packed two
// to a word, the first in the low half.
#ifndef YOLK_ABI_FLOAT_FORMAT_H
#define YOLK_ABI_FLOAT_FORMAT_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(float_format)

ABI_CONST uint kFormatF32 = 0;
ABI_CONST uint kFormatF16 = 1;
ABI_CONST uint kFormatBf16 = 2;

ABI_END
#endif
