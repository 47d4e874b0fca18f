// SPDX-License-Identifier: Apache-2.0
// examples/environments/acrobot.glsl as C++ against Gymnasium's Acrobot-v1 in double precision, written from its
// equations ("book" dynamics) and sharing nothing with the file.
#include "environments/acrobot.glsl"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <random>

#include "policy_runner.hpp"
#include "task_setup.hpp"
#include "yolk/environment.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::train {
namespace {

using exact::acrobot::State;
using Words = std::array<double, 4>;  ///< both angles, both speeds

constexpr double kPi = std::numbers::pi;
constexpr double kUnit = 0x1p-24;  ///< half an fp32 rounding step at 1

Words words_of(const State& state) { return {state.angle1, state.angle2, state.speed1, state.speed2}; }

struct Accelerations {
    std::array<double, 2> value;
    double error = 0.0;  ///< of either in fp32, to first order
};

/// Links of length 1, mass 1, moment of inertia 1, centres of mass at 0.5, gravity 9.8. The error: the terms of the
/// second joint's moment, by absolute value and divided by what remains of its inertia, have some 40 roundings each way
/// in the file (sines and cosines 2, the reciprocals 2 each, inertia over inertia 8, the difference under the division
/// 16, sums and products the rest); a third of them reaches the first joint. 64 units are taken.
Accelerations accelerations_of(const Words& s, double torque) {
    const auto [a1, a2, s1, s2] = s;
    const double d1 = 0.25 + (1.0 + 0.25 + std::cos(a2)) + 2.0;
    const double d2 = (0.25 + 0.5 * std::cos(a2)) + 1.0;
    const double phi2 = 4.9 * std::cos(a1 + a2 - kPi / 2);
    const double phi1 = -0.5 * s2 * s2 * std::sin(a2) - s2 * s1 * std::sin(a2) + 14.7 * std::cos(a1 - kPi / 2) + phi2;
    const double left = 1.25 - d2 * d2 / d1;
    const double turn2 = (torque + d2 / d1 * phi1 - 0.5 * s1 * s1 * std::sin(a2) - phi2) / left;
    const double turn1 = -(d2 * turn2 + phi1) / d1;
    const double terms = 1.0 + 0.5 * s2 * s2 + std::abs(s1 * s2) + 14.7 + 2 * 4.9 + 0.5 * s1 * s1;
    return {.value = {turn1, turn2}, .error = 64 * kUnit * terms / left};
}

/// Which stage's acceleration of which joint is changed by its error; stage 4: none.
struct Change {
    std::size_t stage = 4, joint = 0;
};

/// One step without wrapping and limits.
Words runge_kutta(const Words& from, double torque, const Change& change) {
    constexpr std::array kReach{0.0, 0.1, 0.1, 0.2};
    constexpr std::array kWeight{1.0, 2.0, 2.0, 1.0};
    Words sum{};
    Words rate{};
    for (std::size_t stage = 0; stage < 4; ++stage) {
        Words at = from;
        for (std::size_t w = 0; w < 4; ++w) at[w] += kReach[stage] * rate[w];
        Accelerations turns = accelerations_of(at, torque);
        if (change.stage == stage) turns.value[change.joint] += turns.error;
        rate = {at[2], at[3], turns.value[0], turns.value[1]};
        for (std::size_t w = 0; w < 4; ++w) sum[w] += kWeight[stage] * rate[w];
    }
    Words to = from;
    for (std::size_t w = 0; w < 4; ++w) to[w] += 0.2 / 6 * sum[w];
    return to;
}

struct Step {
    Words value{}, tolerance{};
};

/// The tolerance: what each of the eight accelerations' errors changes, by doing it, and the roundings of the states in
/// between and at the end (ten of the largest of them; reaching 2.5 turns of 2^-23 relative where an angle is wrapped).
Step step_of(const Words& from, double torque) {
    Step step{.value = runge_kutta(from, torque, {})};
    for (std::size_t stage = 0; stage < 4; ++stage) {
        for (std::size_t joint = 0; joint < 2; ++joint) {
            const Words other = runge_kutta(from, torque, {.stage = stage, .joint = joint});
            for (std::size_t w = 0; w < 4; ++w) step.tolerance[w] += std::abs(other[w] - step.value[w]);
        }
    }
    for (std::size_t w = 0; w < 4; ++w) {
        const double largest = std::max({std::abs(from[w]), std::abs(step.value[w]), kPi});
        step.tolerance[w] += 10 * kUnit * largest;
    }
    step.value[2] = std::clamp(step.value[2], -4 * kPi, 4 * kPi);
    step.value[3] = std::clamp(step.value[3], -9 * kPi, 9 * kPi);
    return step;
}

State random_state(std::mt19937& random, float speed1, float speed2) {
    const auto within = [&](float limit) { return std::uniform_real_distribution<float>(-limit, limit)(random); };
    return {.angle1 = within(3.14F), .angle2 = within(3.14F), .speed1 = within(speed1), .speed2 = within(speed2)};
}

// Faster than a trained policy ever swings.
TEST(acrobot, steps_match_gymnasiums_equations) {
    std::mt19937 random(1);
    int terminated = 0;
    double largest_tolerance = 0.0;
    for (int i = 0; i < 20000; ++i) {
        State state = random_state(random, 5.0F, 8.0F);
        const auto action = static_cast<std::uint32_t>(random() % 3);
        const Step expected = step_of(words_of(state), static_cast<double>(action) - 1.0);
        const exact::StepResult result = exact::acrobot::environment_step(state, action);
        const Words got = words_of(state);
        for (std::size_t w = 0; w < 4; ++w) {
            const double difference = got[w] - expected.value[w];
            const double apart = w < 2 ? std::remainder(difference, 2 * kPi) : difference;
            ASSERT_NEAR(apart, 0.0, expected.tolerance[w]) << "step " << i << ", word " << w;
            largest_tolerance = std::max(largest_tolerance, expected.tolerance[w]);
        }
        ASSERT_LE(std::abs(got[0]), kPi + 1e-6);
        ASSERT_LE(std::abs(got[1]), kPi + 1e-6);
        const double height = -std::cos(expected.value[0]) - std::cos(expected.value[0] + expected.value[1]);
        if (std::abs(height - 1.0) > 3 * (expected.tolerance[0] + expected.tolerance[1])) {
            ASSERT_EQ(result.terminated, height > 1.0) << "step " << i;
        }
        ASSERT_EQ(result.reward, result.terminated ? 0.0F : -1.0F);
        terminated += result.terminated ? 1 : 0;
    }
    EXPECT_GT(terminated, 100);
    EXPECT_LT(largest_tolerance, 0.02);  // it tells right from wrong: accelerations are of the size of 10
}

TEST(acrobot, speeds_are_limited_and_angles_wrapped) {
    std::mt19937 random(2);
    for (int i = 0; i < 1000; ++i) {
        State state = random_state(random, 12.5F, 28.0F);
        (void)exact::acrobot::environment_step(state, 2);
        ASSERT_LE(std::abs(state.speed1), static_cast<float>(4 * kPi));
        ASSERT_LE(std::abs(state.speed2), static_cast<float>(9 * kPi));
    }
}

TEST(acrobot, starts_lie_within_a_tenth) {
    const State lowest = exact::acrobot::environment_reset({0, 0, 0, 0});
    EXPECT_EQ(lowest.angle1, -0.1F);
    const State highest = exact::acrobot::environment_reset({~0U, ~0U, ~0U, ~0U});
    EXPECT_LT(highest.speed2, 0.1F);
    EXPECT_GT(highest.speed2, 0.0999F);
    const State mixed = exact::acrobot::environment_reset({0, 1U << 31U, 3U << 30U, 1U << 30U});
    EXPECT_NEAR(mixed.angle2, 0.0, 4 * kUnit);
    EXPECT_NEAR(mixed.speed1, 0.05, 4 * kUnit);
    EXPECT_NEAR(mixed.speed2, -0.05, 4 * kUnit);
}

class acrobot_device : public ::yolk::testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(acrobot_device);

/// A torque along the second joint's speed, which pumps energy into the swing.
std::uint32_t pumping_action(const State& state) { return exact::exact_flush_operand(state.speed2) > 0.0F ? 2 : 0; }

// The kernel that was compiled at run time and this C++ run the same episodes, step by step: a return is the number of
// steps until the tip is up, after hundreds of steps of a chaotic motion. One pipeline: SwiftShader compiles this file
// for half a minute where a whole run makes two.
TEST_P(acrobot_device, the_kernel_runs_the_files_episodes) {
    ASSERT_OK_AND_ASSIGN(const auto own, load_environment(YOLK_EXAMPLES_FOLDER "/environments/acrobot.glsl"));
    const PolicyNetwork network{.widths = {6, 3}};
    ASSERT_OK_AND_ASSIGN(const ParameterTable table, ParameterTable::create(network.parameters()));
    RolloutDesc desc = policy_rollout(network, table, 40, 0);
    desc.own_environment = own;
    ASSERT_OK_AND_ASSIGN(PolicyRunner runner, PolicyRunner::create(device(), dispatcher(), desc));
    std::vector<float> parameters(table.element_count(), 0.0F);
    parameters[6 * 2 + 5] = 1.0F;   // output 2: the second speed
    parameters[6 * 0 + 5] = -1.0F;  // output 0: its opposite; output 1 is 0
    ASSERT_OK_AND_ASSIGN(const std::vector<float> returns, runner.run(parameters, 7, 3, 1000));
    ASSERT_EQ(returns.size(), 40U);
    for (std::uint32_t episode = 0; episode < returns.size(); ++episode) {
        const PhiloxCounter words =
            philox_block({.seed = 7, .domain = Domain::Environment, .pair = 1000 + episode, .time = 3}, 0);
        State state = exact::acrobot::environment_reset({words[0], words[1], words[2], words[3]});
        float total = 0.0F;
        bool done = false;
        for (std::uint32_t i = 0; i < exact::acrobot::kMaxSteps && !done; ++i) {
            const exact::StepResult result = exact::acrobot::environment_step(state, pumping_action(state));
            total += result.reward;
            done = result.terminated;
        }
        EXPECT_EQ(returns[episode], total) << "episode " << episode;
        EXPECT_TRUE(done) << "an episode that is cut off shows little";
    }
}

}  // namespace
}  // namespace yolk::train
