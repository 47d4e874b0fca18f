// SPDX-License-Identifier: Apache-2.0
// inverse_sqrt_start (INVERSE_SQRT_START): from the row sums of magnitudes, whose maximum bounds a block's
// eigenvalues, the scale 4^-e that brings it into [1/2, 2), and the first status.
// inverse_sqrt_decide: from the row sums of squares the residual ||Z Y - I||_F / sqrt(n) of blocks that still iterate,
// and their status. Residuals of positive definite blocks are 1 at most, so 2 and more tell of another kind.
// Bindings, constants: yolk/internal/abi/inverse_sqrt.h; the order of the sum, and how blocks are shared out: rows.glsl. Loops:
// ceil(n / 32) iterations. No subgroup assumption; shared memory and barriers by group only. Class P by the product
// rule.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/inverse_sqrt.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 32;

layout(set = 0, binding = kBindState, scalar) writeonly restrict buffer State { float state[]; };
layout(set = 0, binding = kBindRowSums, scalar) readonly restrict buffer RowSums { float row_sums[]; };
layout(set = 0, binding = kBindStatus, scalar) restrict buffer Status { uint status[]; };
layout(set = 0, binding = kBindResidual, scalar) writeonly restrict buffer Residual { float residual[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };

#include "rows.glsl"

const uint kLargestNorm = 0x71800000u;      // 2^100
const uint kLargestMeanSquare = 0x40800000u;  // 4
uint sums_base = 0u;

#ifdef INVERSE_SQRT_START

// Magnitudes have the order of their bits; NaN is above them all.
uint key(uint k) { return floatBitsToUint(row_sums[sums_base + k]); }

void start(uint norm) {
    uint code = kNotConverged;
    if (norm < kExactProductFloor) code = kNotPositive;
    if (norm >= kLargestNorm) code = kNotFinite;
    // e + 64 for the norm's exponent p = 2e - 1 or 2e; q = p + 127. Meaningless, and not read, for what has failed.
    uint e = ((norm >> 23) + 2u) >> 1;
    state[params.blocks + row] = uintBitsToFloat((255u - 2u * e) << 23);
    state[2u * params.blocks + row] = uintBitsToFloat((191u - e) << 23);
    status[row] = code;
    residual[row] = uintBitsToFloat(kRowInfinity);
}

#else

float term(uint k) { return row_sums[sums_base + k]; }

void decide(float total) {
    if ((status[row] & 0xFFu) != kNotConverged) return;
    precise float scaled = total * params.one_over_n;
    float mean_square = exact_flush(scaled);
    uint bits = floatBitsToUint(mean_square);
    float root = exact_sqrt(uintBitsToFloat(min(bits, kLargestNorm)));
    uint code = root <= params.tolerance ? kConverged : kNotConverged;
    if (bits >= kLargestMeanSquare) code = kNotPositive;
    if (bits >= kRowInfinity) code = kNotFinite;
    status[row] = code | (params.iteration << 8);
    residual[row] = code == kNotFinite ? uintBitsToFloat(kRowInfinity) : root;
}

#endif

void main() {
    ROWS_BEGIN(params.blocks, params.n)
    sums_base = row * params.n;
#ifdef INVERSE_SQRT_START
    uint norm;
    ROW_MAX(norm, key)
    if (ROW_LEADER) start(norm);
#else
    float total;
    ROW_SUM(total, term)
    if (ROW_LEADER) decide(total);
#endif
}
