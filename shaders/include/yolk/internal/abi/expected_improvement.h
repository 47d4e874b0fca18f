// SPDX-License-Identifier: Apache-2.0
// ABI of the expected_improvement family (docs/kernels/expected_improvement.md): variances of candidates brought up to
// date, and what measuring each of them is expected to gain.
#ifndef YOLK_ABI_EXPECTED_IMPROVEMENT_H
#define YOLK_ABI_EXPECTED_IMPROVEMENT_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(expected_improvement)

ABI_CONST uint kBindScores = 0;     // fp32 [2, stride]: value scores, unit scores
ABI_CONST uint kBindLeft = 1;       // fp32 [steps, stride]
ABI_CONST uint kBindRight = 2;      // fp32 [steps, stride]; may be what is bound to left
ABI_CONST uint kBindPrior = 3;      // fp32 [count]: prior means
ABI_CONST uint kBindVariances = 4;  // in and out, fp32 [count]
ABI_CONST uint kBindOut = 5;        // out, fp32 [count]
ABI_CONST uint kBindingCount = 6;
ABI_CONST uint kUniformMask = 0;

ABI_CONST uint kSpecWorkgroupSize = 0;  // 1 ... 256

struct Params {
    uint count;
    uint stride;  // from row to row of scores, left and right
    uint steps;
    float level;
    float best;
    float deviation;
    float mean_slack;
    float variance_slack;
    float stretch;
};

ABI_END
#endif
