// SPDX-License-Identifier: Apache-2.0
// What softmax sums, for rows.glsl: exponentials of the distance from the row's maximum. The including kernel declares
// in_[].
#include "yolk/exact/exact_log.h"

uint row_base = 0u;       // where the row begins in in_
float row_largest = 0.0;  // its maximum

float row_input(uint k) { return exact_flush_operand(in_[row_base + k]); }
uint row_input_key(uint k) { return row_key(row_input(k)); }

// Never positive; -infinity is legal.
float row_distance(uint k) {
    precise float distance = row_input(k) - row_largest;
    return distance;
}

float row_exponential(uint k) { return exact_exp(row_distance(k)); }
