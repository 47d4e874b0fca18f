// SPDX-License-Identifier: Apache-2.0
// exact_integers.h in C++ against 64-bit integers and double, at edges and at drawn operands. That devices agree is
// tested by primitives.random_environments.
#include "yolk/exact/exact_integers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace yolk::exact {
namespace {

std::vector<std::uint32_t> operands() {
    std::vector<std::uint32_t> all{0,  1,  2,          3,          7,          30,         31,         32,        33,
                                   63, 64, 0x7FFFFFFE, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF};
    std::mt19937 draw(1);
    for (int i = 0; i < 200; ++i) all.push_back(static_cast<std::uint32_t>(draw() >> (draw() % 32)));
    return all;
}

TEST(exact_integers, division_and_remainder) {
    for (const std::uint32_t a : operands()) {
        for (const std::uint32_t b : operands()) {
            EXPECT_EQ(exact_divide(a, b), b == 0 ? 0 : a / b);
            EXPECT_EQ(exact_remainder(a, b), b == 0 ? a : a % b);
            const std::int64_t x = static_cast<std::int32_t>(a), y = static_cast<std::int32_t>(b);
            const std::int64_t quotient = y == 0 ? 0 : x / y, rest = y == 0 ? x : x % y;
            EXPECT_EQ(exact_divide(int(a), int(b)), static_cast<std::int32_t>(quotient)) << x << ' ' << y;
            EXPECT_EQ(exact_remainder(int(a), int(b)), rest) << x << ' ' << y;
        }
    }
}

TEST(exact_integers, shifts_and_bit_fields) {
    for (const std::uint32_t x : operands()) {
        for (const std::uint32_t count : operands()) {
            const std::uint32_t by = std::min(count, 32U);
            EXPECT_EQ(exact_shift_left(x, count), static_cast<std::uint32_t>(std::uint64_t{x} << by));
            EXPECT_EQ(exact_shift_right(x, count), std::uint64_t{x} >> by);
            EXPECT_EQ(exact_shift_right(int(x), count), std::int64_t{static_cast<std::int32_t>(x)} >> by);
            for (const std::uint32_t offset : {0U, 1U, 13U, 31U, 32U, 0xFFFFFFFFU}) {
                const std::uint64_t mask = ((std::uint64_t{1} << by) - 1) << std::min(offset, 32U) & 0xFFFFFFFF;
                EXPECT_EQ(exact_extract_bits(x, offset, count), (x & mask) >> std::min(offset, 32U));
                EXPECT_EQ(exact_insert_bits(x, ~x, offset, count),
                          (x & ~mask) | ((std::uint64_t{~x} << std::min(offset, 32U)) & mask));
            }
        }
    }
}

TEST(exact_integers, indices) {
    for (const std::uint32_t i : operands()) {
        for (const std::uint32_t count : {1U, 2U, 7U, 0x7FFFFFFFU}) {
            EXPECT_EQ(exact_index(i, count), std::min(i, count - 1));
            EXPECT_EQ(exact_index(int(i), int(count)), std::clamp(int(i), 0, int(count) - 1));
        }
    }
}

TEST(exact_integers, floats_to_integers) {
    std::vector<float> all{
        0.0F,          -0.0F,         0.5F,        0.99999994F,   1.0F,
        1.5F,          8388607.5F,    16777215.0F, 2147483520.0F, 2147483648.0F,
        4294967040.0F, 4294967296.0F, 1e-42F,      1e30F,         std::numeric_limits<float>::infinity()};
    std::mt19937 draw(2);
    for (int i = 0; i < 2000; ++i) {
        const float x = std::bit_cast<float>(static_cast<std::uint32_t>(draw()));
        if (!std::isnan(x)) all.push_back(x);
    }
    for (const float magnitude : all) {
        for (const float x : {magnitude, -magnitude}) {
            const double whole = std::trunc(static_cast<double>(x));
            EXPECT_EQ(exact_to_int(x), std::clamp(whole, -2147483648.0, 2147483647.0)) << x;
            EXPECT_EQ(exact_to_uint(x), std::clamp(whole, 0.0, 4294967295.0)) << x;
        }
    }
    for (const std::uint32_t nan : {0x7FC00000U, 0x7F800001U, 0xFFC00000U, 0xFF800001U}) {
        EXPECT_EQ(exact_to_int(exact_from_bits(nan)), 0);
        EXPECT_EQ(exact_to_uint(exact_from_bits(nan)), 0U);
    }
}

}  // namespace
}  // namespace yolk::exact
