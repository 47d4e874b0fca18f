// SPDX-License-Identifier: Apache-2.0
// The physics of the environments in double precision, from their sources in the literature and with a division and
// std::sin where the shaders have neither. One function per environment and a row in the table below.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string_view>

#include "control_oracles.hpp"
#include "rollout_oracle.hpp"
#include "yolk/internal/oracle/error_bounds.hpp"

namespace yolk::oracle {

namespace {

// Barto, Sutton and Anderson 1983, appendix, as Gymnasium 0.29 has it (no friction).
struct CartPole {
    static constexpr double kGravity = 9.8, kPoleMass = 0.1, kTotalMass = 1.1, kHalfLength = 0.5, kTimeStep = 0.02;
    static constexpr double kPositionLimit = 2.4, kAngleLimit = 12.0 * std::numbers::pi / 180.0;

    static std::vector<RolloutValue> step(std::span<const float> state, std::span<const float> action) {
        const double x = state[0], speed = state[1], angle = state[2], spin = state[3];
        const double force = action[0] == 1.0F ? 10.0 : -10.0;
        const double sine = std::sin(angle), cosine = std::cos(angle);
        const double push = (force + kPoleMass * kHalfLength * spin * spin * sine) / kTotalMass;
        const double inertia = kHalfLength * (4.0 / 3.0 - kPoleMass * cosine * cosine / kTotalMass);
        const double turn = (kGravity * sine - cosine * push) / inertia;
        const double acceleration = push - kPoleMass * kHalfLength * turn * cosine / kTotalMass;
        // Magnitudes of the terms, against which roundings count. A chain has at most 14 roundings (constants
        // included); sine, cosine and the reciprocal add at most 1.3e-7, under 3 roundings, each: 23 in all, 32 with
        // the last two of the sum.
        const double largest_push = (10.0 + 0.05 * spin * spin) / kTotalMass;
        const double largest_turn = (kGravity * (std::abs(sine) + 1.2e-7) + largest_push) / inertia;
        const double u = 32.0 * kFp32Rounding;
        const auto moved = [&](double from, double rate, double largest_rate) {
            return RolloutValue{from + kTimeStep * rate, u * (std::abs(from) + kTimeStep * largest_rate)};
        };
        return {moved(x, speed, std::abs(speed)), moved(speed, acceleration, largest_push + 0.0455 * largest_turn),
                moved(angle, spin, std::abs(spin)), moved(spin, turn, largest_turn)};
    }

    // Distance to the nearer limit over the tolerance; the limits are rounded constants themselves.
    static double margin(std::span<const RolloutValue> state) {
        const auto inside = [](const RolloutValue& value, double limit) {
            return (limit - std::abs(value.value)) / (value.tolerance + kFp32Rounding * limit);
        };
        return std::min(inside(state[0], kPositionLimit), inside(state[2], kAngleLimit));
    }

    static std::vector<RolloutValue> reset(std::span<const std::uint32_t, 4> words) {
        std::vector<RolloutValue> state;
        for (const std::uint32_t word : words) {
            // Roundings of the factor, the product, the offset and the difference, each of something at most 0.1.
            const double uniform = std::floor(word / 256.0) / 16777216.0;
            state.push_back({uniform * 0.1 - 0.05, 4.0 * kFp32Rounding * 0.1});
        }
        return state;
    }

    static std::vector<RolloutValue> observe(std::span<const float> state) {
        return {{state[0], 0.0}, {state[1], 0.0}, {state[2], 0.0}, {state[3], 0.0}};
    }
    static RolloutValue reward(std::span<const float> /*state*/, std::span<const float> /*action*/,
                               bool /*terminated*/) {
        return {1.0, 0.0};
    }
};

const std::array kOracles{
    EnvironmentOracle{"cartpole", &CartPole::step, &CartPole::margin, &CartPole::reset, &CartPole::observe,
                      &CartPole::reward},
    acrobot_oracle(),
    mountain_car_oracle(),
    mountain_car_continuous_oracle(),
    pendulum_oracle(),
};

}  // namespace

const EnvironmentOracle* find_environment_oracle(std::string_view name) noexcept {
    const auto* const found = std::find_if(kOracles.begin(), kOracles.end(),
                                           [&](const EnvironmentOracle& oracle) { return name == oracle.name; });
    return found == kOracles.end() ? nullptr : found;
}

}  // namespace yolk::oracle
