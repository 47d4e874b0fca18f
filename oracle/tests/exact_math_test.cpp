// SPDX-License-Identifier: Apache-2.0
#include "yolk/exact/exact_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "exact_math_table.hpp"
#include "yolk/exact/environment_prelude.h"
#include "yolk/exact/exact_activations.h"
#include "yolk/exact/exact_log.h"
#include "yolk/internal/reference/exact_math.hpp"

namespace yolk::oracle {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The worst error over every `stride`-th bit pattern of the domain, both signs, in units of the stated error (where
/// that is 0: infinity for any error at all).
double worst_error(const ExactFunction& function, std::uint32_t stride) {
    double worst = 0.0;
    const auto verify = [&](float x) {
        if (!function.contains(x)) return;
        const double reference = function.reference(x);
        const double error = std::abs(reference::exact_math_twin(function.id, x) - reference);
        const double stated = function.absolute_error + function.relative_error * std::abs(reference);
        if (error != 0.0) worst = std::max(worst, error / stated);
    };
    const auto last = std::bit_cast<std::uint32_t>(function.high);
    for (std::uint32_t bits = 0; bits <= last; bits += stride) {
        verify(std::bit_cast<float>(bits));
        verify(-std::bit_cast<float>(bits));
    }
    for (const float x : edge_inputs(function)) verify(x);
    return worst;
}

// A prime stride of about two million points, so that every exponent and no pattern of low bits is favoured.
TEST(exact_math, functions_are_within_their_stated_errors) {
    for (const ExactFunction& function : exact_functions()) {
        EXPECT_LE(worst_error(function, 1009), 1.0) << function.name;
    }
}

// What one binade or the interval of interest hides from a coarse stride.
TEST(exact_math, errors_hold_where_inputs_are_dense) {
    for (const ExactFunction& function : exact_functions()) {
        double worst = 0.0;
        for (std::uint32_t bits = 0x3F000000U; bits < 0x40000000U; bits += 7) {  // [0.5, 2)
            const auto x = std::bit_cast<float>(bits);
            const double reference = function.reference(x);
            const double stated = function.absolute_error + function.relative_error * std::abs(reference);
            const double error = std::abs(reference::exact_math_twin(function.id, x) - reference);
            if (error != 0.0) worst = std::max(worst, error / stated);
        }
        EXPECT_LE(worst, 1.0) << function.name;
    }
}

// Kernels compute the tanh form. Its stated bound holds, and is no larger than it must be where the two are furthest
// apart, at 2.699.
TEST(exact_math, gelu_is_within_its_bound_of_the_form_with_erf) {
    double worst = 0.0;
    double worst_at = 0.0;
    for (int i = -(1 << 17); i <= 1 << 17; ++i) {
        const float x = std::ldexp(static_cast<float>(i), -13);  // -16 to 16
        const Bounded oracle = gelu_oracle(x);
        const double error = std::abs(static_cast<double>(exact::exact_gelu(x)) - oracle.value);
        ASSERT_LE(error, oracle.tolerance) << x;
        if (error > worst) worst = error, worst_at = x;
    }
    EXPECT_GT(worst, 0.99 * gelu_oracle(worst_at).tolerance);
    EXPECT_NEAR(std::abs(worst_at), 2.699, 0.01);
    float x = 0x1p-100F;
    while (x < 1.0F) {
        ASSERT_LE(std::abs(exact::exact_gelu(-x) - gelu_oracle(-x).value), gelu_oracle(-x).tolerance) << x;
        x *= 1.5F;
    }
}

// x times the standard normal distribution function, of which tables have the second factor.
TEST(exact_math, gelu_oracle_has_the_tables_values) {
    EXPECT_NEAR(gelu_oracle(1.0).value, 0.8413447460685429, 1e-15);
    EXPECT_NEAR(gelu_oracle(-1.0).value, -0.15865525393145705, 1e-15);
    EXPECT_NEAR(gelu_oracle(2.0).value, 2.0 * 0.9772498680518208, 1e-15);
    EXPECT_NEAR(gelu_oracle(-6.0).value, -6.0 * 9.865876450376981e-10, 1e-21);
    EXPECT_EQ(gelu_oracle(0.0).value, 0.0);
}

TEST(exact_math, tanh_is_odd_and_below_one) {
    for (std::uint32_t bits = 0; bits < 0x7F800000U; bits += 4099) {
        const auto x = std::bit_cast<float>(bits);
        ASSERT_EQ(exact::exact_tanh(-x), -exact::exact_tanh(x)) << x;
        ASSERT_LT(exact::exact_tanh(x), 1.0F) << x;
    }
    EXPECT_EQ(exact::exact_tanh(kInfinity), exact::exact_tanh(7.0F));
    EXPECT_EQ(exact::exact_tanh(-kInfinity), -exact::exact_tanh(7.0F));
}

// Results of tanh are operands: nothing lies between zero and about 2^-40.
TEST(exact_math, tanh_keeps_the_operand_rule) {
    EXPECT_EQ(exact::exact_tanh(0x1p-41F), 0.0F);
    EXPECT_EQ(exact::exact_tanh(std::numeric_limits<float>::denorm_min()), 0.0F);
    EXPECT_GT(exact::exact_tanh(0x1p-40F), 0x1.fff0p-41F);
}

TEST(exact_math, exp_saturates_and_never_gives_denormals) {
    EXPECT_EQ(exact::exact_exp(-kInfinity), 0.0F);
    EXPECT_EQ(exact::exact_exp(kInfinity), exact::exact_exp(88.0F));
    EXPECT_TRUE(std::isfinite(exact::exact_exp(88.0F)));
    EXPECT_GE(exact::exact_exp(-69.0F), 0x1p-100F);
    EXPECT_EQ(exact::exact_exp(0.0F), 1.0F);
}

TEST(exact_math, sqrt_of_powers_of_four_is_exact) {
    for (int exponent = -100; exponent <= 100; exponent += 2) {
        ASSERT_EQ(exact::exact_sqrt(std::ldexp(1.0F, exponent)), std::ldexp(1.0F, exponent / 2)) << exponent;
    }
}

TEST(exact_math, log_never_traps) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(exact::exact_log(1.0F)), 0U);
    for (const float x : {0.0F, -0.0F, -1.0F, -kInfinity, 0x1p-126F, 0x1p-149F}) {
        EXPECT_EQ(exact::exact_log(x), exact::exact_log(0x1p-100F)) << x;
    }
    EXPECT_EQ(exact::exact_log(kInfinity), exact::exact_log(std::numeric_limits<float>::max()));
}

