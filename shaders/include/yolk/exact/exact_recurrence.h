// SPDX-License-Identifier: Apache-2.0
// A minimal gated unit of class P (docs/kernels/rollout.md), in the conventions of exact_math.h: from the sums of gate
// and candidate to the next memory. By the operand rule: memories and candidates are zero or at least 2^-40, and so are
// all results.
#ifndef YOLK_EXACT_RECURRENCE_H
#define YOLK_EXACT_RECURRENCE_H
#include "yolk/exact/exact_math.h"
EXACT_BEGIN

// 1 / (1 + exp(-x)) as (1 + tanh(x / 2)) / 2: from 8e-7 to 1 - 8e-7. Absolute error at most 7e-7. 30 operations.
EXACT_FUNCTION float exact_gate(float x) {
    exact_float half_x = exact_from_bits(kExactHalf) * x;
    exact_float gate = exact_from_bits(kExactHalf) + exact_from_bits(kExactHalf) * exact_tanh(half_x);
    return gate;
}

// What the candidate sees of the memory.
EXACT_FUNCTION float exact_gated_memory(float gate, float memory) {
    exact_float product = gate * memory;
    return exact_flush_operand(product);
}

// memory + gate (candidate - memory).
EXACT_FUNCTION float exact_next_memory(float gate, float memory, float candidate) {
    exact_float difference = candidate - memory;
    exact_float next = memory + gate * exact_flush_operand(difference);
    return exact_flush_operand(next);
}

EXACT_END
#endif
