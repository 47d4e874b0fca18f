// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/shape.hpp"

#include <gtest/gtest.h>

namespace yolk {
namespace {

TEST(shape, element_count) {
    EXPECT_EQ(*Shape{}.element_count(), 1U);
    EXPECT_EQ(*(Shape{64, 4}).element_count(), 256U);
    EXPECT_EQ(*(Shape{0, ~0ULL, ~0ULL}).element_count(), 0U);  // empty wins over overflow
}
TEST(shape, overflow_is_an_error_with_both_factors) {
    const auto count = Shape{1ULL << 40U, 1ULL << 40U}.element_count();
    ASSERT_FALSE(count);
    EXPECT_NE(count.error().message.find("1099511627776"), std::string::npos);
}
TEST(shape, text) {
    EXPECT_EQ((Shape{64, 4}).to_string(), "[64, 4]");
    EXPECT_EQ(Shape{}.to_string(), "[]");
}
TEST(sizes, rounding) {
    EXPECT_EQ(round_up(0, 256), 0U);
    EXPECT_EQ(round_up(1, 256), 256U);
    EXPECT_EQ(round_up(256, 256), 256U);
    EXPECT_EQ(ceil_div(7U, 4U), 2U);
    EXPECT_EQ(ceil_div(0xffffffffU, 2U), 0x80000000U);
}
TEST(sizes, checked_arithmetic) {
    EXPECT_EQ(*checked_multiply(6, 7, "x"), 42U);
    EXPECT_FALSE(checked_multiply(~0ULL, 2, "x"));
    EXPECT_EQ(*checked_add(6, 7, "x"), 13U);
    EXPECT_FALSE(checked_add(~0ULL, 1, "x"));
}

}  // namespace
}  // namespace yolk
