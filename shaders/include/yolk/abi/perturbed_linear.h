// SPDX-License-Identifier: Apache-2.0
// ABI of the perturbed_linear family (docs/kernels/perturbed_linear.md). An instance is one row of one member: instance
// = m * rows + row, member = first_member + m. "Size" counts elements; in and out are words of GLSL.
#ifndef YOLK_ABI_PERTURBED_LINEAR_H
#define YOLK_ABI_PERTURBED_LINEAR_H
#include "yolk/abi/prelude.h"
ABI_BEGIN(perturbed_linear)

ABI_CONST uint kBindWeights = 0;     // fp32 [output_size, input_size]
ABI_CONST uint kBindInput = 1;       // fp32 [rows, input_size] if input_is_shared, else [instances, input_size]
ABI_CONST uint kBindProjection = 2;  // scratch: fp32 [instances, RANK], x B; scaled by +-scale once the last k is in
ABI_CONST uint kBindOutput = 3;      // out: fp32 [instances, output_size]; partial sums between split dispatches
ABI_CONST uint kBindingCount = 4;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;         // 1 ... 256
ABI_CONST uint kSpecRank = 1;                  // 1 ... 32
ABI_CONST uint kSpecOutputsPerInvocation = 2;  // 1 ... 8

struct Params {
    uint seed_low;
    uint seed_high;
    uint parameter;
    uint time;
    int first_member;
    uint instances;
    uint rows;
    uint input_size;
    uint output_size;
    uint input_is_shared;
    uint first_k;  // this dispatch adds the products of k in [first_k, end_k); a multiple of 8
    uint end_k;
    float scale;  // sigma / sqrt(rank) / 85, zero or at least 2^-40
};

ABI_END
#endif