TEST(exact_math, rounding_keeps_the_sign_of_zero) {
    EXPECT_TRUE(std::signbit(exact::exact_round_half_even(-0.25F)));
    EXPECT_FALSE(std::signbit(exact::exact_round_half_even(0.25F)));
}

TEST(exact_math, uniform_is_the_top_24_bits) {
    EXPECT_EQ(exact::exact_uniform(0U), 0.0F);
    EXPECT_EQ(exact::exact_uniform(0xFFU), 0.0F);
    EXPECT_EQ(exact::exact_uniform(0x100U), 0x1p-24F);
    EXPECT_EQ(exact::exact_uniform(0xFFFFFFFFU), 1.0F - 0x1p-24F);
}

constexpr std::uint32_t kActivations = abi::activation::kActivationCount;

TEST(exact_math, activations_keep_nan_and_reach_their_limits) {
    for (const std::uint32_t nan : {0x7FC00000U, 0x7F800001U, 0xFFFFFFFFU}) {
        for (std::uint32_t kind = exact::kActivationRelu; kind < kActivations; ++kind) {
            EXPECT_EQ(exact::exact_bits(exact::exact_activate(kind, exact::exact_from_bits(nan))), exact::kExactNan);
        }
        EXPECT_EQ(exact::exact_bits(exact::exact_activate(exact::kActivationIdentity, exact::exact_from_bits(nan))),
                  nan);
    }
    for (const std::uint32_t kind : {exact::kActivationRelu, exact::kActivationGelu, exact::kActivationSilu}) {
        EXPECT_EQ(exact::exact_activate(kind, kInfinity), kInfinity) << kind;
        EXPECT_EQ(exact::exact_bits(exact::exact_activate(kind, -kInfinity)), 0U) << kind;
    }
    EXPECT_EQ(exact::exact_sigmoid(kInfinity), 1.0F);
    EXPECT_EQ(exact::exact_bits(exact::exact_sigmoid(-kInfinity)), 0U);
}

// Nothing lies between zero and 2^-100 but what relu was given.
TEST(exact_math, activations_give_no_denormals) {
    for (std::uint32_t bits = 0; bits < 0x7F800000U; bits += 4099) {
        for (const float x : {std::bit_cast<float>(bits), -std::bit_cast<float>(bits)}) {
            for (std::uint32_t kind = exact::kActivationGelu; kind < kActivations; ++kind) {
                const float y = std::abs(exact::exact_activate(kind, x));
                ASSERT_TRUE(y == 0.0F || y >= 0x1p-100F) << kind << " of " << x;
            }
        }
    }
}

// The functions work at compile time too, with the same bits.
static_assert(exact::exact_sqrt(4.0F) == 2.0F && exact::exact_round_half_even(2.5F) == 2.0F);

}  // namespace
}  // namespace yolk::oracle
