// SPDX-License-Identifier: Apache-2.0
// Acrobot-v1 as Gymnasium defines it, after Sutton, "Generalization in reinforcement learning: successful examples
// using sparse coarse coding", 1996, with the equations of motion of Sutton and Barto's book: two links of 1 m and 1 kg
// hang from a fixed joint, and a torque of -1, 0 or 1 N m (actions 0, 1, 2) at the joint between them swings them up.
// Runge-Kutta of fourth order, 0.2 s a step; reward -1 for every step but the one that brings the tip 1 m above the
// fixed joint, which ends the episode. Angles are wrapped to [-pi, pi], speeds limited to 4 pi and 9 pi per second.
// Class P: whatever is multiplied by a variable goes through exact_flush_operand first (the operand rule of
// docs/kernels/exact_math.md), so no product can come near the smallest normal number.
#ifndef YOLK_ENVIRONMENT_ACROBOT
#define YOLK_ENVIRONMENT_ACROBOT
#include "yolk/exact/environment_prelude.h"
ENVIRONMENT_BEGIN(acrobot)

EXACT_CONST uint kObservationCount = 6u;
EXACT_CONST uint kActionCount = 3u;
EXACT_CONST uint kMaxSteps = 500u;
EXACT_CONST uint kSolvedReturn = 0xC2C80000u;  // -100, Gymnasium's threshold
EXACT_CONST uint kBestReturn = 0xC2600000u;    // -56: a beam search over starts and torques found nothing quicker

EXACT_CONST uint kMinusOne = 0xBF800000u;
EXACT_CONST uint kInertia1 = 0x40600000u;  // 3.5 kg m^2, both links about the fixed joint, the second at a right angle
EXACT_CONST uint kInertia2 = 0x3FA00000u;  // 1.25 kg m^2, the second link about its joint
EXACT_CONST uint kGravity1 = 0x416B3333u;  // 14.7 N m: (0.5 + 1) m * 1 kg * 9.8 m/s^2
EXACT_CONST uint kGravity2 = 0x409CCCCDu;  // 4.9 N m: 0.5 m * 1 kg * 9.8 m/s^2
EXACT_CONST uint kTimeStep = 0x3E4CCCCDu;  // 0.2 s
EXACT_CONST uint kHalfStep = 0x3DCCCCCDu;  // 0.1 s
EXACT_CONST uint kSixthOfStep = 0x3D088889u;   // 0.2 s / 6
EXACT_CONST uint kInverseTwoPi = 0x3E22F983u;  // 1 / (2 pi)
EXACT_CONST uint kTwoPi = 0x40C90FDBu;
EXACT_CONST uint kSpeedLimit1 = 0x41490FDBu;  // 4 pi rad/s
EXACT_CONST uint kSpeedLimit2 = 0x41E231D6u;  // 9 pi rad/s
EXACT_CONST uint kResetWidth = 0x3E4CCCCDu;   // 0.2: each variable starts uniform in [-0.1, 0.1)
EXACT_CONST uint kResetLowest = 0x3DCCCCCDu;  // 0.1, subtracted

struct State {
    float angle1;  // rad, of the first link, 0 hangs down
    float angle2;  // rad, of the second against the first
    float speed1;  // rad/s
    float speed2;
};

EXACT_FUNCTION float reset_value(uint word) {
    exact_float value = exact_uniform(word) * exact_from_bits(kResetWidth) - exact_from_bits(kResetLowest);
    return value;
}

EXACT_FUNCTION State environment_reset(uvec4 words) {
    State state;
    state.angle1 = reset_value(words.x);
    state.angle2 = reset_value(words.y);
    state.speed1 = reset_value(words.z);
    state.speed2 = reset_value(words.w);
    return state;
}

EXACT_PROCEDURE environment_observe(State state, EXACT_OUT_ARRAY(float, observation, kObservationCount)) {
    float angle1 = exact_flush_operand(state.angle1);
    float angle2 = exact_flush_operand(state.angle2);
    observation[0] = exact_cos(angle1);
    observation[1] = exact_sin(angle1);
    observation[2] = exact_cos(angle2);
    observation[3] = exact_sin(angle2);
    observation[4] = state.speed1;
    observation[5] = state.speed2;
}

