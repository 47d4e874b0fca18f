// SPDX-License-Identifier: Apache-2.0
#include "guard.hpp"

#include <gtest/gtest.h>

namespace yolk::autotune {
namespace {

constexpr double kResidual = 0.1;  // patience 1.6 / .01 = 160: the most, 48

/// Measurements without a gain until trust falls below `trust`; 1,000 where it does not.
std::size_t borne(Guard& guard, Trust trust, double warm_density = 0.0, double cold_density = 0.0) {
    guard.found(1.0, true);
    std::size_t count = 0;
    for (; guard.trust() == trust && count < 1000; ++count) guard.measured(1.0, warm_density, cold_density);
    return count;
}

TEST(guard, bears_the_longer_the_better_the_recorded_devices_agree) {
    Guard close(kResidual);
    EXPECT_EQ(borne(close, Trust::Full), 48U);
    Guard far(0.7);
    EXPECT_EQ(borne(far, Trust::Full), 8U);
    EXPECT_EQ(borne(far, Trust::Half), 8U);
    EXPECT_EQ(far.trust(), Trust::None);
}

TEST(guard, doubts_a_prior_whose_residual_is_too_small_for_the_device) {
    Guard like(kResidual);
    like.scaled(1.4);  // variance 1.96
    EXPECT_EQ(borne(like, Trust::Full), 48U);
    Guard unlike(kResidual);
    unlike.scaled(1.5);  // variance 2.25
    EXPECT_EQ(borne(unlike, Trust::Full), 8U);
}

TEST(guard, doubts_a_prior_that_predicts_worse_than_a_cold_search) {
    Guard worse(kResidual);
    EXPECT_EQ(borne(worse, Trust::Full, -1.5, 0.0), 8U);
    Guard hardly(kResidual);
    EXPECT_EQ(borne(hardly, Trust::Full, -0.5, 0.0), 48U);
}

TEST(guard, only_the_prior_s_own_gains_count_for_it) {
    Guard guard(kResidual);
    guard.scaled(2.0);
    double value = 1.0;
    for (int i = 0; i < 60; ++i) guard.measured(value -= 0.02, 0.0, 0.0);
    EXPECT_EQ(guard.trust(), Trust::Full);                                // as long as it finds better ones
    for (int i = 0; i < 7; ++i) guard.measured(value - 0.005, 0.0, 0.0);  // half a per cent is no gain
    EXPECT_EQ(guard.trust(), Trust::Full);
    guard.found(value - 0.5, false);  // the cold search's
    guard.measured(value - 0.1, 0.0, 0.0);
    EXPECT_EQ(guard.trust(), Trust::Half);
}

}  // namespace
}  // namespace yolk::autotune
