// SPDX-License-Identifier: Apache-2.0
// The summary of a generation's scores, apart from the rest of the fitness family's ABI: es_update reads it, too.
#ifndef YOLK_ABI_FITNESS_SUMMARY_H
#define YOLK_ABI_FITNESS_SUMMARY_H
#include "yolk/internal/abi/prelude.h"
ABI_BEGIN(fitness)

// What a generation's scores amount to; read by es_update (coefficient) and by the host (the rest).
struct Summary {
    float coefficient;      // c without the host's factors: weights times it are the shaped fitness (z-score units)
    float mean;             // of the scores, not-finite ones replaced by the worst finite
    float best;
    float worst;
    float variance;         // population variance
    uint not_finite_count;
    uint first_not_finite;  // lowest such member; 0xFFFFFFFF where there is none
    uint finite_count;      // 0: the generation must be refused; all weights are then zero
};

ABI_END
#endif
