// SPDX-License-Identifier: Apache-2.0
// The stated errors of quotients, roots, sines and powers (docs/kernels/elementwise.md), where drawn values are dense
// and where they are hardest, against double precision on the host.
#include "yolk/exact/exact_arithmetic.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "check_tools.hpp"
#include "yolk/exact/exact_power.h"
#include "yolk/exact/exact_sine.h"

namespace yolk::oracle {
namespace {

constexpr int kDrawn = 300'000;

float number_of(std::uint32_t word) { return std::bit_cast<float>(word); }
std::uint32_t word_of(float number) { return std::bit_cast<std::uint32_t>(number); }

double flushed(float x) { return std::abs(static_cast<double>(x)) < 0x1p-100 ? std::copysign(0.0, x) : x; }

/// Rounded once, flushed, one NaN for all.
std::uint32_t rounded_word(double value) {
    if (std::isnan(value)) return exact::kExactNan;
    return word_of(static_cast<float>(std::abs(value) < 0x1p-100 ? std::copysign(0.0, value) : value));
}

// Of any patterns, and of significands alone, where rounding is hard. A quotient of two fp32 numbers that is rounded to
// double first and then to fp32 is rounded right, for double has more than twice the places.
TEST(exact_arithmetic, quotients_have_the_bits_of_ieee) {
    Draws draws(5);
    for (int i = 0; i < kDrawn; ++i) {
        std::uint32_t x = draws.word(), y = draws.word();
        if (i % 2 != 0) x = (x & 0x807FFFFFU) | 0x3F800000U, y = (y & 0x807FFFFFU) | 0x3F800000U;
        const double quotient = flushed(number_of(x)) / flushed(number_of(y));
        // Results just below 2^-100 may round up to it: they are flushed before or after.
        if (std::abs(std::abs(quotient) - 0x1p-100) < 0x1p-124) continue;
        ASSERT_EQ(exact::exact_quotient_word(x, y), rounded_word(quotient)) << number_of(x) << " / " << number_of(y);
    }
}

TEST(exact_arithmetic, quotients_by_one_itself_and_powers_of_two) {
    Draws draws(6);
    for (int i = 0; i < kDrawn; ++i) {
        const std::uint32_t x = (draws.word() & 0x807FFFFFU) | (27U + draws.below(227)) << 23U;
        ASSERT_EQ(exact::exact_quotient_word(x, exact::kExactOne), x);
        ASSERT_EQ(exact::exact_quotient_word(x, x), exact::kExactOne);
        ASSERT_EQ(exact::exact_quotient_word((x & 0x807FFFFFU) | 0x40000000U, 0x3F000000U),
                  (x & 0x807FFFFFU) | 0x40800000U);
    }
}

TEST(exact_arithmetic, roots_have_the_bits_of_ieee) {
    Draws draws(7);
    for (int i = 0; i < kDrawn; ++i) {
        std::uint32_t x = draws.word();
        if (i % 2 != 0) x = (x & 0x00FFFFFFU) | 0x3F000000U;
        ASSERT_EQ(exact::exact_sqrt_word(x), rounded_word(std::sqrt(flushed(number_of(x))))) << number_of(x);
    }
}

// Every significand with both parities of the exponent, by a prime stride.
TEST(exact_arithmetic, inverse_roots_are_within_their_stated_error) {
    double worst = 0.0;
    for (std::uint32_t x = 0x3F800000U; x < 0x40800000U; x += 31) {
        const double scaled = number_of(exact::exact_rsqrt_word(x)) * std::sqrt(static_cast<double>(number_of(x)));
        worst = std::max(worst, std::abs(scaled - 1.0));
    }
    EXPECT_LE(worst, 1.2e-7);
    for (int exponent = -100; exponent <= 126; exponent += 2) {
        EXPECT_EQ(number_of(exact::exact_rsqrt_word(word_of(std::ldexp(1.0F, exponent)))),
                  std::ldexp(1.0F, -exponent / 2));
    }
}

// Exponents that bring the result near the ends of the range, of bases near 1, near sqrt(1/2), and any.
TEST(exact_arithmetic, powers_are_within_their_stated_error) {
    Draws draws(8);
    double worst = 0.0;
    for (int i = 0; i < kDrawn; ++i) {
        const std::uint32_t spread = i % 3 == 0 ? 1U << 12U : 1U << 23U;
        const std::uint32_t middle = i % 3 == 1 ? 0x3F3504F3U : exact::kExactOne;
        std::uint32_t x = middle - spread / 2 + draws.below(spread);
        if (i % 3 == 2) x = exact::kExactProductFloor + draws.below(exact::kExactInfinity - exact::kExactProductFloor);
        const double base = number_of(x);
        const auto y = static_cast<float>(draws.uniform(-126.0F, 126.0F) / std::log2(base));
        const double power = std::pow(base, static_cast<double>(y));
        if (!(power > 0x1.001p-100 && power < 0x1.ffp127)) continue;
        worst = std::max(worst, std::abs(number_of(exact::exact_power_word(x, word_of(y))) / power - 1.0));
    }
    EXPECT_LE(worst, 4e-7);
    EXPECT_GT(worst, 1e-7);  // or nothing hard was drawn
}

TEST(exact_arithmetic, sines_are_within_their_stated_error) {
    Draws draws(9);
    for (int i = 0; i < kDrawn; ++i) {
        const std::uint32_t x = draws.word() & 0x7FFFFFFFU;
        if (x >= exact::kExactInfinity) continue;
        const double angle = number_of(x);
        const double stated = angle <= 4096.0 ? 1.1e-7 : 1.4e-7;
        ASSERT_NEAR(number_of(exact::exact_sine_word(x, 0)), std::sin(angle), stated) << angle;
        ASSERT_NEAR(number_of(exact::exact_sine_word(x, 1)), std::cos(angle), stated) << angle;
        ASSERT_EQ(exact::exact_sine_word(x | 0x80000000U, 1), exact::exact_sine_word(x, 1)) << angle;
    }
}

TEST(exact_arithmetic, whole_parts_of_every_exponent) {
    for (std::uint32_t word = 0; word < exact::kExactInfinity; word += 4099) {
        for (const float x : {number_of(word), -number_of(word)}) {
            ASSERT_EQ(exact::exact_floor_word(word_of(x)), word_of(std::floor(x))) << x;
            ASSERT_EQ(exact::exact_round_word(word_of(x)), word_of(std::nearbyint(x))) << x;
        }
    }
}

}  // namespace
}  // namespace yolk::oracle
