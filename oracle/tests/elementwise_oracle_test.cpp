// SPDX-License-Identifier: Apache-2.0
// The oracle of programs of elements says something of every case: bounds of errors that grow with each step may end
// where anything is right.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "yolk/internal/oracle/families.hpp"

namespace yolk::oracle {
namespace {

/// Gelu's stated error is the largest of a step (docs/kernels/elementwise.md).
bool is_tight(const Bounded& one) { return one.tolerance <= 6e-4 * (1.0 + std::abs(one.value)); }

TEST(elementwise_oracle, judges_every_case_tightly) {
    std::size_t judged = 0;
    for (const auto& problem : elementwise_family().cases(7)) {
        const std::vector<Expected> expected = problem->expected();
        ASSERT_EQ(expected.size(), 1U);
        const std::vector<Bounded>& oracle = expected[0].oracle;
        ASSERT_EQ(oracle.size(), expected[0].twin.size()) << problem->name();
        if (oracle.empty()) continue;
        ++judged;
        // Floor and round may go either way where an operand is near a step.
        const auto tight = static_cast<double>(std::ranges::count_if(oracle, is_tight));
        EXPECT_GT(tight, .75 * static_cast<double>(oracle.size())) << problem->name();
    }
    EXPECT_GT(judged, 15U);
}

// A bound may be infinite, and then anything is right. No element of these tables may pass by that.
TEST(elementwise_oracle, bounds_of_rows_and_steps_are_finite) {
    for (const Family* family : {&row_program_family(), &softmax_family(), &normalize_family(), &reduce_family(),
                                 &optimizer_family(), &cumulative_sum_family()}) {
        std::size_t judged = 0;
        for (const auto& problem : family->cases(7)) {
            for (const Expected& expected : problem->expected()) {
                const auto is_infinite = [](const Bounded& one) { return std::isinf(one.tolerance); };
                EXPECT_EQ(std::ranges::count_if(expected.oracle, is_infinite), 0) << problem->name();
                judged += expected.oracle.size();
            }
        }
        EXPECT_GT(judged, 100U) << family->name;
    }
}

}  // namespace
}  // namespace yolk::oracle
