// SPDX-License-Identifier: Apache-2.0
// ABI of the noise family (docs/kernels/noise.md): out[p * element_count + i] = element i of the stream of pair
// first_pair + p.
#ifndef YOLK_ABI_NOISE_H
#define YOLK_ABI_NOISE_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(noise)

ABI_CONST uint kBindOut = 0;
ABI_CONST uint kBindingCount = 1;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;       // 1 ... 256
ABI_CONST uint kSpecBlocksPerInvocation = 1; // 1 ... 8: Philox blocks (8 elements each) that one invocation writes

// 1/sqrt(85), the factor that brings a noise element to unit variance, as the bits of one fp32 constant (0.10846523...).
ABI_CONST uint kNoiseScaleBits = 0x3DDE2305u;

struct Params {
    uint seed_low;
    uint seed_high;
    uint parameter_and_domain;  // parameter id | domain << 24
    uint first_pair;
    uint time;
    uint element_count;  // per pair
    uint pair_count;
};

ABI_END
#endif
