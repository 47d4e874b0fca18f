// SPDX-License-Identifier: Apache-2.0
#include "fitness_steps.hpp"

#include <gtest/gtest.h>

#include "yolk/internal/runtime/loop_budget.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

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

TEST(fitness_steps, few_ranks_are_counted_and_many_sorted) {
    FitnessDesc desc{.population = kMaxCountedRanks, .rule = FitnessRule::CentredRank, .config = {}};
    ASSERT_OK_AND_ASSIGN(const auto counted, fitness_steps(desc, kLavapipe));
    EXPECT_EQ(counted.size(), 6U);
    EXPECT_EQ(count_of(counted, FitnessStage::Ranks), 1U);
    for (const std::uint32_t population : {kMaxCountedRanks + 2, 1U << 20U}) {
        desc.population = population;
        ASSERT_OK_AND_ASSIGN(const auto sorted, fitness_steps(desc, kLavapipe));
        EXPECT_EQ(sorted.size(), 18U);
        EXPECT_EQ(count_of(sorted, FitnessStage::Ranks), 0U);
        EXPECT_EQ(count_of(sorted, FitnessStage::SortScatter), 4U);
    }
}

TEST(fitness_steps, tiles_of_the_sort_cover_all_members_within_the_scratch) {
    for (const std::uint32_t population :
         {514U, 1022U, 1024U, 1026U, 32770U, 65536U, 65538U, (1U << 20U) - 2, 1U << 20U}) {
        const FitnessDesc desc{.population = population, .rule = FitnessRule::CentredRank, .config = {}};
        ASSERT_OK_AND_ASSIGN(const auto steps, fitness_steps(desc, kLavapipe));
        std::uint32_t digit = 0;
        for (const FitnessStep& step : steps) {
            if (step.stage != FitnessStage::SortCount && step.stage != FitnessStage::SortScatter) continue;
            const std::uint64_t length = step.params.tile_length;
            EXPECT_EQ(step.invocations, step.params.tile_count);
            EXPECT_GE(length * step.params.tile_count, population);
            EXPECT_LT(length * (step.params.tile_count - 1), population);  // no tile is empty
            EXPECT_LE(step.params.tile_count, length);
            EXPECT_LE(2 * loop_cost(256) + loop_cost(length), kLavapipe);
            EXPECT_EQ(fitness_state_words(desc),
                      abi::fitness::kStateArray + 2 * std::uint64_t{population} + 256 * step.params.tile_count);
            EXPECT_GE(step.cost_per_invocation, length);
            EXPECT_EQ(step.params.digit, digit);
            if (step.stage == FitnessStage::SortScatter) ++digit;
        }
        EXPECT_EQ(digit, 4U);
        EXPECT_EQ(fitness_zeroed_words(desc), abi::fitness::kStateArray);
    }
}

TEST(fitness_steps, a_workgroup_has_a_tile_or_a_value_of_the_digit) {
    for (const std::uint32_t population : {514U, 4096U, 65538U, 1U << 20U}) {
        const FitnessDesc desc{.population = population,
                               .rule = FitnessRule::CentredRank,
                               .config = FitnessConfig{.workgroup_size = 128, .by_group = 1}};
        ASSERT_OK_AND_ASSIGN(const auto steps, fitness_steps(desc, kLavapipe));
        EXPECT_EQ(steps.size(), 18U);
        for (const FitnessStep& step : steps) {
            const std::uint64_t tiles = step.params.tile_count;
            if (step.stage == FitnessStage::SortOffsets) {
                EXPECT_EQ(step.invocations, 128U * 256U);
            }
            if (step.stage != FitnessStage::SortCount && step.stage != FitnessStage::SortScatter) continue;
            EXPECT_EQ(step.invocations, 128 * tiles);
            EXPECT_GE(step.params.tile_length, 256U);
            EXPECT_GE(step.params.tile_length * tiles, population);
            EXPECT_LT(step.params.tile_length * (tiles - 1), population);
            EXPECT_EQ(fitness_state_words(desc),
                      abi::fitness::kStateArray + 2 * std::uint64_t{population} + 256 * tiles);
        }
    }
}

TEST(fitness_steps, workgroups_work_together_on_gpus_only) {
    DeviceInfo info;
    const FitnessDesc desc{.population = 4096, .config = {}};
    for (const DeviceKind kind : {DeviceKind::Discrete, DeviceKind::Integrated}) {
        info.kind = kind;
        EXPECT_EQ(heuristic_of(info, desc).by_group, 1U);
        EXPECT_EQ(heuristic_of(info, desc).workgroup_size, 256U);
    }
    info.kind = DeviceKind::Cpu;
    EXPECT_EQ(heuristic_of(info, desc).by_group, 0U);
    EXPECT_EQ(heuristic_of(info, desc).workgroup_size, 64U);
}

TEST(fitness_steps, refuse_what_loops_cannot_hold) {
    EXPECT_TRUE(testing::expect_error(fitness_steps({.population = 2, .episodes = 65536, .config = {}}, kLavapipe),
                                      ErrorKind::Unsupported, "episodes"));
    // 1,024 members in tiles of 32: 257 + 33 + 257 passes.
    const FitnessDesc ranked{.population = 1024, .rule = FitnessRule::CentredRank, .config = {}};
    EXPECT_OK(fitness_steps(ranked, 547));
    EXPECT_TRUE(testing::expect_error(fitness_steps(ranked, 546), ErrorKind::Unsupported, "at most 512 members"));
    EXPECT_OK(fitness_steps({.population = 512, .rule = FitnessRule::CentredRank, .config = {}}, 546));
}

}  // namespace
}  // namespace yolk
