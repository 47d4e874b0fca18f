// SPDX-License-Identifier: Apache-2.0
// CartPole without its velocities: the physics, rewards and starts of shaders/environments/cartpole.glsl, of which a
// policy sees position and angle only. What it needs to balance the pole it has to remember (docs/environments.md).
#ifndef YOLK_ENVIRONMENT_CARTPOLE_BY_POSITION
#define YOLK_ENVIRONMENT_CARTPOLE_BY_POSITION
#include "yolk/exact/environment_prelude.h"
ENVIRONMENT_BEGIN(cartpole_by_position)

EXACT_CONST uint kObservationCount = 2u;
EXACT_CONST uint kActionCount = 2u;
EXACT_CONST uint kMaxSteps = 500u;
EXACT_CONST uint kSolvedReturn = 0x43ED8000u;  // 475
EXACT_CONST uint kBestReturn = 0x43FA0000u;    // 500

EXACT_CONST uint kGravity = 0x411CCCCDu;           // 9.8 m/s^2
EXACT_CONST uint kForce = 0x41200000u;             // 10 N
EXACT_CONST uint kInverseMass = 0x3F68BA2Fu;       // 1 / (cart 1 kg + pole 0.1 kg)
EXACT_CONST uint kPoleMoment = 0x3D4CCCCDu;        // pole 0.1 kg * half length 0.5 m
EXACT_CONST uint kPoleMomentShare = 0x3D3A2E8Cu;   // that / 1.1 kg
EXACT_CONST uint kInertia = 0x3F2AAAABu;           // half length * 4/3
EXACT_CONST uint kTimeStep = 0x3CA3D70Au;          // 0.02 s
EXACT_CONST uint kPositionLimit = 0x4019999Au;     // 2.4 m
EXACT_CONST uint kAngleLimit = 0x3E567750u;        // 12 degrees in radians
EXACT_CONST uint kResetWidth = 0x3DCCCCCDu;        // 0.1: each variable starts uniform in [-0.05, 0.05)
EXACT_CONST uint kResetLowest = 0x3D4CCCCDu;       // 0.05, subtracted

struct State {
    float position;          // m
    float velocity;          // m/s
    float angle;             // rad, 0 is upright
    float angular_velocity;  // rad/s
};

EXACT_FUNCTION float reset_value(uint word) {
    exact_float value = exact_uniform(word) * exact_from_bits(kResetWidth) - exact_from_bits(kResetLowest);
    return value;
}

EXACT_FUNCTION State environment_reset(uvec4 words) {
    State state;
    state.position = reset_value(words.x);
    state.velocity = reset_value(words.y);
    state.angle = reset_value(words.z);
    state.angular_velocity = reset_value(words.w);
    return state;
}

EXACT_PROCEDURE environment_observe(State state, EXACT_OUT_ARRAY(float, observation, kObservationCount)) {
    observation[0] = state.position;
    observation[1] = state.angle;
}

EXACT_FUNCTION StepResult environment_step(EXACT_INOUT(State) state, uint action) {
    exact_float force = exact_from_bits(kForce | (action == 0u ? kExactSignMask : 0u));
    exact_float sine = exact_sin(state.angle);
    exact_float cosine = exact_cos(state.angle);
    exact_float spin = state.angular_velocity;
    exact_float push = (force + (exact_from_bits(kPoleMoment) * (spin * spin)) * sine) * exact_from_bits(kInverseMass);
    exact_float inertia = exact_from_bits(kInertia) - exact_from_bits(kPoleMomentShare) * (cosine * cosine);
    exact_float turn = (exact_from_bits(kGravity) * sine - cosine * push) * exact_reciprocal(inertia);
    exact_float acceleration = push - (exact_from_bits(kPoleMomentShare) * turn) * cosine;

    exact_float step = exact_from_bits(kTimeStep);
    exact_float position = state.position + step * state.velocity;
    exact_float velocity = state.velocity + step * acceleration;
    exact_float angle = state.angle + step * spin;
    exact_float angular_velocity = spin + step * turn;
    state.position = position;
    state.velocity = velocity;
    state.angle = angle;
    state.angular_velocity = angular_velocity;

    StepResult result;
    result.reward = exact_from_bits(kExactOne);
    bool off_track = exact_abs(position) > exact_from_bits(kPositionLimit);
    bool fallen = exact_abs(angle) > exact_from_bits(kAngleLimit);
    result.terminated = off_track || fallen;
    return result;
}

ENVIRONMENT_END
#endif
