// SPDX-License-Identifier: Apache-2.0
// A cart without friction that has to stay within half a metre of the middle: little to compile, on any driver.
#ifndef YOLK_ENVIRONMENT_SLIDER
#define YOLK_ENVIRONMENT_SLIDER
#include "yolk/exact/environment_prelude.h"
ENVIRONMENT_BEGIN(slider)

EXACT_CONST uint kObservationCount = 2u;
EXACT_CONST uint kActionCount = 2u;
EXACT_CONST uint kMaxSteps = 100u;
EXACT_CONST uint kSolvedReturn = 0x42A00000u;  // 80
EXACT_CONST uint kBestReturn = 0x42C80000u;    // 100: one a step within 0.5 m of the middle

EXACT_CONST uint kPush = 0x3D4CCCCDu;  // 0.05 m/s a step
EXACT_CONST uint kHalf = 0x3F000000u;  // 0.5
EXACT_CONST uint kOne = 0x3F800000u;
EXACT_CONST uint kTwo = 0x40000000u;
EXACT_CONST uint kStep = 0x3DCCCCCDu;  // 0.1 s

struct State {
    float place;  // m
    float speed;  // m/s
};

EXACT_FUNCTION State environment_reset(uvec4 words) {
    State state;
    exact_float place = exact_uniform(words.x) * exact_from_bits(kTwo) - exact_from_bits(kOne);
    state.place = place;
    state.speed = exact_from_bits(kExactZero);
    return state;
}

EXACT_PROCEDURE environment_observe(State state, EXACT_OUT_ARRAY(float, observation, kObservationCount)) {
    observation[0] = state.place;
    observation[1] = state.speed;
}

EXACT_FUNCTION StepResult environment_step(EXACT_INOUT(State) state, uint action) {
    exact_float push = action == 1u ? exact_from_bits(kPush) : -exact_from_bits(kPush);
    exact_float speed = exact_flush_operand(state.speed) + push;
    exact_float place = exact_flush_operand(state.place) + exact_flush_operand(speed) * exact_from_bits(kStep);
    state.speed = speed;
    state.place = place;
    StepResult result;
    result.reward = place < exact_from_bits(kHalf) && -place < exact_from_bits(kHalf) ? exact_from_bits(kOne) : exact_from_bits(kExactZero);
    result.terminated = false;
    return result;
}

ENVIRONMENT_END
#endif
