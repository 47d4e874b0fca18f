// SPDX-License-Identifier: Apache-2.0
// Racing on simulated noise: no clock, no device.
#include "yolk/internal/autotune/race.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "yolk/internal/autotune/random.hpp"

namespace yolk::autotune {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

/// What a busy machine makes of a time: a few percent of jitter, and now and then an interruption.
double noisy(double milliseconds, Random& random, double jitter = 0.03, double interruptions = 0.05) {
    const double disturbed = random.uniform() < interruptions ? 1.0 + 3.0 * random.uniform() : 1.0;
    return milliseconds * std::exp(jitter * random.normal()) * disturbed;
}

TEST(race, one_sample_is_enough_far_from_the_best) {
    EXPECT_TRUE(wants_another_sample({}, 1.0));
    EXPECT_FALSE(wants_another_sample(std::vector{1.3}, 1.0));
    EXPECT_TRUE(wants_another_sample(std::vector{1.1}, 1.0));
    EXPECT_TRUE(wants_another_sample(std::vector{7.0, 1.1}, 1.0));  // the long one was a disturbance
    EXPECT_FALSE(wants_another_sample(std::vector{1.1, 1.0, 1.0, 1.0}, 1.0));
    EXPECT_TRUE(wants_another_sample(std::vector{5.0}, kNone));
}

TEST(race, medians_and_spreads) {
    EXPECT_EQ(median_of(std::vector{3.0}), 3.0);
    EXPECT_EQ(median_of(std::vector{4.0, 1.0}), 2.5);
    EXPECT_EQ(spread_of(std::vector{3.0}), 0.0);
    EXPECT_DOUBLE_EQ(spread_of(std::vector{5.0, 1.0, 2.0, 3.0, 4.0}), 2.0 / 3.0);
}

TEST(race, a_few_rounds_or_a_small_gain_replace_nothing) {
    EXPECT_FALSE(replaces(compare(std::vector{1.0, 1.0, 1.0, 1.0}, std::vector{2.0, 2.0, 2.0, 2.0})));
    EXPECT_TRUE(replaces(compare(std::vector(5, 1.0), std::vector(5, 2.0))));
    EXPECT_FALSE(replaces(compare(std::vector(9, 0.995), std::vector(9, 1.0))));
    EXPECT_FALSE(replaces(compare(std::vector(9, 2.0), std::vector(9, 1.0))));
    EXPECT_FALSE(replaces(compare({}, {})));
    // What the clock did not see is no gain.
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const double odd : {0.0, -1.0, nan, kNone}) {
        EXPECT_FALSE(replaces(compare(std::vector(9, odd), std::vector(9, 1.0)))) << odd;
        EXPECT_FALSE(replaces(compare(std::vector(9, 1.0), std::vector(9, odd)))) << odd;
        std::vector<double> mostly(9, 0.5);
        mostly[4] = odd;
        EXPECT_TRUE(replaces(compare(mostly, std::vector(9, 1.0)))) << odd;
    }
}

// The fastest of five equal configurations is a lucky one; it must not take the incumbent's place.
TEST(race, equal_configurations_rarely_replace_each_other) {
    Random random(1);
    constexpr int kTrials = 2000;
    int replaced = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
        std::vector<std::vector<double>> samples(6);
        for (int round = 0; round < 9; ++round) {
            for (auto& of_one : samples) of_one.push_back(noisy(1.0, random));
        }
        std::size_t best = 1;
        for (std::size_t i = 2; i < samples.size(); ++i) {
            if (median_of(samples[i]) < median_of(samples[best])) best = i;
        }
        replaced += replaces(compare(samples[best], samples[0])) ? 1 : 0;
    }
    EXPECT_LT(replaced, kTrials / 10) << replaced << " of " << kTrials;
}

TEST(race, a_real_gain_is_seen_through_the_noise) {
    Random random(2);
    constexpr int kTrials = 1000;
    int replaced = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
        std::vector<double> challenger;
        std::vector<double> incumbent;
        for (int round = 0; round < 9; ++round) {
            challenger.push_back(noisy(0.85, random));
            incumbent.push_back(noisy(1.0, random));
        }
        replaced += replaces(compare(challenger, incumbent)) ? 1 : 0;
    }
    EXPECT_GT(replaced, kTrials * 9 / 10) << replaced << " of " << kTrials;
}

// Interleaving is what makes a slow drift (a processor that gets warm) harmless.
TEST(race, a_drift_changes_nothing) {
    std::vector<double> challenger;
    std::vector<double> incumbent;
    for (int round = 0; round < 9; ++round) {
        const double drift = 1.0 + 0.2 * round;
        incumbent.push_back(drift);
        challenger.push_back(0.9 * drift);
    }
    const Comparison comparison = compare(challenger, incumbent);
    EXPECT_NEAR(comparison.log_ratio, std::log(0.9), 1e-12);
    EXPECT_NEAR(comparison.error, 0.0, 1e-12);
    EXPECT_TRUE(replaces(comparison));
}

// What racing saves: of 200 candidates most are timed once.
TEST(race, few_candidates_are_timed_more_than_once) {
    Random random(3);
    double best = kNone;
    std::size_t samples = 0;
    for (int candidate = 0; candidate < 200; ++candidate) {
        const double truth = 1.0 + 4.0 * random.uniform();
        std::vector<double> own;
        while (wants_another_sample(own, best)) own.push_back(noisy(truth, random));
        samples += own.size();
        best = std::min(best, median_of(own));
    }
    EXPECT_LT(samples, 300U);
    EXPECT_LT(best, 1.2);
}

}  // namespace
}  // namespace yolk::autotune
