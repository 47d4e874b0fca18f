// SPDX-License-Identifier: Apache-2.0
// cross_entropy: losses[r] = log(s) + (m - x_t), for each row x of logits[row_count, columns], m the row's maximum,
// s the sum over i of exp(x_i - m), t = targets[r % target_count]. Bindings, constants: yolk/abi/cross_entropy.h; the
// order of the sum, and how rows are shared out: rows.glsl. Loops: twice ceil(columns / 32) iterations. No scratch, no
// subgroup assumption; shared memory and barriers by group only.
// A target that is not below `columns` is not read with: its loss is NaN (0x7FC00000), and status[0] is counted up. A
// row whose maximum is not finite (NaN or +infinity anywhere, or nothing but -infinity) has the same loss, uncounted. A
// target's logit of -infinity has the loss infinity.
// Class P: inputs are operands when loaded (zero below 2^-40); an exponential is 0 or at least 2^-100, so sums are
// multiples of 2^-123; log(s) is 0 or at least 2^-24.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/abi/cross_entropy.h"

layout(local_size_x_id = kSpecWorkgroupSize) in;
layout(constant_id = kSpecWorkgroupSize) const uint WORKGROUP_SIZE = 32;
layout(constant_id = kSpecRowLanes) const uint ROW_LANES = 32;

layout(set = 0, binding = kBindLogits, scalar) readonly restrict buffer Logits { float in_[]; };
layout(set = 0, binding = kBindTargets, scalar) readonly restrict buffer Targets { uint targets[]; };
layout(set = 0, binding = kBindLosses, scalar) writeonly restrict buffer Losses { float losses[]; };
layout(set = 0, binding = kBindStatus, scalar) restrict buffer Status { uint status[]; };
layout(push_constant, scalar) uniform PushConstants { Params params; };

#define ROWS_HAVE_LANES
#include "rows.glsl"
#include "row_exponentials.glsl"

void main() {
    ROWS_BEGIN(params.row_count, params.columns)
    row_base = row * params.columns;
    uint largest;
    ROW_MAX(largest, row_input_key)
    row_largest = row_key_value(largest);
    float sum;
    ROW_SUM(sum, row_exponential)
    if (ROW_LEADER) {
        uint target = targets[row % params.target_count];
        bool in_range = target < params.columns;
        precise float loss = exact_log(sum) + (row_largest - row_input(in_range ? target : 0u));
        losses[row] = in_range && row_key_is_finite(largest) ? loss : uintBitsToFloat(kRowNan);
        if (!in_range) atomicAdd(status[0], 1u);
    }
}
