// SPDX-License-Identifier: Apache-2.0
// normalize, for each row x of in[members, rows, columns]:
//   d_i = x_i - mean(x)   (root mean square: d_i = x_i)
//   out_i = d_i (1 / sqrt(mean(d^2) + epsilon)) scale_i + bias_i
// Means are sums times `factor`, the fp32 number nearest to 1 / columns. Bindings, constants: yolk/internal/abi/normalize.h; the
// order of the sums, and how rows are shared out: rows.glsl. Loops: twice ceil(columns / 32) iterations (root mean
// square: once), and a ROW_WRITE. No scratch, no subgroup assumption; shared memory and barriers by group only.
// Class P by the operand rule: x, mean, d, scale and bias are zero below 2^-40, so sums of squares are multiples of
// 2^-103 and d (1 / sqrt(...)) is 0 or at least 2^-90; its product with scale follows the product rule (zero below
// 2^-100). A row whose mean(d^2) + epsilon is not finite or above 2^100 gives NaN (0x7FC00000) everywhere: NaN or an
// infinity anywhere in it, or numbers of about 2^50 and more.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/normalize.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 32;
layout(constant_id = kSpecRowLanes) const uint ROW_LANES = 32;
layout(constant_id = kSpecCentred) const uint CENTRED = 1;
layout(constant_id = kSpecHasScale) const uint HAS_SCALE = 0;
layout(constant_id = kSpecHasBias) const uint HAS_BIAS = 0;
layout(constant_id = kSpecKeptWords) const uint KEPT_WORDS = 0;

#include "row_source.glsl"
// Not restrict: where there is none, it is bound to the input.
layout(set = 0, binding = kBindScale, scalar) readonly buffer Scale { float scale[]; };
layout(set = 0, binding = kBindBias, scalar) readonly buffer Bias { float bias[]; };
layout(set = 0, binding = kBindOut, scalar) writeonly restrict buffer Out { float out_[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };

#define ROWS_HAVE_LANES
#define ROWS_KEEP
#include "rows.glsl"

const uint kLargestMeanSquare = 0x71800000u;  // 2^100

uint base = 0u;
uint scale_base = 0u;
uint bias_base = 0u;
float mean = 0.0;  // stays so for the root mean square
float inverse = 0.0;
bool is_finite = false;

float value(uint k) { return exact_flush_operand(in_at(base + k)); }
float kept_value(uint k) { return uintBitsToFloat(ROW_KEPT(k, floatBitsToUint(value(k)), true)); }

float first_value(uint k) {
    float x = value(k);
    ROW_KEEP(k, floatBitsToUint(x), true)
    return x;
}

float deviation(float x) {
    precise float d = x - mean;
    return exact_flush_operand(d);
}

float square(uint k) {
    float x = uintBitsToFloat(ROW_KEPT(k, floatBitsToUint(first_value(k)), CENTRED != 0u));
    float d = deviation(x);
    precise float squared = d * d;
    return squared;
}

void store(uint k) {
    precise float y = deviation(kept_value(k)) * inverse;
    if (HAS_SCALE != 0u) {
        precise float scaled = y * exact_flush_operand(scale[scale_base + k]);
        y = exact_flush(scaled);
    }
    if (HAS_BIAS != 0u) y = y + exact_flush_operand(bias[bias_base + k]);
    out_[base + k] = is_finite ? y : uintBitsToFloat(kRowNan);
}

void main() {
    ROWS_BEGIN(params.row_count, params.columns)
    base = row * params.columns;
    uint member = row / params.rows;
    scale_base = member * params.scale_stride;
    bias_base = member * params.bias_stride;
    if (CENTRED != 0u) {
        float sum;
        ROW_SUM(sum, first_value)
        precise float scaled = sum * params.factor;
        mean = exact_flush_operand(scaled);
    }
    float squares;
    ROW_SUM(squares, square)
    precise float mean_square = squares * params.factor + params.epsilon;
    is_finite = (floatBitsToUint(mean_square) & kExactMagnitudeMask) <= kLargestMeanSquare;
    inverse = exact_reciprocal(exact_sqrt(mean_square));
    ROW_WRITE(store)
}
