// SPDX-License-Identifier: Apache-2.0
// From an output of a policy to one dimension of a continuous action (docs/environments.md).
#ifndef YOLK_EXACT_CONTINUOUS_ACTION_H
#define YOLK_EXACT_CONTINUOUS_ACTION_H
#include "yolk/exact/exact_math.h"
EXACT_BEGIN

// Of bounds and an action: an environment's dimensions are at most so many.
EXACT_CONST uint kMaxContinuousActions = 16u;

// tanh(output) where `squashed`, else the output clipped to [-1, 1]; scaled from there to [low, high]. An operand of
// the operand rule, inside the bounds, whatever the output is (NaN gives a bound). `low` and `high`: operands, at most
// 2^40.
EXACT_FUNCTION float exact_continuous_action(float value, float low, float high, bool squashed) {
    exact_float middle = exact_from_bits(kExactHalf) * low + exact_from_bits(kExactHalf) * high;
    exact_float reach = exact_from_bits(kExactHalf) * high - exact_from_bits(kExactHalf) * low;
    float one = exact_from_bits(kExactOne);
    float minus_one = exact_from_bits(kExactOne | kExactSignMask);
    float clipped = value < one ? value : one;
    clipped = clipped > minus_one ? clipped : minus_one;
    float share = exact_select(squashed, exact_tanh(value), exact_flush_operand(clipped));
    exact_float action = exact_flush_operand(middle) + exact_flush_operand(reach) * share;
    float below = action < high ? action : high;
    return exact_flush_operand(below > low ? below : low);
}

EXACT_END
#endif
