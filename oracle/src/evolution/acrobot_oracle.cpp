// SPDX-License-Identifier: Apache-2.0
// Acrobot-v1 in double, from Gymnasium's equations ("book" dynamics): links of length 1, mass 1, moment of inertia 1,
// centres of mass at 0.5, gravity 9.8.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "control_oracles.hpp"
#include "yolk/internal/oracle/error_bounds.hpp"

namespace yolk::oracle {
namespace {

constexpr double kTurn = 2.0 * std::numbers::pi;
using AcrobotWords = std::array<double, 4>;  ///< both angles, both speeds

struct Accelerations {
    std::array<double, 2> value;
    double error = 0.0;  ///< of either in fp32, to first order
};

/// The error: the terms of the second joint's moment, by absolute value and divided by what remains of its inertia,
/// have some 40 roundings each way in the file (sines and cosines 2, the reciprocals 2 each, inertia over inertia 8,
/// the difference under the division 16, sums and products the rest); a third of them reaches the first joint. 64 are
/// taken.
Accelerations accelerations_of(const AcrobotWords& s, double torque) {
    const auto [a1, a2, s1, s2] = s;
    const double d1 = 0.25 + (1.0 + 0.25 + std::cos(a2)) + 2.0;
    const double d2 = (0.25 + 0.5 * std::cos(a2)) + 1.0;
    const double phi2 = 4.9 * std::cos(a1 + a2 - std::numbers::pi / 2);
    const double phi1 =
        -0.5 * s2 * s2 * std::sin(a2) - s2 * s1 * std::sin(a2) + 14.7 * std::cos(a1 - std::numbers::pi / 2) + phi2;
    const double left = 1.25 - d2 * d2 / d1;
    const double turn2 = (torque + d2 / d1 * phi1 - 0.5 * s1 * s1 * std::sin(a2) - phi2) / left;
    const double turn1 = -(d2 * turn2 + phi1) / d1;
    const double terms = 1.0 + 0.5 * s2 * s2 + std::abs(s1 * s2) + 14.7 + 2 * 4.9 + 0.5 * s1 * s1;
    return {.value = {turn1, turn2}, .error = 64 * kFp32Rounding * terms / left};
}

/// Which stage's acceleration of which joint is changed by its error; stage 4: none.
struct AcrobotChange {
    std::size_t stage = 4, joint = 0;
};

/// One step without wrapping and limits.
AcrobotWords acrobot_after(const AcrobotWords& from, double torque, const AcrobotChange& change) {
    constexpr std::array kReach{0.0, 0.1, 0.1, 0.2};
    constexpr std::array kWeight{1.0, 2.0, 2.0, 1.0};
    AcrobotWords sum{};
    AcrobotWords rate{};
    for (std::size_t stage = 0; stage < 4; ++stage) {
        AcrobotWords at = from;
        for (std::size_t w = 0; w < 4; ++w) at[w] += kReach[stage] * rate[w];
        Accelerations turns = accelerations_of(at, torque);
        if (change.stage == stage) turns.value[change.joint] += turns.error;
        rate = {at[2], at[3], turns.value[0], turns.value[1]};
        for (std::size_t w = 0; w < 4; ++w) sum[w] += kWeight[stage] * rate[w];
    }
    AcrobotWords to = from;
    for (std::size_t w = 0; w < 4; ++w) to[w] += 0.2 / 6 * sum[w];
    return to;
}

/// In [-pi, pi]; by a turn either way where that is in doubt.
RolloutValue wrapped_angle(double angle, double tolerance) {
    const double value = std::remainder(angle, kTurn);
    const bool in_doubt = std::numbers::pi - std::abs(value) < tolerance;
    return {value, in_doubt ? kTurn + tolerance : tolerance};
}

/// The tolerance: what each of the eight accelerations' errors changes, by doing it, and the roundings of the states in
/// between and at the end (ten of the largest of them; reaching 2.5 turns of 2^-23 relative where an angle is wrapped).
std::vector<RolloutValue> acrobot_step(std::span<const float> state, std::span<const float> action) {
    const AcrobotWords from{state[0], state[1], state[2], state[3]};
    const double torque = static_cast<double>(action[0]) - 1.0;
    const AcrobotWords to = acrobot_after(from, torque, {});
    AcrobotWords tolerance{};
    for (std::size_t stage = 0; stage < 4; ++stage) {
        for (std::size_t joint = 0; joint < 2; ++joint) {
            const AcrobotWords other = acrobot_after(from, torque, {.stage = stage, .joint = joint});
            for (std::size_t w = 0; w < 4; ++w) tolerance[w] += std::abs(other[w] - to[w]);
        }
    }
    for (std::size_t w = 0; w < 4; ++w)
        tolerance[w] += 10 * kFp32Rounding * std::max({std::abs(from[w]), std::abs(to[w]), std::numbers::pi});
    const double limit1 = 2 * kTurn, limit2 = 4.5 * kTurn;
    return {wrapped_angle(to[0], tolerance[0]),
            wrapped_angle(to[1], tolerance[1]),
            {std::clamp(to[2], -limit1, limit1), tolerance[2] + kFp32Rounding * limit1},
            {std::clamp(to[3], -limit2, limit2), tolerance[3] + kFp32Rounding * limit2}};
}

/// Angles a turn off have the same cosine. Each of the two cosines changes by at most what its angles do, and is off by
/// 1.1e-7; the angles' sum and the cosines' by two roundings.
double acrobot_margin(std::span<const RolloutValue> state) {
    const double height = -std::cos(state[0].value) - std::cos(state[0].value + state[1].value);
    const auto without_turns = [](double tolerance) { return tolerance < kTurn ? tolerance : tolerance - kTurn; };
    const double off = 2.0 * without_turns(state[0].tolerance) + without_turns(state[1].tolerance);
    return (1.0 - height) / (off + 2.2e-7 + 8.0 * kTurn * kFp32Rounding);
}

std::vector<RolloutValue> acrobot_reset(std::span<const std::uint32_t, 4> words) {
    std::vector<RolloutValue> state;
    for (const std::uint32_t word : words) state.push_back(uniform_start(word, -0.1, 0.2));
    return state;
}

std::vector<RolloutValue> acrobot_observe(std::span<const float> state) {
    constexpr double kSineError = 1.1e-7 + kOperandFloor;  // docs/kernels/exact_math.md
    const double angle1 = state[0], angle2 = state[1];
    return {{std::cos(angle1), kSineError},
            {std::sin(angle1), kSineError},
            {std::cos(angle2), kSineError},
            {std::sin(angle2), kSineError},
            {state[2], 0.0},
            {state[3], 0.0}};
}

RolloutValue acrobot_reward(std::span<const float> /*state*/, std::span<const float> /*action*/, bool terminated) {
    return {terminated ? 0.0 : -1.0, 0.0};
}

}  // namespace

RolloutValue uniform_start(std::uint32_t word, double low, double width) noexcept {
    const double value = low + width * std::floor(word / 256.0) / 16777216.0;
    return {value, 4.0 * kFp32Rounding * std::max(std::abs(low), width) + kOperandFloor};
}

EnvironmentOracle acrobot_oracle() noexcept {
    return {"acrobot", &acrobot_step, &acrobot_margin, &acrobot_reset, &acrobot_observe, &acrobot_reward};
}

}  // namespace yolk::oracle
