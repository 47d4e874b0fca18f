// SPDX-License-Identifier: Apache-2.0
#include "environments/cartpole.glsl"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

#include "check_tools.hpp"

namespace yolk::oracle {
namespace {

using exact::cartpole::State;

constexpr float kPositionLimit = 2.4F;
constexpr auto kAngleLimit = static_cast<float>(12.0 * std::numbers::pi / 180.0);

std::array<float, 4> state_words(const State& state) {
    return {state.position, state.velocity, state.angle, state.angular_velocity};
}

bool ends(State state) { return exact::cartpole::environment_step(state, 1).terminated; }

// At rest a step leaves position and angle as they are: the limits themselves are inside, the next numbers are not.
TEST(cartpole, ends_right_past_its_limits) {
    for (const float side : {1.0F, -1.0F}) {
        EXPECT_FALSE(ends({.position = side * kPositionLimit, .velocity = 0, .angle = 0, .angular_velocity = 0}));
        EXPECT_FALSE(ends({.position = 0, .velocity = 0, .angle = side * kAngleLimit, .angular_velocity = 0}));
        const float position = side * std::nextafter(kPositionLimit, 3.0F);
        const float angle = side * std::nextafter(kAngleLimit, 1.0F);
        EXPECT_TRUE(ends({.position = position, .velocity = 0, .angle = 0, .angular_velocity = 0}));
        EXPECT_TRUE(ends({.position = 0, .velocity = 0, .angle = angle, .angular_velocity = 0}));
    }
}

TEST(cartpole, resets_lie_within_a_twentieth) {
    Draws draws(2);
    for (int i = 0; i < 1000; ++i) {
        const State state =
            exact::cartpole::environment_reset({draws.word(), draws.word(), draws.word(), draws.word()});
        for (const float value : state_words(state)) ASSERT_LE(std::abs(value), 0.05F);
    }
    const State lowest = exact::cartpole::environment_reset({0, 0, 0, 0});
    EXPECT_EQ(lowest.position, -0.05F);
}

// A cart at rest that is pushed to the right speeds up to the right, and its pole turns to the left.
TEST(cartpole, actions_push_left_and_right) {
    for (const std::uint32_t action : {0U, 1U}) {
        State state{.position = 0, .velocity = 0, .angle = 0, .angular_velocity = 0};
        EXPECT_FALSE(exact::cartpole::environment_step(state, action).terminated);
        EXPECT_EQ(state.velocity > 0, action == 1);
        EXPECT_EQ(state.angular_velocity < 0, action == 1);
        EXPECT_EQ(state.position, 0.0F);
    }
}

}  // namespace
}  // namespace yolk::oracle
