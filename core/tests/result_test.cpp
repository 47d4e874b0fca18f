// SPDX-License-Identifier: Apache-2.0
#include "yolk/result.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace yolk {
namespace {

Result<int> half(int value) {
    if (value % 2 != 0) return bad_input("odd");
    return value / 2;
}
Result<int> quarter(int value) {
    YOLK_TRY(const int once, half(value));
    YOLK_TRY(const int twice, half(once));
    return twice;
}
Result<void> needs_even(int value) {
    YOLK_TRY_VOID(half(value));
    return {};
}

TEST(result, value_and_error) {
    EXPECT_EQ(half(4).value(), 2);
    EXPECT_EQ(half(3).error().kind, ErrorKind::BadInput);
    EXPECT_EQ(half(3).value_or(7), 7);
}
TEST(result, try_returns_the_first_error) {
    EXPECT_EQ(*quarter(8), 2);
    EXPECT_EQ(quarter(6).error().message, "odd");
    EXPECT_TRUE(needs_even(2));
    EXPECT_FALSE(needs_even(1));
}
TEST(result, holds_move_only_values) {
    Result<std::unique_ptr<int>> made = std::make_unique<int>(3);
    EXPECT_EQ(*std::move(made).value(), 3);
}
TEST(result, context_is_put_in_front) {
    EXPECT_EQ(bad_input("odd").while_doing("halving [x]").message, "While halving [x]: odd");
}
TEST(result_death, reading_the_wrong_side_aborts) {
    EXPECT_DEATH((void)half(3).value(), "odd");
    EXPECT_DEATH((void)half(4).error(), "good Result");
}

}  // namespace
}  // namespace yolk
