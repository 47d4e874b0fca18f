// SPDX-License-Identifier: Apache-2.0
// ABI of the perturbed_vector family (docs/kernels/perturbed_vector.md): out[m, i] = v[i] +- scale * noise[pair, i], of
// member first_member + m.
#ifndef YOLK_ABI_PERTURBED_VECTOR_H
#define YOLK_ABI_PERTURBED_VECTOR_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(perturbed_vector)

ABI_CONST uint kBindVector = 0;  // fp32 [element_count]
ABI_CONST uint kBindOut = 1;     // fp32 [members, element_count]
ABI_CONST uint kBindingCount = 2;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;  // 1 ... 256
ABI_CONST uint kSpecFrozen = 1;         // 1: no noise is drawn
ABI_CONST uint kSpecAntithetic = 2;     // 1: both sides of a pair share noise; 0: each member has its own

struct Params {
    uint seed_low;
    uint seed_high;
    uint stream;  // parameter | domain of vectors
    uint time;
    int first_member;
    uint members;
    uint element_count;
    float scale;  // sigma / sqrt(85), zero or at least 2^-40
};

ABI_END
#endif
