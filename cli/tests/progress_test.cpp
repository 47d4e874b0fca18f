// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include <gtest/gtest.h>

#include "output.hpp"

namespace yolk::cli {
namespace {

train::GenerationReport report() {
    return {.generation = 3,
            .mean_return = 123.46F,
            .best_return = 500.0F,
            .policy_return = 431.0F,
            .evaluations_per_second = 1234567.0,
            .seconds = 8.0};
}

TEST(progress, says_everything) {
    EXPECT_EQ(progress_text(report(), 20),
              "generation 4/20, mean 123.5, best 500.0, policy 431.0, 1.23 M evaluations/s, 0:32 left");
}

TEST(progress, bar_fills_and_fits_its_line) {
    EXPECT_EQ(progress_bar(report(), 20, 200).substr(0, 23), "[####----------------] ");
    EXPECT_EQ(progress_bar(report(), 4, 200).substr(0, 23), "[####################] ");
    EXPECT_EQ(progress_bar(report(), 20, 40).size(), 39U);
    EXPECT_EQ(progress_bar(report(), 8, 80),
              "[##---] generation 4/8, mean 123.5, best 500.0, 1.23 M evaluations/s, 0:08 left");
    EXPECT_EQ(progress_bar(report(), 20, 0), "");
}

TEST(output, numbers_for_people) {
    EXPECT_EQ(duration_text(0.4), "0:00");
    EXPECT_EQ(duration_text(59.6), "1:00");
    EXPECT_EQ(duration_text(3723.0), "1:02:03");
    EXPECT_EQ(rate_text(450000.0), "450 k");
    EXPECT_EQ(rate_text(12.0), "12");
    EXPECT_EQ(bytes_text(134217728), "128 MiB");
    EXPECT_EQ(bytes_text(1500), "1.5 KiB");
}

TEST(output, table_pads_all_but_the_last_column) {
    EXPECT_EQ(table({{"a", "bb", "c"}, {"dddd", "e", "ff"}}), "a     bb  c\ndddd  e   ff");
}

TEST(output, names_are_quoted_for_a_shell) {
    EXPECT_EQ(shell_quoted("yolk-out/policy.safetensors"), "yolk-out/policy.safetensors");
    EXPECT_EQ(shell_quoted("my run/it's"), "'my run/it'\\''s'");
    EXPECT_EQ(shell_quoted(""), "''");
    EXPECT_EQ(shell_quoted("a\n\x1b it's\\"), "$'a\\n\\x1b it\\'s\\\\'");
}

}  // namespace
}  // namespace yolk::cli
