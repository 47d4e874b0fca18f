// SPDX-License-Identifier: Apache-2.0
// Every built-in environment, as the kernels have it, against its oracle in double.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "check_tools.hpp"
#include "rollout_oracle.hpp"
#include "yolk/internal/shaders/environments.hpp"

namespace yolk::oracle {
namespace {

#define YOLK_ORACLE_TYPE(name, ...) YOLK_ENVIRONMENT_TYPE(name, name);
namespace oracle_environments {
YOLK_ENVIRONMENTS(YOLK_ORACLE_TYPE)
}  // namespace oracle_environments
#undef YOLK_ORACLE_TYPE

/// Drawn states lie within these, beyond those that episodes reach. So every term of the equations weighs, limits and
/// walls are met, and episodes end.
std::vector<std::array<float, 2>> ranges_of(std::string_view name) {
    static const std::map<std::string_view, std::vector<std::array<float, 2>>> kRanges{
        {"cartpole", {{-3, 3}, {-4, 4}, {-0.5F, 0.5F}, {-5, 5}}},
        {"acrobot", {{-3.14F, 3.14F}, {-3.14F, 3.14F}, {-5, 5}, {-8, 8}}},
        {"mountain_car", {{-1.2F, 0.6F}, {-0.07F, 0.07F}}},
        {"mountain_car_continuous", {{-1.2F, 0.6F}, {-0.07F, 0.07F}}},
        {"pendulum", {{-84, 84}, {-8, 8}}}};
    const auto found = kRanges.find(name);
    return found == kRanges.end() ? std::vector<std::array<float, 2>>() : found->second;
}

template <class State>
std::vector<float> floats_of(const State& state) {
    std::vector<float> words(sizeof(State) / sizeof(float));
    std::memcpy(words.data(), &state, sizeof(State));
    return words;
}

void expect_near(std::span<const float> got, std::span<const RolloutValue> expected, int step, const char* what) {
    ASSERT_EQ(got.size(), expected.size()) << what;
    for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_NEAR(got[i], expected[i].value, expected[i].tolerance) << what << ' ' << i << ", step " << step;
}

template <class Environment>
class environment_oracle : public ::testing::Test {
   protected:
    typename Environment::State state_{};
    std::vector<float> action_;

    exact::StepResult step(Draws& draws) {
        if constexpr (Environment::kActions.continuous) {
            float values[Environment::kActionCount];
            for (std::uint32_t a = 0; a < Environment::kActionCount; ++a)
                values[a] = draws.uniform(Environment::kActions.low[a], Environment::kActions.high[a]);
            action_.assign(values, values + Environment::kActionCount);
            return Environment::step(state_, values);
        } else {
            const std::uint32_t index = draws.below(Environment::kActionCount);
            action_.assign(1, static_cast<float>(index));
            return Environment::step(state_, index);
        }
    }
};

using AllEnvironments =
    ::testing::Types<oracle_environments::acrobot, oracle_environments::cartpole, oracle_environments::mountain_car,
                     oracle_environments::mountain_car_continuous, oracle_environments::pendulum>;
TYPED_TEST_SUITE(environment_oracle, AllEnvironments);

TYPED_TEST(environment_oracle, steps_match) {
    const EnvironmentOracle* const oracle = find_environment_oracle(TypeParam::kName);
    ASSERT_NE(oracle, nullptr);
    const auto ranges = ranges_of(TypeParam::kName);
    ASSERT_EQ(ranges.size() * sizeof(float), sizeof(this->state_));
    Draws draws(3);
    int ended = 0, open = 0;
    for (int i = 0; i < 20000; ++i) {
        std::vector<float> from;
        for (const auto& [low, high] : ranges) from.push_back(draws.uniform(low, high));
        std::memcpy(&this->state_, from.data(), sizeof(this->state_));
        float observation[TypeParam::kObservationCount];
        TypeParam::observe(this->state_, observation);
        expect_near(observation, oracle->observe(from), i, "observation");
        const exact::StepResult result = this->step(draws);
        const std::vector<RolloutValue> expected = oracle->step(from, this->action_);
        expect_near(floats_of(this->state_), expected, i, "state");
        const RolloutValue reward = oracle->reward(from, this->action_, result.terminated);
        expect_near({&result.reward, 1}, {&reward, 1}, i, "reward");
        const double margin = oracle->margin(expected);
        if (std::abs(margin) > 1.0) {
            ASSERT_EQ(result.terminated, margin < 0.0) << "step " << i;
        } else {
            ++open;
        }
        ended += result.terminated ? 1 : 0;
    }
    EXPECT_LT(open, 20);
    EXPECT_EQ(ended == 0, TypeParam::kName == "pendulum");
}

TYPED_TEST(environment_oracle, starts_match) {
    const EnvironmentOracle* const oracle = find_environment_oracle(TypeParam::kName);
    ASSERT_NE(oracle, nullptr);
    Draws draws(2);
    for (int i = 0; i < 1000; ++i) {
        const std::array<std::uint32_t, 4> words{draws.word(), draws.word(), draws.word(), draws.word()};
        const auto state = TypeParam::reset({words[0], words[1], words[2], words[3]});
        expect_near(floats_of(state), oracle->reset(words), i, "start");
    }
}

// The pendulum's and the cars' bounds, both ways from output to action, and what is no number.
TEST(continuous_action, matches_the_oracle_inside_its_bounds) {
    Draws draws(5);
    for (int i = 0; i < 20000; ++i) {
        const float low = draws.uniform(-4.0F, 4.0F);
        const float high = low + draws.uniform(0.001F, 8.0F);
        const float output = draws.uniform(-5.0F, 5.0F);
        for (const bool squashed : {true, false}) {
            const ActionSpace space{.continuous = true, .squashed = squashed, .low = {low}, .high = {high}};
            const float action = exact::exact_continuous_action(output, low, high, squashed);
            const RolloutValue given{output, 0.0};
            const RolloutValue expected = continuous_actions(space, {&given, 1}).front();
            ASSERT_NEAR(action, expected.value, expected.tolerance) << output << " in " << low << " to " << high;
            ASSERT_GE(action, low);
            ASSERT_LE(action, high);
        }
    }
    for (const float odd : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()}) {
        for (const bool squashed : {true, false}) {
            const float action = exact::exact_continuous_action(odd, -2.0F, 3.0F, squashed);
            EXPECT_GE(action, -2.0F);
            EXPECT_LE(action, 3.0F);
        }
    }
    EXPECT_EQ(exact::exact_continuous_action(0.0F, -2.0F, 2.0F, true), 0.0F);
    EXPECT_EQ(exact::exact_continuous_action(9.0F, -2.0F, 2.0F, false), 2.0F);
}

}  // namespace
}  // namespace yolk::oracle
