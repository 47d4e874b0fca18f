// SPDX-License-Identifier: Apache-2.0
// reduce: sum, mean, max, argmax or min over the middle dimension of in[outer, columns, inner]. Bindings, constants:
// yolk/internal/abi/reduce.h; how rows are shared out: rows.glsl.
//   sum     in the order of rows.glsl
//   mean    the sum times `factor`, the fp32 number nearest to 1 / columns
//   max     NaN (0x7FC00000) where the row holds one, else the largest; both zeros count as +0
//   min     likewise the smallest
//   argmax  the lowest index of the maximum, or of the first NaN
// Loops: ceil(columns / 32) iterations (more lanes: rows.glsl); argmax twice. No scratch, no subgroup assumption; shared memory and barriers by
// group only. Class P by the operand rule: inputs below 2^-40 are zero when loaded, so sums are multiples of 2^-63 and
// a mean at least 2^-95. Infinities and NaN: a sum or mean of them is not finite, and not the same bits everywhere;
// max, min and argmax are exact for every input.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/reduce.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 32;
layout(constant_id = kSpecRowLanes) const uint ROW_LANES = 32;
layout(constant_id = kSpecOperation) const uint OPERATION = kSum;
layout(constant_id = kSpecKeptWords) const uint KEPT_WORDS = 0;  // of argmax

#include "row_source.glsl"
layout(set = 0, binding = kBindOut, scalar) writeonly restrict buffer Out { uint out_[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };

#define ROWS_HAVE_LANES
#define ROWS_KEEP
#include "rows.glsl"

uint base = 0u;
uint largest = 0u;

float term(uint k) { return exact_flush_operand(in_at(base + k * params.inner)); }
// Of a minimum the largest of the keys the other way round; NaN stays above all.
uint turned(uint key) { return mix(~key, kRowKeyNan, key == kRowKeyNan); }
uint key(uint k) {
    uint key = row_key(term(k));
    return mix(key, turned(key), OPERATION == kMin);
}
uint first_key(uint k) {
    uint word = key(k);
    ROW_KEEP(k, word, true)
    return word;
}
uint place(uint k) { return mix(0u, ~k, ROW_KEPT(k, key(k), true) == largest); }  // the larger, the earlier

void main() {
    ROWS_BEGIN(params.row_count, params.columns)
    base = row / params.inner * params.columns * params.inner + row % params.inner;
    uint result = 0u;
    if (OPERATION == kMax || OPERATION == kArgmax || OPERATION == kMin) {
        ROW_MAX(largest, first_key)
        result = floatBitsToUint(row_key_value(OPERATION == kMin ? turned(largest) : largest));
        if (OPERATION == kArgmax) {
            ROW_MAX(result, place)
            result = ~result;
        }
    } else {
        float sum;
        ROW_SUM(sum, term)
        precise float scaled = sum * params.factor;
        result = floatBitsToUint(OPERATION == kMean ? scaled : sum);
    }
    if (ROW_LEADER) out_[row] = result;
}
