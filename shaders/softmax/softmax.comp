// SPDX-License-Identifier: Apache-2.0
// softmax, for each row x of in[row_count, columns], with m the row's maximum and s the sum over i of exp(x_i - m):
//   softmax      out_i = exp(x_i - m) (1/s)
//   log_softmax  out_i = (x_i - m) - log(s)
// Bindings, constants: yolk/internal/abi/softmax.h; the order of the sum, and how rows are shared out: rows.glsl. Loops: twice
// ceil(columns / 32) iterations, and a ROW_WRITE. No scratch, no subgroup assumption; shared memory and barriers by
// group only. Class P: inputs are operands when loaded (zero below 2^-40); an exponential is 0 or at least 2^-100, so
// sums are multiples of 2^-123; probabilities follow the product rule (zero below 2^-100). A row whose maximum is not
// finite gives NaN (0x7FC00000) everywhere: NaN or +infinity anywhere in it, or nothing but -infinity. Where the
// maximum is finite, -infinity has probability 0 and logarithm -infinity.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/softmax.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 32;
layout(constant_id = kSpecRowLanes) const uint ROW_LANES = 32;
layout(constant_id = kSpecLogarithm) const uint LOGARITHM = 0;
layout(constant_id = kSpecKeptWords) const uint KEPT_WORDS = 0;

#include "row_source.glsl"
layout(set = 0, binding = kBindOut, scalar) writeonly restrict buffer Out { float out_[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };

#define ROWS_HAVE_LANES
#define ROWS_KEEP
#include "rows.glsl"
#include "row_exponentials.glsl"

float of_sum = 0.0;  // 1/s, or log(s)
bool is_finite = false;

// What is summed takes the place of what was kept, unless the distance is needed again.
float term(uint k) {
    float exponential = row_exponential(k);
    ROW_KEEP(k, floatBitsToUint(exponential), LOGARITHM == 0u)
    return exponential;
}

void store(uint k) {
    float distance = row_distance(k);
    precise float logarithm = distance - of_sum;
    precise float probability = uintBitsToFloat(ROW_KEPT(k, floatBitsToUint(exact_exp(distance)), true)) * of_sum;
    float result = LOGARITHM != 0u ? logarithm : exact_flush(probability);
    out_[row_base + k] = is_finite ? result : uintBitsToFloat(kRowNan);
}

void main() {
    ROWS_BEGIN(params.row_count, params.columns)
    row_base = row * params.columns;
    uint largest;
    ROW_MAX(largest, row_input_key)
    is_finite = row_key_is_finite(largest);
    row_largest = row_key_value(largest);
    float sum;
    ROW_SUM(sum, term)
    of_sum = LOGARITHM != 0u ? exact_log(sum) : exact_reciprocal(sum);
    ROW_WRITE(store)
}
