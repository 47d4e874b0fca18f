// SPDX-License-Identifier: Apache-2.0
// Operations of elementwise that follow IEEE 754 or C where operands are zero, infinite, not a number or of the wrong
// sign: against the standard library, on every device.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "elementwise_fixture.hpp"
#include "special_floats.hpp"

namespace yolk {
namespace {

class elementwise_special : public ElementwiseTest {};
YOLK_FOR_EACH_DEVICE(elementwise_special);

// Whole numbers odd and even to the largest, halves, both zeros, what counts as zero, both infinities, NaN of two
// kinds.
const std::vector<float>& special_numbers() {
    static const std::vector<float> kNumbers{
        0.0F,      -0.0F,      1.0F,      -1.0F,     2.0F,           -2.0F,           3.0F,      -3.0F,
        0.5F,      -0.5F,      1.5F,      -1.5F,     4.0F,           -7.0F,           kInfinity, -kInfinity,
        kNan,      -kNan,      0x1p24F,   -0x1p24F,  0x1.000002p23F, -0x1.fffffep23F, 0x1.8p22F, -0x1.8p22F,
        0x1p-30F,  -0x1p-30F,  3e38F,     -3e38F,    1e-20F,         0x1p-100F,       0x1p-101F, -0x1p-101F,
        0x1p-126F, -0x1p-126F, 0x1p-149F, -0x1p-149F};
    return kNumbers;
}

struct Pairs {
    std::vector<float> first, second;
};
Pairs all_pairs() {
    Pairs pairs;
    for (const float x : special_numbers()) {
        for (const float y : special_numbers()) {
            pairs.first.push_back(x);
            pairs.second.push_back(y);
        }
    }
    return pairs;
}

/// What the product rule makes of an operand or a result.
double flushed(double x) { return std::abs(x) < 0x1p-100 ? std::copysign(0.0, x) : x; }

/// The bits that are right where the function in double is `value`: rounded once, flushed, one NaN for all.
std::uint32_t word_of_value(double value) {
    const auto rounded = static_cast<float>(flushed(value));
    return std::isnan(rounded) ? kNanBits : std::bit_cast<std::uint32_t>(rounded);
}

using Unary = double (*)(double);

TEST_P(elementwise_special, quotients_are_those_of_ieee) {
    const Pairs pairs = all_pairs();
    ASSERT_OK_AND_ASSIGN(const auto got, run(ElementwiseOperation::Divide, {pairs.first, pairs.second}));
    for (std::size_t i = 0; i < got.size(); ++i) {
        const double x = flushed(pairs.first[i]), y = flushed(pairs.second[i]);
        EXPECT_EQ(std::bit_cast<std::uint32_t>(got[i]), word_of_value(x / y)) << x << " / " << y;
    }
}

TEST_P(elementwise_special, comparisons_take_every_pattern) {
    const Pairs pairs = all_pairs();
    const std::array<std::pair<ElementwiseOperation, bool (*)(float, float)>, 6> kComparisons{
        {{ElementwiseOperation::LessThan, [](float x, float y) { return x < y; }},
         {ElementwiseOperation::LessOrEqual, [](float x, float y) { return x <= y; }},
         {ElementwiseOperation::GreaterThan, [](float x, float y) { return x > y; }},
         {ElementwiseOperation::GreaterOrEqual, [](float x, float y) { return x >= y; }},
         {ElementwiseOperation::EqualTo, [](float x, float y) { return x == y; }},
         {ElementwiseOperation::NotEqualTo, [](float x, float y) { return x != y; }}}};
    for (const auto& [operation, holds] : kComparisons) {
        ASSERT_OK_AND_ASSIGN(const auto got, run(operation, {pairs.first, pairs.second}));
        for (std::size_t i = 0; i < got.size(); ++i) {
            EXPECT_EQ(got[i], holds(pairs.first[i], pairs.second[i]) ? 1.0F : 0.0F)
                << to_string(operation) << " " << pairs.first[i] << " " << pairs.second[i];
        }
    }
}

// Finite powers are within the stated error, all others the bits of C's pow.
TEST_P(elementwise_special, powers_are_those_of_c) {
    const Pairs pairs = all_pairs();
    ASSERT_OK_AND_ASSIGN(const auto got, run(ElementwiseOperation::Power, {pairs.first, pairs.second}));
    for (std::size_t i = 0; i < got.size(); ++i) {
        const double x = flushed(pairs.first[i]), y = flushed(pairs.second[i]);
        const double power = flushed(std::pow(x, y));
        const std::uint32_t right = word_of_value(power);
        if (std::isfinite(std::bit_cast<float>(right)) && power != 0.0) {
            EXPECT_NEAR(got[i] / power, 1.0, 4e-7) << x << " to the " << y;
        } else {
            EXPECT_EQ(std::bit_cast<std::uint32_t>(got[i]), right) << x << " to the " << y;
        }
    }
}

TEST_P(elementwise_special, powers_that_fp32_has_are_exact) {
    Pairs pairs;
    std::vector<float> right;
    for (int base = -40; base <= 40; ++base) {
        for (int exponent = 0; exponent <= 8; ++exponent) {
            double power = 1.0;
            for (int i = 0; i < exponent; ++i) power *= base;
            if (std::abs(power) >= 0x1p24) continue;
            pairs.first.push_back(static_cast<float>(base));
            pairs.second.push_back(static_cast<float>(exponent));
            right.push_back(static_cast<float>(power));
        }
    }
    ASSERT_OK_AND_ASSIGN(const auto got, run(ElementwiseOperation::Power, {pairs.first, pairs.second}));
    EXPECT_EQ(got, right);
}

TEST_P(elementwise_special, roots_and_whole_parts_are_those_of_ieee) {
    const std::vector<float>& numbers = special_numbers();
    ASSERT_OK_AND_ASSIGN(const auto root, run(ElementwiseOperation::Sqrt, {numbers}));
    ASSERT_OK_AND_ASSIGN(const auto floored, run(ElementwiseOperation::Floor, {numbers}));
    ASSERT_OK_AND_ASSIGN(const auto rounded, run(ElementwiseOperation::Round, {numbers}));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const float x = numbers[i];
        EXPECT_EQ(std::bit_cast<std::uint32_t>(root[i]), word_of_value(std::sqrt(flushed(x)))) << x;
        EXPECT_EQ(std::bit_cast<std::uint32_t>(floored[i]), word_of_value(std::floor(x))) << x;
        EXPECT_EQ(std::bit_cast<std::uint32_t>(rounded[i]), word_of_value(std::nearbyint(x))) << x;
    }
}

TEST_P(elementwise_special, inverse_roots_at_the_ends) {
    const std::vector<float> x{0.0F, -0.0F, 0x1p-101F, -0x1p-149F, kInfinity, -kInfinity, -1.0F, kNan, 4.0F, 0x1p-100F};
    const std::vector<float> right{kInfinity, -kInfinity, kInfinity, -kInfinity, 0.0F, kNan, kNan, kNan, 0.5F, 0x1p50F};
    ASSERT_OK_AND_ASSIGN(const auto got, run(ElementwiseOperation::Rsqrt, {x}));
    EXPECT_EQ(oracle::words_of(got), oracle::words_of(right));
}

// Far beyond the domain of the quick reduction, where a float's last place is many turns.
TEST_P(elementwise_special, sines_of_every_finite_number) {
    std::vector<float> x{0.0F, -0.0F, kInfinity, -kInfinity, kNan, 0x1p-149F, 4096.0F, 0x1.000002p12F, -0x1.000002p12F};
    for (int exponent = 12; exponent < 128; ++exponent) {
        for (const float part : {1.0F, -0x1.921fb6p0F, 0x1.fffffep0F}) x.push_back(std::ldexp(part, exponent));
    }
    const std::array<std::pair<ElementwiseOperation, Unary>, 2> kSines{
        {{ElementwiseOperation::Sin, [](double y) { return std::sin(y); }},
         {ElementwiseOperation::Cos, [](double y) { return std::cos(y); }}}};
    for (const auto& [operation, function] : kSines) {
        ASSERT_OK_AND_ASSIGN(const auto got, run(operation, {x}));
        for (std::size_t i = 0; i < x.size(); ++i) {
            if (std::isfinite(x[i])) {
                EXPECT_NEAR(got[i], function(x[i]), 1.4e-7) << to_string(operation) << " of " << x[i];
            } else {
                EXPECT_EQ(std::bit_cast<std::uint32_t>(got[i]), kNanBits) << x[i];
            }
        }
    }
}

}  // namespace
}  // namespace yolk
