// SPDX-License-Identifier: Apache-2.0
// ABI of the optimizer family (docs/kernels/optimizer.md).
#ifndef YOLK_ABI_OPTIMIZER_H
#define YOLK_ABI_OPTIMIZER_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(optimizer)

ABI_CONST uint kBindGradient = 0;    // fp32 [element_count]
ABI_CONST uint kBindParameters = 1;  // in and out, fp32 [element_count]
ABI_CONST uint kBindState = 2;       // in and out, fp32 [state arrays, element_count]; untouched by sgd
ABI_CONST uint kBindSkipped = 3;     // in and out, uint32 [1]: elements left as they were are added; with kSpecCounts
ABI_CONST uint kBindingCount = 4;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;  // 1 ... 256
ABI_CONST uint kSpecRule = 1;           // kRule...
ABI_CONST uint kSpecCounts = 2;         // 1: what is skipped is counted

ABI_CONST uint kRuleSgd = 0;
ABI_CONST uint kRuleMomentum = 1;
ABI_CONST uint kRuleAdam = 2;

// 2^48: Adam takes larger magnitudes for this, so that squares stay in range.
ABI_CONST uint kLargestGradientBits = 0x57800000u;

struct Params {
    uint element_count;
    float learning_rate;
    float beta1;
    float beta2;
    float one_minus_beta1;
    float one_minus_beta2;
    float epsilon;
    float unbias1;  // 1 / (1 - beta1^t), t = step + 1
    float unbias2;  // 1 / (1 - beta2^t)
};

ABI_END
#endif
