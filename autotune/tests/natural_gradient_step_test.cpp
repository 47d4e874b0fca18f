// SPDX-License-Identifier: Apache-2.0
#include "yolk/natural_gradient_step.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "step_oracle.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/kfac_step.hpp"

namespace yolk::autotune {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::yolk::testing::expect_error;

constexpr double kGradientHostTolerance = 1e-9;

std::vector<double> waves(std::size_t count) {
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = std::sin(0.7 * static_cast<double>(i)) - 0.2;
    return values;
}

/// P g of each block, by Eigen.
std::vector<double> products(const std::vector<double>& preconditioner, const std::vector<double>& gradient,
                             std::uint32_t count, std::uint32_t n) {
    std::vector<double> all;
    for (std::size_t block = 0; block < count; ++block) {
        const Eigen::VectorXd product = Eigen::Map<const Matrix>(&preconditioner[block * n * n], n, n) *
                                        Eigen::Map<const Eigen::VectorXd>(&gradient[block * n], n);
        all.insert(all.end(), product.begin(), product.end());
    }
    return all;
}

// ---- on the host

TEST(natural_gradient_step_host, without_a_preconditioner_is_the_plain_gradient_step) {
    const std::vector<double> gradient{1, 2};
    ASSERT_OK_AND_ASSIGN(const auto result,
                         natural_gradient_step_on_host({.n = 2, .gradient = gradient, .learning_rate = 0.1}));
    EXPECT_THAT(result.step, ElementsAre(-0.1, -0.2));
    EXPECT_EQ(result.preconditioned, gradient);
}

TEST(natural_gradient_step_host, diagonal_preconditioners_scale) {
    const std::vector<double> gradient{10, 10};
    const std::vector<double> preconditioner{1, 0, 0, 0.5};
    ASSERT_OK_AND_ASSIGN(const auto result,
                         natural_gradient_step_on_host(
                             {.n = 2, .gradient = gradient, .preconditioner = preconditioner, .learning_rate = 0}));
    EXPECT_THAT(result.preconditioned, ElementsAre(10.0, 5.0));
    EXPECT_THAT(result.step, ElementsAre(0.0, 0.0));
    EXPECT_FALSE(std::signbit(result.step[0]));
}

TEST(natural_gradient_step_host, is_within_1e_9_of_eigen) {
    for (const std::uint32_t n : {1U, 2U, 7U, 33U, 100U}) {
        const std::vector<double> gradient = waves(3 * std::size_t{n});
        const std::vector<double> preconditioner = definite_blocks(3, n, 1e4, n);
        ASSERT_OK_AND_ASSIGN(
            const auto result,
            natural_gradient_step_on_host(
                {.count = 3, .n = n, .gradient = gradient, .preconditioner = preconditioner, .learning_rate = 0.25}));
        std::vector<double> expected = products(preconditioner, gradient, 3, n);
        EXPECT_LT(worst_relative(result.preconditioned, expected, n), kGradientHostTolerance) << n;
        for (double& value : expected) value *= -0.25;
        EXPECT_LT(worst_relative(result.step, expected, n), kGradientHostTolerance) << n;
    }
}

TEST(natural_gradient_step_host, scratch_stays_and_the_step_may_lie_where_the_gradient_does) {
    std::vector<double> values{3, 4, 5, 6};
    const std::vector<double> swap{0, 1, 1, 0, /**/ 0, 1, 1, 0};
    NaturalGradientStepHostScratch scratch;
    const NaturalGradientStepInput<double> input{
        .count = 2, .n = 2, .gradient = values, .preconditioner = swap, .learning_rate = -1};
    ASSERT_OK(natural_gradient_step_on_host(input, scratch, {.step = values}));
    EXPECT_THAT(values, ElementsAre(4.0, 3.0, 6.0, 5.0));
    const double* const place = scratch.work.data();
    ASSERT_OK(natural_gradient_step_on_host(input, scratch, {.step = values}));
    EXPECT_THAT(values, ElementsAre(3.0, 4.0, 5.0, 6.0));
    EXPECT_EQ(scratch.work.data(), place);
}

TEST(natural_gradient_step_host, bad_input_is_an_error) {
    const std::vector<double> gradient(6, 1.0);
    const auto error_of = [](const NaturalGradientStepInput<double>& input) {
        return natural_gradient_step_on_host(input);
    };
    constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
    const auto bad = ErrorKind::BadInput;
    EXPECT_TRUE(expect_error(error_of({.n = 0}), bad, "1 blocks of size 0"));
    EXPECT_TRUE(expect_error(error_of({.count = 0, .n = 6}), bad, "0 blocks of size 6"));
    EXPECT_TRUE(expect_error(error_of({.count = kMost, .n = kMost, .gradient = gradient}), bad, "64 bits"));
    EXPECT_TRUE(expect_error(error_of({.n = 5, .gradient = gradient}), bad, "gradient"));
    EXPECT_TRUE(
        expect_error(error_of({.n = 6, .gradient = gradient, .preconditioner = gradient}), bad, "it must have 36"));
    EXPECT_TRUE(expect_error(error_of({.n = 6, .gradient = gradient, .learning_rate = INFINITY}), bad, "finite"));
    std::vector<double> step(6, 7.0);
    NaturalGradientStepHostScratch scratch;
    EXPECT_TRUE(expect_error(
        natural_gradient_step_on_host({.n = 6, .gradient = gradient}, scratch, {.step = std::span(step).first(5)}), bad,
        "output step"));
    EXPECT_TRUE(expect_error(natural_gradient_step_on_host({.n = 6, .gradient = gradient}, scratch,
                                                           {.step = step, .preconditioned = std::span(step).first(5)}),
                             bad, "output preconditioned"));
    EXPECT_THAT(step, Each(7.0));  // nothing was written
}

// ---- on devices

using natural_gradient_step_device = ::yolk::testing::DeviceTest;
YOLK_FOR_EACH_DEVICE(natural_gradient_step_device);

TEST_P(natural_gradient_step_device, without_a_preconditioner_is_the_plain_gradient_step) {
    const std::vector<float> gradient{1, 2};
    const std::vector<float> identity{1, 0, 0, 1};
    for (const bool given : {false, true}) {
        ASSERT_OK_AND_ASSIGN(
            const auto result,
            natural_gradient_step(dispatcher(), {.n = 2,
                                                 .gradient = gradient,
                                                 .preconditioner = given ? identity : std::vector<float>{},
                                                 .learning_rate = 0.1F}));
        EXPECT_THAT(result.step, ElementsAre(-0.1F, -0.2F));
        EXPECT_EQ(result.preconditioned, gradient);
    }
}

TEST_P(natural_gradient_step_device, the_inverse_of_an_identity_fisher_recovers_the_gradient) {
    constexpr std::uint32_t kSize = 5;
    std::vector<float> fisher(kSize * kSize, 0.0F);
    for (std::size_t i = 0; i < kSize; ++i) fisher[i * (kSize + 1)] = 1.0F;
    ASSERT_OK_AND_ASSIGN(const auto inverse, kfac_step(dispatcher(), {.count = 1, .n = kSize, .blocks = fisher}));
    const std::vector<float> gradient = to_float(waves(kSize));
    ASSERT_OK_AND_ASSIGN(const auto result, natural_gradient_step(dispatcher(), {.n = kSize,
                                                                                 .gradient = gradient,
                                                                                 .preconditioner = inverse.inverses,
                                                                                 .learning_rate = 1.0F}));
    EXPECT_EQ(result.preconditioned, gradient);
    for (std::size_t i = 0; i < kSize; ++i) EXPECT_EQ(result.step[i], -gradient[i]);
}

TEST_P(natural_gradient_step_device, diagonal_preconditioners_scale_and_rate_zero_gives_zeros) {
    const std::vector<float> gradient{10, 10};
    const std::vector<float> preconditioner{1, 0, 0, 0.5F};
    ASSERT_OK_AND_ASSIGN(
        const auto result,
        natural_gradient_step(dispatcher(),
                              {.n = 2, .gradient = gradient, .preconditioner = preconditioner, .learning_rate = 0.0F}));
    EXPECT_THAT(result.preconditioned, ElementsAre(10.0F, 5.0F));
    EXPECT_THAT(result.step, ElementsAre(0.0F, 0.0F));
}

TEST_P(natural_gradient_step_device, agrees_with_the_host) {
    for (const std::uint32_t n : {1U, 7U, 64U, 100U}) {
        const std::vector<float> gradient = to_float(waves(3 * std::size_t{n}));
        const std::vector<float> preconditioner = to_float(definite_blocks(3, n, 10.0, n));
        const std::vector<double> same_gradient(gradient.begin(), gradient.end());
        const std::vector<double> same(preconditioner.begin(), preconditioner.end());
        ASSERT_OK_AND_ASSIGN(
            const auto result,
            natural_gradient_step(
                dispatcher(),
                {.count = 3, .n = n, .gradient = gradient, .preconditioner = preconditioner, .learning_rate = 0.25F}));
        ASSERT_OK_AND_ASSIGN(
            const auto host,
            natural_gradient_step_on_host(
                {.count = 3, .n = n, .gradient = same_gradient, .preconditioner = same, .learning_rate = 0.25}));
        // A sum of n products rounds by at most n 2^-24 of |P| |g| (Higham 2002, equation 3.5); |P|_F is at most
        // sqrt(n), and |P g| at least |g| / 10.
        const double tolerance = n * 0x1p-24 * std::sqrt(n) * 10.0;
        EXPECT_LT(worst_relative(result.step, host.step, n), tolerance) << n;
        EXPECT_LT(worst_relative(result.preconditioned, host.preconditioned, n), tolerance) << n;
    }
}

TEST_P(natural_gradient_step_device, all_forms_give_the_same_bytes_with_forced_staging_too) {
    const std::vector<float> gradient = to_float(waves(21));
    const std::vector<float> preconditioner = to_float(definite_blocks(3, 7, 30.0));
    NaturalGradientStepInput<float> input{
        .count = 3, .n = 7, .gradient = gradient, .preconditioner = preconditioner, .learning_rate = 0.3F};
    NaturalGradientStepScratch scratch;
    for (int half = 0; half < 2; ++half) {
        ASSERT_OK_AND_ASSIGN(const auto result, natural_gradient_step(dispatcher(), input));
        for (Dispatcher* on : {&dispatcher(), &discrete_dispatcher()}) {
            std::vector<float> step(21, 7.0F);
            std::vector<float> product(21, 7.0F);
            NaturalGradientStepScratch own;
            ASSERT_OK(natural_gradient_step(*on, input, own, {.step = step}));
            EXPECT_EQ(step, result.step);
            ASSERT_OK(natural_gradient_step(*on, input, scratch, {.step = step, .preconditioned = product}));
            EXPECT_EQ(step, result.step);
            EXPECT_EQ(product, result.preconditioned);
        }
        input.preconditioner = {};
    }
    EXPECT_EQ(scratch.counts().plans, 4U);
}

TEST_P(natural_gradient_step_device, one_scratch_takes_any_learning_rate) {
    const std::vector<float> gradient{1, -2, 4};
    std::vector<float> step(3);
    NaturalGradientStepScratch scratch;
    for (const float rate : {1.0F, 0.5F, 0.0F, -2.0F}) {
        ASSERT_OK(natural_gradient_step(dispatcher(), {.n = 3, .gradient = gradient, .learning_rate = rate}, scratch,
                                        {.step = step}));
        EXPECT_THAT(step, ElementsAre(-rate, 2 * rate, -4 * rate));
    }
    EXPECT_EQ(scratch.counts().plans, 1U);
    EXPECT_EQ(scratch.counts().calls, 4U);
    EXPECT_EQ(scratch.counts().dispatches, 4U);
}

TEST_P(natural_gradient_step_device, bad_input_is_an_error) {
    const std::vector<float> gradient(6, 1.0F);
    constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    const auto bad = ErrorKind::BadInput;
    const auto error_of = [&](const NaturalGradientStepInput<float>& input) {
        return natural_gradient_step(dispatcher(), input);
    };
    EXPECT_TRUE(expect_error(error_of({.n = 0}), bad, "1 blocks of size 0"));
    EXPECT_TRUE(expect_error(error_of({.count = 0, .n = 6}), bad, "0 blocks of size 6"));
    EXPECT_TRUE(expect_error(error_of({.count = kMost, .n = kMost, .gradient = gradient}), bad, "64 bits"));
    EXPECT_TRUE(expect_error(error_of({.n = 5, .gradient = gradient}), bad, "it must have 5"));
    EXPECT_TRUE(
        expect_error(error_of({.n = 6, .gradient = gradient, .preconditioner = gradient}), bad, "it must have 36"));
    EXPECT_TRUE(expect_error(error_of({.n = 6, .gradient = gradient, .learning_rate = kNan}), bad, "finite"));
    std::vector<float> step(6, 7.0F);
    NaturalGradientStepScratch scratch;
    EXPECT_TRUE(expect_error(natural_gradient_step(dispatcher(), {.n = 6, .gradient = gradient}, scratch,
                                                   {.step = std::span(step).first(5)}),
                             bad, "output step"));
    EXPECT_THAT(step, Each(7.0F));
}

}  // namespace
}  // namespace yolk::autotune
