// SPDX-License-Identifier: Apache-2.0
#include "es_update_slices.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "yolk/internal/runtime/loop_budget.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

constexpr SliceProblem kSmall{.pair_count = 2048,
                              .rank = 1,
                              .wanted_pairs_per_slice = 256,
                              .tile_bytes = 256,
                              .max_scratch_bytes = std::uint64_t{128} << 20U,
                              .loop_budget = std::numeric_limits<std::uint64_t>::max()};

TEST(es_update_slices, takes_what_is_wanted_where_it_is_allowed) {
    ASSERT_OK_AND_ASSIGN(const Slices slices, choose_slices(kSmall));
    EXPECT_EQ(slices.pairs_per_slice, 256U);
    EXPECT_EQ(slices.slice_count, 8U);
}

TEST(es_update_slices, keeps_int32_sums_exact) {
    for (std::uint32_t rank = 1; rank <= 32; ++rank) {
        SliceProblem problem = kSmall;
        problem.rank = rank;
        problem.pair_count = 1U << 19U;
        problem.wanted_pairs_per_slice = 16384;
        ASSERT_OK_AND_ASSIGN(const Slices slices, choose_slices(problem));
        EXPECT_LT(std::uint64_t{slices.pairs_per_slice} * rank * 127 * 30 * 30, std::uint64_t{1} << 31U);
        EXPECT_GE(std::uint64_t{slices.pairs_per_slice} * slices.slice_count, problem.pair_count);
        EXPECT_LT(std::uint64_t{slices.pairs_per_slice} * (slices.slice_count - 1), problem.pair_count);
    }
}

// Floats are exact below 2^24; float weights have no such bound.
TEST(es_update_slices, keeps_staged_sums_exact) {
    for (std::uint32_t rank = 1; rank <= 32; ++rank) {
        SliceProblem problem = kSmall;
        problem.rank = rank;
        problem.staged = true;
        ASSERT_OK_AND_ASSIGN(const Slices slices, choose_slices(problem));
        EXPECT_LT(std::uint64_t{slices.pairs_per_slice} * rank * 127 * 30 * 30, std::uint64_t{1} << 24U);
        EXPECT_GE(std::uint64_t{slices.pairs_per_slice} * slices.slice_count, problem.pair_count);
        problem.integer_weights = false;
        ASSERT_OK_AND_ASSIGN(const Slices floats, choose_slices(problem));
        EXPECT_EQ(floats.pairs_per_slice, 256U);
    }
}

// Two draws of eight writes for each lane, and eight products, for each stage of 8 pairs at rank 1, of 2 at rank 4.
TEST(es_update_slices, keeps_staged_loops_within_the_budget) {
    SliceProblem problem = kSmall;
    problem.loop_budget = 1000;
    problem.staged = true;
    problem.integer_weights = false;
    problem.wanted_pairs_per_slice = 4096;
    const std::uint64_t stages = (1000U - loop_cost(32) - loop_cost(16) - 1) / (1 + (2 * (1 + 9) + 1) + 9);
    for (const std::uint32_t rank : {1U, 4U}) {
        problem.rank = rank;
        ASSERT_OK_AND_ASSIGN(const Slices slices, choose_slices(problem));
        EXPECT_EQ(slices.pairs_per_slice, stages * 8 / rank);
    }
}

TEST(es_update_slices, keeps_loops_within_the_budget) {
    SliceProblem problem = kSmall;
    problem.loop_budget = 1000;
    problem.rank = 4;
    problem.wanted_pairs_per_slice = 4096;
    ASSERT_OK_AND_ASSIGN(const Slices summing, choose_slices(problem));
    // Per pair two loops over the rank, each left once more than it runs.
    EXPECT_EQ(summing.pairs_per_slice, (1000U - loop_cost(32) - loop_cost(16) - 1) / (1 + 2 * (4 + 1)));
    problem.tile_blocks = 2;
    ASSERT_OK_AND_ASSIGN(const Slices wide, choose_slices(problem));
    EXPECT_EQ(wide.pairs_per_slice, (1000U - loop_cost(32) - loop_cost(32) - 1) / (1 + 2 * (4 + 1)));
    problem.wanted_pairs_per_slice = 1;
    ASSERT_OK_AND_ASSIGN(const Slices combining, choose_slices(problem));
    EXPECT_LE(loop_cost(combining.slice_count) + 2 * loop_cost(32), 1000U);
    EXPECT_EQ(combining.pairs_per_slice, 3U);  // 2 would need 1,024 slices
}

TEST(es_update_slices, takes_no_more_slices_than_make_a_device_busy) {
    SliceProblem problem = kSmall;
    problem.pair_count = 1U << 19U;
    problem.wanted_pairs_per_slice = 1;
    ASSERT_OK_AND_ASSIGN(const Slices slices, choose_slices(problem));
    EXPECT_EQ(slices.slice_count, kEnoughSlices);
    EXPECT_EQ(slices.pairs_per_slice, 128U);
}

TEST(es_update_slices, fit_2_to_the_25_members_of_any_rank_on_the_floor) {
    SliceProblem problem = kSmall;
    problem.pair_count = 1U << 24U;
    problem.loop_budget = 65535;
    for (std::uint32_t rank = 1; rank <= 32; ++rank) {
        for (const std::uint32_t blocks : {1U, 2U}) {
            problem.rank = rank;
            problem.tile_blocks = blocks;
            problem.tile_bytes = std::uint64_t{256} * blocks;
            ASSERT_OK_AND_ASSIGN(const Slices slices, choose_slices(problem));
            EXPECT_LE(slices.slice_count * problem.tile_bytes, problem.max_scratch_bytes);
        }
    }
}

TEST(es_update_slices, are_longer_where_the_partial_sums_of_a_tile_do_not_fit) {
    SliceProblem problem = kSmall;
    problem.max_scratch_bytes = 256 * 3;
    ASSERT_OK_AND_ASSIGN(const Slices slices, choose_slices(problem));
    EXPECT_EQ(slices.slice_count, 3U);
    problem.max_scratch_bytes = 255;
    EXPECT_TRUE(testing::expect_error(choose_slices(problem), ErrorKind::Unsupported, "binding"));
    problem = kSmall;
    problem.loop_budget = 64;
    EXPECT_TRUE(testing::expect_error(choose_slices(problem), ErrorKind::Unsupported, "slice"));
}

}  // namespace
}  // namespace yolk
