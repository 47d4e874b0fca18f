// SPDX-License-Identifier: Apache-2.0
// 1/sqrt(85), the factor that brings a noise element to unit variance, as the bits of one fp32 constant
// (0.10846523...).
#ifndef YOLK_ABI_NOISE_SCALE_H
#define YOLK_ABI_NOISE_SCALE_H
#include "yolk/abi/prelude.h"
ABI_BEGIN(noise)
ABI_CONST uint kNoiseScaleBits = 0x3DDE2305u;
ABI_END
#endif
