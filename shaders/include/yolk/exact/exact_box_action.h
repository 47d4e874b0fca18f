// SPDX-License-Identifier: Apache-2.0
// From a policy's output to an action of a box: one rule for environments on the device and on the host.
#ifndef YOLK_EXACT_BOX_ACTION_H
#define YOLK_EXACT_BOX_ACTION_H
#include "yolk/exact/exact_prelude.h"

EXACT_BEGIN
EXACT_CONST uint kBoxOne = 0x3F800000u, kBoxMinusOne = 0xBF800000u, kBoxHalf = 0x3F000000u;
EXACT_CONST uint kBoxLargest = 0x7F7FFFFFu, kBoxLowest = 0xFF7FFFFFu;  // of finite numbers

// Between two finite bounds the output is clipped to [-1, 1] and scaled: -1 gives `low`, 0 the middle, 1 `high`. Where
// a bound is infinite, the action is the output, clipped to the other one.
EXACT_FUNCTION float exact_box_action(float value, float low, float high) {
    exact_float action = value;
    if (low >= exact_from_bits(kBoxLowest) && high <= exact_from_bits(kBoxLargest)) {
        exact_float unit = value;
        if (!(unit > exact_from_bits(kBoxMinusOne))) unit = exact_from_bits(kBoxMinusOne);
        if (unit > exact_from_bits(kBoxOne)) unit = exact_from_bits(kBoxOne);
        exact_float width = high - low;
        exact_float half_width = width * exact_from_bits(kBoxHalf);
        exact_float steps = unit + exact_from_bits(kBoxOne);
        exact_float offset = half_width * steps;
        action = low + offset;
    }
    if (action < low) action = low;
    if (action > high) action = high;
    return action;
}
EXACT_END
#endif