// The rate at which a state changes: speeds, then the angular accelerations. All four values are operands.
EXACT_FUNCTION State rate_of(State state, float torque) {
    exact_float both = state.angle1 + state.angle2;
    exact_float sine1 = exact_flush_operand(exact_sin(state.angle1));
    exact_float sine2 = exact_flush_operand(exact_sin(state.angle2));
    exact_float sine_both = exact_flush_operand(exact_sin(exact_flush_operand(both)));
    exact_float cosine2 = exact_cos(state.angle2);
    exact_float inertia1 = exact_from_bits(kInertia1) + cosine2;
    exact_float inertia2 = exact_from_bits(kInertia2) + exact_from_bits(kExactHalf) * exact_flush_operand(cosine2);
    exact_float inverse1 = exact_reciprocal(inertia1);
    exact_float ratio = inertia2 * inverse1;

    exact_float swing = exact_from_bits(kExactHalf) * state.speed2 + state.speed1;
    exact_float pull2 = state.speed2 * exact_flush_operand(swing);
    exact_float gravity2 = exact_from_bits(kGravity2) * sine_both;
    exact_float gravity1 = exact_from_bits(kGravity1) * sine1 + gravity2;
    exact_float moment1 = gravity1 - exact_flush_operand(pull2) * sine2;
    exact_float pull1 = exact_from_bits(kExactHalf) * (state.speed1 * state.speed1);
    exact_float moment2 = torque + ratio * exact_flush_operand(moment1);
    moment2 = (moment2 - exact_flush_operand(pull1) * sine2) - gravity2;
    exact_float left = exact_from_bits(kInertia2) - inertia2 * ratio;
    exact_float turn2 = exact_flush_operand(moment2) * exact_reciprocal(left);
    turn2 = exact_flush_operand(turn2);
    exact_float load1 = inertia2 * turn2 + moment1;
    exact_float turn1 = exact_from_bits(kExactZero) - exact_flush_operand(load1) * inverse1;

    State rate;
    rate.angle1 = state.speed1;
    rate.angle2 = state.speed2;
    rate.speed1 = exact_flush_operand(turn1);
    rate.speed2 = turn2;
    return rate;
}

EXACT_FUNCTION float after(float from, float rate, float time) {
    exact_float value = from + time * rate;
    return exact_flush_operand(value);
}

// A state that has changed at this rate for this time.
EXACT_FUNCTION State state_after(State from, State rate, float time) {
    State to;
    to.angle1 = after(from.angle1, rate.angle1, time);
    to.angle2 = after(from.angle2, rate.angle2, time);
    to.speed1 = after(from.speed1, rate.speed1, time);
    to.speed2 = after(from.speed2, rate.speed2, time);
    return to;
}

EXACT_FUNCTION float runge_kutta(float from, float rate1, float rate2, float rate3, float rate4) {
    exact_float middle = rate2 + rate3;
    exact_float sum = ((rate1 + middle) + middle) + rate4;
    return after(from, exact_flush_operand(sum), exact_from_bits(kSixthOfStep));
}

// To [-pi, pi] by whole turns; what lies there already stays as it is.
EXACT_FUNCTION float wrapped(float angle) {
    exact_float turns = exact_round_half_even(angle * exact_from_bits(kInverseTwoPi));
    exact_float value = angle - turns * exact_from_bits(kTwoPi);
    return exact_flush_operand(value);
}

EXACT_FUNCTION float limited(float speed, uint limit) {
    float most = exact_from_bits(limit);
    float least = exact_from_bits(limit | kExactSignMask);
    float below = speed > most ? most : speed;
    return below < least ? least : below;
}

EXACT_FUNCTION StepResult environment_step(EXACT_INOUT(State) state, uint action) {
    exact_float torque = float(action) - exact_from_bits(kExactOne);
    State start = state_after(state, state, exact_from_bits(kExactZero));  // the same values, as operands
    State rate1 = rate_of(start, torque);
    State rate2 = rate_of(state_after(start, rate1, exact_from_bits(kHalfStep)), torque);
    State rate3 = rate_of(state_after(start, rate2, exact_from_bits(kHalfStep)), torque);
    State rate4 = rate_of(state_after(start, rate3, exact_from_bits(kTimeStep)), torque);
    float angle1 = runge_kutta(start.angle1, rate1.angle1, rate2.angle1, rate3.angle1, rate4.angle1);
    float angle2 = runge_kutta(start.angle2, rate1.angle2, rate2.angle2, rate3.angle2, rate4.angle2);
    float speed1 = runge_kutta(start.speed1, rate1.speed1, rate2.speed1, rate3.speed1, rate4.speed1);
    float speed2 = runge_kutta(start.speed2, rate1.speed2, rate2.speed2, rate3.speed2, rate4.speed2);
    state.angle1 = wrapped(angle1);
    state.angle2 = wrapped(angle2);
    state.speed1 = limited(speed1, kSpeedLimit1);
    state.speed2 = limited(speed2, kSpeedLimit2);

    exact_float both = state.angle1 + state.angle2;
    exact_float height = exact_cos(state.angle1) + exact_cos(exact_flush_operand(both));
    StepResult result;
    result.terminated = height < exact_from_bits(kMinusOne);  // the tip is -height above the joint
    result.reward = exact_from_bits(result.terminated ? kExactZero : kMinusOne);
    return result;
}

ENVIRONMENT_END
#endif
