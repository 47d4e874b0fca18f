// SPDX-License-Identifier: Apache-2.0
// MountainCar-v0 as Gymnasium defines it, after Moore's thesis, 1990: a car in a valley, too weak to climb straight up,
// is pushed left (action 0), not at all (1) or right (2). Reward -1 for every step, the last one included; ends at
// position 0.5 with a speed that is not negative. The wall on the left, at -1.2, stops the car; the speed is limited.
// Class P: whatever is multiplied goes through exact_flush_operand first.
#ifndef YOLK_ENVIRONMENT_MOUNTAIN_CAR
#define YOLK_ENVIRONMENT_MOUNTAIN_CAR
#include "yolk/exact/environment_prelude.h"
ENVIRONMENT_BEGIN(mountain_car)

EXACT_CONST uint kObservationCount = 2u;
EXACT_CONST uint kActionCount = 3u;
EXACT_CONST uint kMaxSteps = 200u;
EXACT_CONST uint kSolvedReturn = 0xC2DC0000u;  // -110
EXACT_CONST uint kBestReturn = 0xC2A00000u;    // -80: a search over starts and pushes found nothing quicker

EXACT_CONST uint kPush = 0x3A83126Fu;          // 0.001 a step
EXACT_CONST uint kSlope = 0x3B23D70Au;         // 0.0025 a step: the pull of the hill
EXACT_CONST uint kThree = 0x40400000u;
EXACT_CONST uint kSpeedLimit = 0x3D8F5C29u;    // 0.07 a step
EXACT_CONST uint kWall = 0xBF99999Au;          // -1.2
EXACT_CONST uint kRightEnd = 0x3F19999Au;      // 0.6
EXACT_CONST uint kGoal = 0x3F000000u;          // 0.5
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

EXACT_FUNCTION StepResult environment_step(EXACT_INOUT(State) state, uint action) {
    exact_float push = (float(action) - exact_from_bits(kExactOne)) * exact_from_bits(kPush);
    exact_float angle = exact_flush_operand(state.position) * exact_from_bits(kThree);
    exact_float pull = exact_flush_operand(exact_cos(angle)) * exact_from_bits(kSlope);
    exact_float speed = (state.speed + push) - pull;
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
    result.reward = exact_from_bits(kExactOne | kExactSignMask);
    result.terminated = position >= exact_from_bits(kGoal) && speed >= exact_from_bits(kExactZero);
    return result;
}

ENVIRONMENT_END
#endif
