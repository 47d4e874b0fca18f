// SPDX-License-Identifier: Apache-2.0
// What softmax sums, for rows.glsl: exponentials of the distance from the row's maximum. The including kernel has
// in_at() (row_source.glsl) and declares ROWS_KEEP.
#include "yolk/exact/exact_log.h"

uint row_base = 0u;       // where the row begins in in_
float row_largest = 0.0;  // its maximum

float row_input(uint k) { return exact_flush_operand(in_at(row_base + k)); }
uint row_input_key(uint k) {
    float x = row_input(k);
    ROW_KEEP(k, floatBitsToUint(x), true)
    return row_key(x);
}

// Never positive; -infinity is legal.
float row_distance(uint k) {
    float x = uintBitsToFloat(ROW_KEPT(k, floatBitsToUint(row_input(k)), true));
    precise float distance = x - row_largest;
    return distance;
}

float row_exponential(uint k) { return exact_exp(row_distance(k)); }
