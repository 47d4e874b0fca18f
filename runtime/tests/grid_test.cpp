// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/grid.hpp"

#include <gtest/gtest.h>

namespace yolk {
namespace {

TEST(grid, folding_holds_all_groups_within_the_limit) {
    for (const std::uint64_t groups :
         {0ULL, 1ULL, 65535ULL, 65536ULL, 65537ULL, 131070ULL, 131071ULL, 1000003ULL, 4294836225ULL}) {
        const GroupCount folded = fold_groups(groups);
        const std::uint64_t held = std::uint64_t{folded.x} * folded.y * folded.z;
        EXPECT_LE(folded.x, kMaxGroupsPerDimension) << groups;
        EXPECT_LE(folded.y, kMaxGroupsPerDimension) << groups;
        EXPECT_GE(held, groups);
        EXPECT_LT(held, groups + folded.y) << "more idle groups than needed";
    }
    // More than the two dimensions hold: still too much for any device, so that the dispatch is refused.
    EXPECT_GT(fold_groups(4294836226ULL).y, kMaxGroupsPerDimension);
    EXPECT_GT(fold_groups(UINT64_MAX).y, kMaxGroupsPerDimension);
}

TEST(grid, cheap_work_stays_whole) {
    for (const std::uint64_t groups : {1ULL, 1000ULL, 65536ULL, 1000003ULL}) {
        const GridPieces pieces = cut_grid({.groups = groups, .cost_per_group = 10}, groups * 10);
        const GroupCount folded = fold_groups(groups);
        EXPECT_EQ(pieces.x, folded.x);
        EXPECT_EQ(pieces.y, folded.y);
        EXPECT_EQ(pieces.rows_per_piece, pieces.y);
    }
    EXPECT_EQ(cut_grid({.groups = 1000, .cost_per_group = 0}, 1).rows_per_piece, 1U);  // nothing counts: one row
    EXPECT_EQ(cut_grid({}, 1).y, 0U);
}

TEST(grid, dear_work_is_cut_into_even_pieces_that_hold_all_of_it) {
    for (const std::uint64_t groups : {2ULL, 3ULL, 97ULL, 4096ULL, 65537ULL, 1000003ULL}) {
        for (const std::uint64_t cost : {1ULL, 7ULL, 1000ULL}) {
            for (const std::uint64_t share : {2ULL, 3ULL, 50ULL}) {
                const std::uint64_t most = groups * cost / share;
                const GridPieces pieces = cut_grid({.groups = groups, .cost_per_group = cost}, most);
                SCOPED_TRACE(::testing::Message() << groups << " groups of " << cost << " within " << most);
                EXPECT_LE(pieces.x, kMaxGroupsPerDimension);
                EXPECT_LE(pieces.y, kMaxGroupsPerDimension);
                EXPECT_GE(std::uint64_t{pieces.x} * pieces.y, groups);
                EXPECT_LT(std::uint64_t{pieces.x} * (pieces.y - 1), groups);  // no row is idle
                if (cost <= most && groups <= std::uint64_t{kMaxGroupsPerDimension} * (most / cost)) {
                    EXPECT_LE(pieces.cost_of(pieces.rows_per_piece), most);
                }
                const std::uint32_t last = (pieces.y - 1) % pieces.rows_per_piece + 1;
                EXPECT_LE(pieces.rows_per_piece - last, (pieces.y - 1) / pieces.rows_per_piece + 1);
            }
        }
    }
}

TEST(grid, a_workgroup_is_not_cut) {
    const GridPieces pieces = cut_grid({.groups = 5, .cost_per_group = 100}, 1);
    EXPECT_EQ(pieces.x, 1U);
    EXPECT_EQ(pieces.y, 5U);
    EXPECT_EQ(pieces.rows_per_piece, 1U);
    EXPECT_EQ(pieces.cost_of(1), 100U);
}

TEST(grid, enormous_costs_saturate) {
    const GridPieces pieces = cut_grid({.groups = UINT64_MAX, .cost_per_group = UINT64_MAX}, UINT64_MAX);
    EXPECT_GT(pieces.y, kMaxGroupsPerDimension);  // refused when it is recorded
    EXPECT_EQ(pieces.cost_of(2), UINT64_MAX);
}

}  // namespace
}  // namespace yolk
