// SPDX-License-Identifier: Apache-2.0
#include "numbers.hpp"

#include <gtest/gtest.h>

namespace yolk::cli {
namespace {

TEST(numbers, whole) {
    EXPECT_EQ(parse_number<std::uint32_t>("4096").value_or(0U), 4096U);
    EXPECT_EQ(parse_number<std::uint32_t>("4294967295").value_or(0U), 4294967295U);
    EXPECT_EQ(parse_number<std::uint64_t>("18446744073709551615").value_or(0U), 18446744073709551615U);
    for (const char* bad :
         {"", " ", "-1", "+1", " 1", "1 ", "1.0", "0x10", "1e3", "4294967296", "99999999999999999999"}) {
        EXPECT_FALSE(parse_number<std::uint32_t>(bad)) << bad;
    }
    EXPECT_FALSE(parse_number<std::uint64_t>("18446744073709551616"));
}

TEST(numbers, floats) {
    EXPECT_EQ(parse_number<float>("0.2").value_or(0.0F), 0.2F);
    EXPECT_EQ(parse_number<float>("-1e-3").value_or(0.0F), -1e-3F);
    // Halfway between two floats by one part in 2^60: rounding through double would go to even, downwards.
    EXPECT_EQ(parse_number<float>("1.00000005960464477626").value_or(0.0F), 1.00000012F);
    for (const char* bad : {"", "nan", "inf", "-inf", "infinity", "1e39", "0.2x", "0,2", "--1", "0x1p3"}) {
        EXPECT_FALSE(parse_number<float>(bad)) << bad;
    }
}

TEST(numbers, lists) {
    EXPECT_EQ(parse_numbers("64,32").value_or(std::vector<std::uint32_t>{}), (std::vector<std::uint32_t>{64, 32}));
    EXPECT_EQ(parse_numbers("64").value_or(std::vector<std::uint32_t>{}), (std::vector<std::uint32_t>{64}));
    for (const char* bad : {"", ",", "64,", ",64", "64,,32", "64;32"}) EXPECT_FALSE(parse_numbers(bad)) << bad;
}

}  // namespace
}  // namespace yolk::cli
