// SPDX-License-Identifier: Apache-2.0
#include "fitness_oracle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace yolk::oracle {
namespace {

/// Scores of which many are equal, and some are not finite.
std::vector<float> scores_with_ties(std::uint32_t count) {
    std::mt19937 random(3);
    std::vector<float> scores(count);
    for (float& score : scores) score = static_cast<float>(random() % (count / 3 + 1)) - 5.0F;
    scores[count / 2] = std::numeric_limits<float>::quiet_NaN();
    return scores;
}

// By the definition for some of the members: twice the worse ones and the equal ones. Of all, it would take an hour.
TEST(fitness_oracle, ranks_a_million_members_as_the_definition_does) {
    for (const std::uint32_t population : {9U, 1048575U}) {
        const std::vector<float> scores = scores_with_ties(population);
        const FitnessDesc desc{
            .population = population, .rule = FitnessRule::CentredRank, .antithetic = false, .config = {}};
        const FitnessOracle oracle = fitness_oracle(desc, scores);
        ASSERT_EQ(oracle.weights.size(), population);
        std::vector<double> counted(scores.begin(), scores.end());
        for (double& score : counted) score = std::isfinite(score) ? score : oracle.worst;
        double largest = 0.0;
        std::vector<double> ranks;
        for (std::uint32_t step = 0; step < 9; ++step) {
            const double own = counted[std::size_t{population - 1} * step / 8];
            const auto worse = std::ranges::count_if(counted, [own](double other) { return other < own; });
            const auto equal = std::ranges::count(counted, own);
            ranks.push_back((static_cast<double>(worse) + static_cast<double>(equal - 1) / 2.0) / (population - 1.0) -
                            0.5);
        }
        // The scale is the rank furthest from the middle, which the best or the worst members have.
        for (const double extreme : {*std::ranges::min_element(counted), *std::ranges::max_element(counted)}) {
            const auto worse = std::ranges::count_if(counted, [extreme](double other) { return other < extreme; });
            const auto equal = std::ranges::count(counted, extreme);
            const double rank =
                (static_cast<double>(worse) + static_cast<double>(equal - 1) / 2.0) / (population - 1.0) - 0.5;
            largest = std::max(largest, std::abs(rank));
        }
        for (std::uint32_t step = 0; step < 9; ++step)
            EXPECT_NEAR(oracle.weights[std::size_t{population - 1} * step / 8].value, 127.0 * ranks[step] / largest,
                        1e-6)
                << population << ", " << step;
    }
}

}  // namespace
}  // namespace yolk::oracle
