// SPDX-License-Identifier: Apache-2.0
#include "fitness_steps.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "yolk/runtime/loop_budget.hpp"
#include "yolk/testing/device_test.hpp"

namespace yolk {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kLavapipe = 65535;

std::uint64_t count_of(const std::vector<FitnessStep>& steps, FitnessStage stage) {
    std::uint64_t count = 0;
    for (const FitnessStep& step : steps) count += static_cast<std::uint64_t>(step.stage == stage);
    return count;
}

TEST(fitness_steps, their_number_depends_on_the_rule_alone) {
    for (const std::uint32_t population : {2U, 4096U, 1U << 20U}) {
        FitnessDesc desc{.population = population, .config = {}};
        ASSERT_OK_AND_ASSIGN(const auto plain, fitness_steps(desc, kLavapipe));
        EXPECT_EQ(plain.size(), 4U);
        desc.robust = true;
        ASSERT_OK_AND_ASSIGN(const auto robust, fitness_steps(desc, kLavapipe));
        EXPECT_EQ(robust.size(), 12U);
    }
}

TEST(fitness_steps, cover_all_members_within_the_loops_and_limbs) {
    for (const std::uint32_t population : {2U, 30002U, 65538U, 1U << 20U}) {
        for (const std::uint32_t episodes : {1U, 100U, 60000U}) {
            ASSERT_OK_AND_ASSIGN(
                const auto steps,
                fitness_steps({.population = population, .episodes = episodes, .config = {}}, kLavapipe));
            const std::uint64_t scoring = steps[0].params.invocation_count;
            EXPECT_LE(loop_cost((population + scoring - 1) / scoring, loop_cost(episodes)), kLavapipe);
            const std::uint64_t summing = steps[1].params.invocation_count;
            EXPECT_LE(summing, abi::fitness::kMaxInvocations);
            EXPECT_LE((population / 2 + summing - 1) / summing * 2, abi::fitness::kMaxMembersPerInvocation);
        }
    }
}

TEST(fitness_steps, ranks_compare_with_every_member_once) {
    const FitnessDesc desc{.population = 1000, .rule = FitnessRule::CentredRank, .config = {}};
    ASSERT_OK_AND_ASSIGN(const auto whole, fitness_steps(desc, kUnlimited));
    EXPECT_EQ(count_of(whole, FitnessStage::Ranks), 1U);
    ASSERT_OK_AND_ASSIGN(const auto split, fitness_steps(desc, 813));
    EXPECT_EQ(count_of(split, FitnessStage::Ranks), 4U);
    std::uint32_t next = 0;
    for (const FitnessStep& step : split) {
        if (step.stage != FitnessStage::Ranks) continue;
        EXPECT_EQ(step.params.first_other, next);
        next += step.params.other_count;
    }
    EXPECT_EQ(next, 1000U);
}

TEST(fitness_steps, refuse_what_loops_cannot_hold) {
    EXPECT_TRUE(testing::expect_error(fitness_steps({.population = 2, .episodes = 65536, .config = {}}, kLavapipe),
                                      ErrorKind::Unsupported, "episodes"));
}

}  // namespace
}  // namespace yolk
