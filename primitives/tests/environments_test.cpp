// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "yolk/internal/testing/device_test.hpp"
#include "yolk/rollout.hpp"

namespace yolk {
namespace {

using ::testing::ElementsAre;

TEST(environments, those_of_classic_control_are_known) {
    std::vector<std::string> names;
    for (const EnvironmentInfo& one : environments()) names.emplace_back(one.name);
    EXPECT_THAT(names, ElementsAre("acrobot", "cartpole", "mountain_car", "mountain_car_continuous", "pendulum"));
    ASSERT_OK_AND_ASSIGN(const EnvironmentInfo pendulum, find_environment("pendulum"));
    EXPECT_TRUE(pendulum.actions.continuous);
    EXPECT_TRUE(pendulum.actions.squashed);
    EXPECT_EQ(pendulum.actions.low[0], -2.0F);
    EXPECT_EQ(pendulum.actions.high[0], 2.0F);
    ASSERT_OK_AND_ASSIGN(const EnvironmentInfo car, find_environment("mountain_car"));
    EXPECT_FALSE(car.actions.continuous);
}

TEST(environments, cartpole_is_known) {
    ASSERT_OK_AND_ASSIGN(const EnvironmentInfo info, find_environment("cartpole"));
    EXPECT_EQ(info.observation_count, 4U);
    EXPECT_EQ(info.action_count, 2U);
    EXPECT_EQ(info.state_words, 4U);
    EXPECT_EQ(info.max_steps, 500U);
    EXPECT_EQ(info.solved_return, 475.0F);
    EXPECT_EQ(info.best_return, 500.0F);
    EXPECT_TRUE(testing::expect_error(find_environment(""), ErrorKind::BadInput, "cartpole"));
}

TEST(policy_network, parameters_are_named_by_layer) {
    const std::vector<ParameterDesc> parameters = PolicyNetwork{}.parameters();
    ASSERT_EQ(parameters.size(), 4U);
    EXPECT_EQ(parameters[2].name, "layer1.weight");
    EXPECT_EQ(parameters[2].rows, 2U);
    EXPECT_EQ(parameters[2].columns, 64U);
    EXPECT_EQ(parameters[3].name, "layer1.bias");
    EXPECT_EQ(parameters[3].perturbation, Perturbation::Vector);
}

}  // namespace
}  // namespace yolk
