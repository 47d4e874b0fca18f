// SPDX-License-Identifier: Apache-2.0
// The logarithm of an expected improvement, its bound, and the proposal of two regressions together.
#include "joint_gain.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <vector>

#include "factor_kernels.hpp"
#include "surfaces.hpp"

namespace yolk::autotune {
namespace {

/// log of phi(z) + z Phi(z) = phi(z) times the integral of x exp(z x - x^2/2) over x > 0, in long double by the
/// trapezoidal rule in log x, which converges faster than any power of the step.
double log_improvement_by_quadrature(double z) {
    const long double peak = z > 0.0 ? 0.5L * z * z : 0.0L;  // taken out of the exponential
    const long double scale = 1.0L / (1.0L + std::abs(static_cast<long double>(z)));
    constexpr long double kStep = 1.0L / 64.0L;
    long double sum = 0.0L;
    for (long double u = -45.0L; u < 8.0L; u += kStep) {
        const long double x = z > 0.0 ? std::exp(u) : scale * std::exp(u);
        sum += x * x * std::exp(z * x - 0.5L * x * x - peak);
    }
    const long double root = 0.5L * std::log(2.0L * 3.14159265358979323846264338327950288L);
    return static_cast<double>(std::log(sum * kStep) + peak - 0.5L * static_cast<long double>(z) * z - root);
}

TEST(joint_gain, log_improvement_is_the_integral) {
    for (const double z : {-1e6, -3e4, -700.0, -38.6, -38.0, -10.0, -5.0, -2.0000001, -2.0, -1.9999999, -1.0, -0.5, 0.0,
                           0.3, 1.0, 4.0, 9.0}) {
        const double right = log_improvement_by_quadrature(z);
        EXPECT_NEAR(log_improvement(z), right, 4e-14 * std::max(1.0, std::abs(right))) << z;
    }
    // Where the plain form is 0 or less already.
    EXPECT_EQ(std::exp(log_improvement(-40.0)), 0.0);
    EXPECT_LT(log_improvement(-41.0), log_improvement(-40.0));
}

/// Scores that give `z` with level 0 and deviation 1.
struct Scores {
    std::vector<double> values, units, variances;
    void add(double mean, double variance) {
        values.push_back(mean);
        units.push_back(0.0);
        variances.push_back(variance);
    }
    [[nodiscard]] Opinion opinion(double best, const History& history, double weight = 1.0) const {
        return {.acquisition =
                    {.best = best, .level = 0.0, .deviation = 0.7, .prior = {}, .history = &history, .weight = weight},
                .posteriors = {.value_scores = values, .unit_scores = units, .variances = variances}};
    }
};

TEST(joint_gain, bound_is_above_and_near) {
    Scores scores;
    for (double mean = -30.0; mean < 60.0; mean += 0.37) {
        for (const double variance : {1e-10, 1e-4, 0.03, 1.0, 1.7}) scores.add(mean, variance);
    }
    const History history(scores.values.size());
    const Opinion opinion = scores.opinion(0.1, history);
    std::vector<double> bounds(scores.values.size());
    add_gain_bounds({.value_scores = scores.values.data(),
                     .unit_scores = scores.units.data(),
                     .variances = scores.variances.data(),
                     .prior = nullptr,
                     .level = 0.0,
                     .best = 0.1,
                     .deviation = 0.7,
                     .weight = 1.0},
                    bounds);
    for (std::size_t c = 0; c < bounds.size(); ++c) {
        const double gain = log_gain(opinion, c);
        EXPECT_GE(bounds[c], gain);
        EXPECT_LE(bounds[c], gain + 0.25 + 1e-12 * std::abs(gain)) << scores.values[c] << " " << scores.variances[c];
    }
}

// Over all candidates, and over a few: what a plain loop over the sum of both finds, at any distance from the best.
TEST(joint_gain, proposal_is_the_largest_sum) {
    Random random(11);
    for (const double best : {1.0, -0.5, -40.0, -3000.0}) {
        Scores first;
        Scores second;
        for (int c = 0; c < 500; ++c) {
            first.add(static_cast<double>(random.below(2000)) * 1e-3,
                      0.001 + static_cast<double>(random.below(100)) * 0.01);
            second.add(static_cast<double>(random.below(2000)) * 1e-3,
                       0.001 + static_cast<double>(random.below(100)) * 0.01);
        }
        History history(500);
        std::vector<std::size_t> few;
        for (std::size_t c = 0; c < 500; c += 7) few.push_back(c);
        for (int round = 0; round < 20; ++round) {
            const Opinion a = first.opinion(best, history, 1.3);
            const Opinion b = second.opinion(best, history, 0.7);
            const auto right = [&](const auto& among) {
                std::optional<std::size_t> found;
                double most = -std::numeric_limits<double>::infinity();
                for (const std::size_t c : among) {
                    const double sum = 1.3 * log_gain(a, c) + 0.7 * log_gain(b, c);
                    if (history.known(c) || sum <= most) continue;
                    found = c;
                    most = sum;
                }
                return found;
            };
            std::vector<std::size_t> all(500);
            for (std::size_t c = 0; c < 500; ++c) all[c] = c;
            const std::optional<std::size_t> found = most_promising(a, b, {});
            ASSERT_TRUE(found);
            EXPECT_EQ(found, right(all));
            EXPECT_EQ(most_promising(a, b, few), right(few));
            history.add(*found, 1.0);
        }
    }
    // Nothing is left.
    Scores one;
    one.add(0.0, 1.0);
    History known(1);
    known.add(0, 1.0);
    EXPECT_EQ(most_promising(one.opinion(0.0, known), one.opinion(0.0, known), {}), std::nullopt);
}

}  // namespace
}  // namespace yolk::autotune
