// SPDX-License-Identifier: Apache-2.0
// Pendulum-v1, MountainCar-v0 and MountainCarContinuous-v0 in double, from Gymnasium's equations.
#include "control_oracles.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "yolk/internal/oracle/error_bounds.hpp"

namespace yolk::oracle {
namespace {

constexpr double kSineError = 1.1e-7;  // of exact_sin and exact_cos (docs/kernels/exact_math.md)

struct Pendulum {
    static constexpr double kSpeedLimit = 8.0, kTimeStep = 0.05;

    /// Each term of the acceleration has at most four roundings, constants included, the speed three more, the angle
    /// another three.
    static std::vector<RolloutValue> step(std::span<const float> state, std::span<const float> action) {
        const double angle = state[0], speed = state[1], torque = action[0];
        const double turn = 15.0 * std::sin(angle) + 3.0 * torque;
        const double largest = 15.0 * std::abs(std::sin(angle)) + 3.0 * std::abs(torque);
        const double turn_error = 15.0 * kSineError + 6.0 * kFp32Rounding * largest + 20.0 * kOperandFloor;
        const double moved = std::clamp(speed + turn * kTimeStep, -kSpeedLimit, kSpeedLimit);
        const double moved_error =
            kTimeStep * turn_error + 4.0 * kFp32Rounding * (std::abs(speed) + kTimeStep * largest) + kOperandFloor;
        const double swung = angle + moved * kTimeStep;
        const double swung_error = kTimeStep * moved_error +
                                   4.0 * kFp32Rounding * (std::abs(angle) + kTimeStep * std::abs(moved)) +
                                   kOperandFloor;
        return {{swung, swung_error}, {moved, moved_error}};
    }
    static double margin(std::span<const RolloutValue> /*state*/) { return std::numeric_limits<double>::infinity(); }
    static std::vector<RolloutValue> reset(std::span<const std::uint32_t, 4> words) {
        return {uniform_start(words[0], -std::numbers::pi, 2.0 * std::numbers::pi), uniform_start(words[1], -1.0, 2.0)};
    }
    static std::vector<RolloutValue> observe(std::span<const float> state) {
        const double angle = state[0];
        return {{std::cos(angle), kSineError}, {std::sin(angle), kSineError}, {state[1], 0.0}};
    }
    /// The angle loses the rounding of two pi for each turn that is taken off it, and three roundings of it.
    static RolloutValue reward(std::span<const float> state, std::span<const float> action, bool /*terminated*/) {
        const double off = std::remainder(static_cast<double>(state[0]), 2.0 * std::numbers::pi);
        const double speed = state[1], torque = action[0];
        const double cost = off * off + 0.1 * speed * speed + 0.001 * torque * torque;
        const double off_error = 4.0 * kFp32Rounding * (std::abs(state[0]) + std::numbers::pi);
        return {-cost, (2.0 * std::abs(off) + off_error) * off_error + 6.0 * kFp32Rounding * cost + kOperandFloor};
    }
};

/// Both cars but for how hard they are pushed and where their goal is.
std::vector<RolloutValue> rolled(std::span<const float> state, double push) {
    constexpr double kSpeedLimit = 0.07, kWall = -1.2, kRightEnd = 0.6, kSlope = 0.0025;
    const double position = state[0], speed = state[1];
    // The cosine's argument has two roundings; the sum of three terms two of each, with the constants' and products'.
    const double pull = kSlope * std::cos(3.0 * position);
    const double pull_error = kSlope * (kSineError + 6.0 * kFp32Rounding * std::abs(position));
    const double largest = std::abs(speed) + std::abs(push) + kSlope;
    const double moved = std::clamp(speed + push - pull, -kSpeedLimit, kSpeedLimit);
    const double moved_error = pull_error + 5.0 * kFp32Rounding * largest + 2.0 * kOperandFloor;
    const double free = position + moved;
    const double error = moved_error + 2.0 * kFp32Rounding * (std::abs(position) + kSpeedLimit + 1.2) + kOperandFloor;
    const bool at_wall = free <= kWall;
    const bool in_doubt = std::abs(free - kWall) <= error && moved < moved_error;
    return {{std::clamp(free, kWall, kRightEnd), error},
            {at_wall ? std::max(moved, 0.0) : moved, moved_error + (in_doubt ? std::abs(moved) : 0.0)}};
}

/// It ends where both the goal is reached and the speed is not negative.
double car_margin(std::span<const RolloutValue> state, double goal) {
    const double before_goal = (goal - state[0].value) / (state[0].tolerance + kFp32Rounding * goal);
    return std::max(before_goal, -state[1].value / state[1].tolerance);
}

struct MountainCar {
    static std::vector<RolloutValue> step(std::span<const float> state, std::span<const float> action) {
        return rolled(state, (action[0] - 1.0) * 0.001);
    }
    static double margin(std::span<const RolloutValue> state) { return car_margin(state, 0.5); }
    static std::vector<RolloutValue> reset(std::span<const std::uint32_t, 4> words) {
        return {uniform_start(words[0], -0.6, 0.2), {0.0, 0.0}};
    }
    static std::vector<RolloutValue> observe(std::span<const float> state) {
        return {{state[0], 0.0}, {state[1], 0.0}};
    }
    static RolloutValue reward(std::span<const float> /*state*/, std::span<const float> /*action*/,
                               bool /*terminated*/) {
        return {-1.0, 0.0};
    }
};

struct MountainCarContinuous {
    static std::vector<RolloutValue> step(std::span<const float> state, std::span<const float> action) {
        return rolled(state, action[0] * 0.0015);
    }
    static double margin(std::span<const RolloutValue> state) { return car_margin(state, 0.45); }
    static RolloutValue reward(std::span<const float> /*state*/, std::span<const float> action, bool terminated) {
        const double cost = 0.1 * action[0] * action[0];
        const double prize = terminated ? 100.0 : 0.0;
        return {prize - cost, 4.0 * kFp32Rounding * cost + kFp32Rounding * prize + kOperandFloor};
    }
};

}  // namespace

std::vector<RolloutValue> continuous_actions(const ActionSpace& space, std::span<const RolloutValue> outputs) {
    constexpr double kTanhError = 1.3e-6;  // exact_tanh's, in either determinism, and what is flushed
    std::vector<RolloutValue> actions;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const double low = space.low[i], high = space.high[i];
        const double value = outputs[i].value;
        const double share = space.squashed ? std::tanh(value) : std::clamp(value, -1.0, 1.0);
        const double share_error = outputs[i].tolerance + (space.squashed ? kTanhError : kOperandFloor);
        const double reach = 0.5 * (high - low);
        const double roundings = 6.0 * kFp32Rounding * (std::abs(low) + std::abs(high)) + 3.0 * kOperandFloor;
        actions.push_back({std::clamp(0.5 * (low + high) + reach * share, low, high), reach * share_error + roundings});
    }
    return actions;
}

EnvironmentOracle pendulum_oracle() noexcept {
    return {"pendulum", &Pendulum::step, &Pendulum::margin, &Pendulum::reset, &Pendulum::observe, &Pendulum::reward};
}

EnvironmentOracle mountain_car_oracle() noexcept {
    return {"mountain_car",      &MountainCar::step,    &MountainCar::margin,
            &MountainCar::reset, &MountainCar::observe, &MountainCar::reward};
}

EnvironmentOracle mountain_car_continuous_oracle() noexcept {
    return {"mountain_car_continuous", &MountainCarContinuous::step, &MountainCarContinuous::margin,
            &MountainCar::reset,       &MountainCar::observe,        &MountainCarContinuous::reward};
}

}  // namespace yolk::oracle
