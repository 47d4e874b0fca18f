// SPDX-License-Identifier: Apache-2.0
// Pendulum-v1 as Gymnasium defines it: a rod of 1 m and 1 kg on a fixed joint, swung up and held upright by a torque of
// -2 to 2 N m. Semi-implicit Euler, 0.05 s a step, gravity 10 m/s^2, speed limited to 8 rad/s. The reward is minus a
// cost: the angle from upright squared, a tenth of the speed squared and a thousandth of the torque squared, all from
// before the step. Never terminates. The angle is not wrapped: it stays below 84 rad, well inside the sine's domain.
// Class P: whatever is multiplied goes through exact_flush_operand first.
#ifndef YOLK_ENVIRONMENT_PENDULUM
#define YOLK_ENVIRONMENT_PENDULUM
#define ENVIRONMENT_CONTINUOUS
#include "yolk/exact/environment_prelude.h"
ENVIRONMENT_BEGIN(pendulum)

EXACT_CONST uint kObservationCount = 3u;
EXACT_CONST uint kActionCount = 1u;
EXACT_CONST uint kActionSquashed = 1u;
EXACT_CONST uint kActionLow[kActionCount] = {0xC0000000u};   // -2 N m
EXACT_CONST uint kActionHigh[kActionCount] = {0x40000000u};  // 2 N m
EXACT_CONST uint kMaxSteps = 200u;
EXACT_CONST uint kSolvedReturn = 0xC37A0000u;  // -250; Gymnasium has no threshold
EXACT_CONST uint kBestReturn = 0x00000000u;    // 0: at rest and upright from the start

EXACT_CONST uint kGravity = 0x41700000u;       // 15 1/s^2: 3 * 10 m/s^2 / (2 * 1 m)
EXACT_CONST uint kInverseInertia = 0x40400000u;  // 3 / (1 kg * 1 m^2)
EXACT_CONST uint kTimeStep = 0x3D4CCCCDu;      // 0.05 s
EXACT_CONST uint kSpeedLimit = 0x41000000u;    // 8 rad/s
EXACT_CONST uint kSpeedCost = 0x3DCCCCCDu;     // 0.1
EXACT_CONST uint kTorqueCost = 0x3A83126Fu;    // 0.001
EXACT_CONST uint kPi = 0x40490FDBu;
EXACT_CONST uint kTwoPi = 0x40C90FDBu;
EXACT_CONST uint kInverseTwoPi = 0x3E22F983u;
EXACT_CONST uint kTwo = 0x40000000u;

struct State {
    float angle;  // rad, 0 is upright
    float speed;  // rad/s
};

EXACT_FUNCTION State environment_reset(uvec4 words) {
    State state;
    exact_float angle = exact_uniform(words.x) * exact_from_bits(kTwoPi) - exact_from_bits(kPi);
    exact_float speed = exact_uniform(words.y) * exact_from_bits(kTwo) - exact_from_bits(kExactOne);
    state.angle = exact_flush_operand(angle);
    state.speed = exact_flush_operand(speed);
    return state;
}

EXACT_PROCEDURE environment_observe(State state, EXACT_OUT_ARRAY(float, observation, kObservationCount)) {
    observation[0] = exact_cos(state.angle);
    observation[1] = exact_sin(state.angle);
    observation[2] = state.speed;
}

// To [-pi, pi] by whole turns.
EXACT_FUNCTION float wrapped(float angle) {
    exact_float turns = exact_round_half_even(angle * exact_from_bits(kInverseTwoPi));
    exact_float value = angle - turns * exact_from_bits(kTwoPi);
    return exact_flush_operand(value);
}

EXACT_FUNCTION StepResult environment_step(EXACT_INOUT(State) state,
                                           EXACT_IN_ARRAY(float, action, kActionCount)) {
    exact_float torque = action[0];
    exact_float angle = exact_flush_operand(state.angle);
    exact_float speed = exact_flush_operand(state.speed);
    exact_float off = wrapped(angle);
    exact_float speed_cost = exact_flush_operand(speed * speed) * exact_from_bits(kSpeedCost);
    exact_float torque_cost = exact_flush_operand(torque * torque) * exact_from_bits(kTorqueCost);
    exact_float cost = (off * off + speed_cost) + torque_cost;

    exact_float sine = exact_flush_operand(exact_sin(angle));
    exact_float turn = exact_from_bits(kGravity) * sine + exact_from_bits(kInverseInertia) * torque;
    exact_float moved = speed + exact_flush_operand(turn) * exact_from_bits(kTimeStep);
    moved = moved > exact_from_bits(kSpeedLimit) ? exact_from_bits(kSpeedLimit) : moved;
    exact_float lowest = exact_from_bits(kSpeedLimit | kExactSignMask);
    moved = exact_flush_operand(moved < lowest ? lowest : moved);
    exact_float swung = angle + moved * exact_from_bits(kTimeStep);
    state.speed = moved;
    state.angle = exact_flush_operand(swung);

    StepResult result;
    exact_float reward = exact_from_bits(kExactZero) - cost;
    result.reward = reward;
    result.terminated = false;
    return result;
}

ENVIRONMENT_END
#endif
