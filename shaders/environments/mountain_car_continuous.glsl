// SPDX-License-Identifier: Apache-2.0
// MountainCarContinuous-v0 as Gymnasium defines it: the valley of mountain_car with a push of any strength from -1 to 1
// and the goal at position 0.45. Each step costs a tenth of the push squared, and the one that reaches the goal with a
// speed that is not negative brings 100 and ends the episode. Class P: whatever is multiplied goes through
// exact_flush_operand first.
#ifndef YOLK_ENVIRONMENT_MOUNTAIN_CAR_CONTINUOUS
#define YOLK_ENVIRONMENT_MOUNTAIN_CAR_CONTINUOUS
#define ENVIRONMENT_CONTINUOUS
#include "yolk/exact/environment_prelude.h"
ENVIRONMENT_BEGIN(mountain_car_continuous)

EXACT_CONST uint kObservationCount = 2u;
EXACT_CONST uint kActionCount = 1u;
EXACT_CONST uint kActionSquashed = 1u;
EXACT_CONST uint kActionLow[kActionCount] = {0xBF800000u};   // -1
EXACT_CONST uint kActionHigh[kActionCount] = {0x3F800000u};  // 1
EXACT_CONST uint kMaxSteps = 999u;
EXACT_CONST uint kSolvedReturn = 0x42B40000u;  // 90
EXACT_CONST uint kBestReturn = 0x42C80000u;    // 100: what the goal brings

EXACT_CONST uint kPower = 0x3AC49BA6u;         // 0.0015 a step
EXACT_CONST uint kSlope = 0x3B23D70Au;         // 0.0025 a step: the pull of the hill
EXACT_CONST uint kThree = 0x40400000u;
EXACT_CONST uint kSpeedLimit = 0x3D8F5C29u;    // 0.07 a step
EXACT_CONST uint kWall = 0xBF99999Au;          // -1.2
EXACT_CONST uint kRightEnd = 0x3F19999Au;      // 0.6
EXACT_CONST uint kGoal = 0x3EE66666u;          // 0.45
EXACT_CONST uint kPrize = 0x42C80000u;         // 100
EXACT_CONST uint kPushCost = 0x3DCCCCCDu;      // 0.1
EXACT_CONST uint kResetWidth = 0x3E4CCCCDu;    // 0.2: starts at rest, uniform in [-0.6, -0.4)
EXACT_CONST uint kResetLowest = 0x3F19999Au;   // 0.6, subtracted

struct State {
    float position;
    float speed;  // per step
};

EXACT_FUNCTION State environment_reset(uvec4 words) {
    State state;
    exact_float position = exact_uniform(words.x) * exact_from_bits(kResetWidth) - exact_from_bits(kResetLowest);
    state.position = position;
    state.speed = exact_from_bits(kExactZero);
    return state;
}

EXACT_PROCEDURE environment_observe(State state, EXACT_OUT_ARRAY(float, observation, kObservationCount)) {
    observation[0] = state.position;
    observation[1] = state.speed;
}

EXACT_FUNCTION StepResult environment_step(EXACT_INOUT(State) state,
                                           EXACT_IN_ARRAY(float, action, kActionCount)) {
    exact_float push = action[0];
    exact_float angle = exact_flush_operand(state.position) * exact_from_bits(kThree);
    exact_float pull = exact_flush_operand(exact_cos(angle)) * exact_from_bits(kSlope);
    exact_float speed = (state.speed + push * exact_from_bits(kPower)) - pull;
    exact_float fastest = exact_from_bits(kSpeedLimit);
    speed = speed > fastest ? fastest : speed;
    speed = exact_flush_operand(speed < -fastest ? -fastest : speed);
    exact_float position = state.position + speed;
    position = position > exact_from_bits(kRightEnd) ? exact_from_bits(kRightEnd) : position;
    bool at_wall = position <= exact_from_bits(kWall);
    position = exact_flush_operand(at_wall ? exact_from_bits(kWall) : position);
    speed = at_wall && speed < exact_from_bits(kExactZero) ? exact_from_bits(kExactZero) : speed;
    state.position = position;
    state.speed = speed;

    StepResult result;
    result.terminated = position >= exact_from_bits(kGoal) && speed >= exact_from_bits(kExactZero);
    exact_float prize = exact_from_bits(result.terminated ? kPrize : kExactZero);
    exact_float reward = prize - exact_flush_operand(push * push) * exact_from_bits(kPushCost);
    result.reward = reward;
    return result;
}

ENVIRONMENT_END
#endif
