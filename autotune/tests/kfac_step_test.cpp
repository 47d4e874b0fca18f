// SPDX-License-Identifier: Apache-2.0
#include "yolk/kfac_step.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "step_oracle.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::autotune {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::yolk::testing::expect_error;

constexpr double kKfacHostTolerance = 1e-9;

template <class Real>
struct Output {
    std::vector<Real> inverses;
    std::vector<std::uint32_t> status;
    std::vector<Real> residuals;
    Output(std::uint32_t count, std::uint32_t n)
        : inverses(std::size_t{count} * n * n, Real{7}), status(count, 7), residuals(count, Real{7}) {}
    [[nodiscard]] KfacStepOutput<Real> spans() {
        return {.inverses = inverses, .status = status, .residuals = residuals};
    }
};

// ---- on the host

TEST(kfac_step_host, is_within_1e_9_of_eigen) {
    for (const std::uint32_t n : {1U, 2U, 3U, 7U, 16U, 33U, 64U}) {
        for (const double damping : {0.0, 1e-3, 1.0}) {
            const std::vector<double> blocks = definite_blocks(3, n, 1e4, n);
            ASSERT_OK_AND_ASSIGN(const auto result,
                                 kfac_step_on_host({.count = 3, .n = n, .blocks = blocks, .damping = damping}));
            EXPECT_LT(worst_relative(result.inverses, inverses_of(blocks, 3, n, damping), std::size_t{n} * n),
                      kKfacHostTolerance)
                << n << " damped by " << damping;
            EXPECT_THAT(result.status, Each(0U));
            EXPECT_THAT(result.residuals, Each(::testing::Lt(kKfacHostTolerance)));
        }
    }
}

TEST(kfac_step_host, diagonal_blocks_invert_exactly) {
    const std::vector<double> blocks{2, 0, 0, 4};
    ASSERT_OK_AND_ASSIGN(const auto result, kfac_step_on_host({.count = 1, .n = 2, .blocks = blocks}));
    EXPECT_THAT(result.inverses, ElementsAre(0.5, 0.0, 0.0, 0.25));
    EXPECT_THAT(result.residuals, ElementsAre(0.0));
}

TEST(kfac_step_host, blocks_without_an_inverse_are_reported) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> blocks{4, 3, 3, 2, /**/ 0, 0, 0, 0, /**/ 1, nan, nan, 1, /**/ 1, 0, 0, 1};
    ASSERT_OK_AND_ASSIGN(const auto result, kfac_step_on_host({.count = 4, .n = 2, .blocks = blocks}));
    EXPECT_EQ(block_status_of(result.status[0]), BlockStatus::Indefinite);
    EXPECT_EQ(block_status_of(result.status[1]), BlockStatus::Singular);
    EXPECT_EQ(block_status_of(result.status[2]), BlockStatus::NotFinite);
    EXPECT_EQ(block_status_of(result.status[3]), BlockStatus::Ok);
    for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(result.inverses[i], 0.0) << i;
    EXPECT_THAT(result.residuals, ElementsAre(double{kNoResidual}, double{kNoResidual}, double{kNoResidual}, 0.0));
}

TEST(kfac_step_host, a_singular_block_is_damped_until_it_is_not) {
    const std::vector<double> blocks{1, 1, 1, 1};
    ASSERT_OK_AND_ASSIGN(const auto result, kfac_step_on_host({.count = 1, .n = 2, .blocks = blocks}));
    EXPECT_EQ(block_status_of(result.status[0]), BlockStatus::Damped);
    EXPECT_EQ(retries_of(result.status[0]), 1U);
    // The first retry damps by 16 * 2^-20 trace / n.
    EXPECT_LT(worst_relative(result.inverses, inverses_of(blocks, 1, 2, 0x1p-16), 4), kKfacHostTolerance);
    ASSERT_OK_AND_ASSIGN(const auto none, kfac_step_on_host({.count = 1, .n = 2, .blocks = blocks, .retries = 0}));
    EXPECT_EQ(block_status_of(none.status[0]), BlockStatus::Singular);
}

TEST(kfac_step_host, the_inverses_may_lie_where_the_blocks_do) {
    std::vector<double> blocks = definite_blocks(4, 5, 100.0);
    const std::vector<double> expected = inverses_of(blocks, 4, 5, 0.0);
    Output<double> output(4, 5);
    KfacStepOutput<double> spans = output.spans();
    spans.inverses = blocks;
    KfacStepHostScratch scratch;
    ASSERT_OK(kfac_step_on_host({.count = 4, .n = 5, .blocks = blocks}, scratch, spans));
    EXPECT_LT(worst_relative(blocks, expected, 25), kKfacHostTolerance);
}

TEST(kfac_step_host, scratch_stays_where_it_is) {
    const std::vector<double> blocks = definite_blocks(2, 6, 10.0);
    Output<double> output(2, 6);
    KfacStepHostScratch scratch;
    const KfacStepInput<double> input{.count = 2, .n = 6, .blocks = blocks};
    ASSERT_OK(kfac_step_on_host(input, scratch, output.spans()));
    const double* const place = scratch.work.data();
    const std::size_t capacity = scratch.work.capacity();
    ASSERT_OK(kfac_step_on_host(input, scratch, output.spans()));
    ASSERT_OK(kfac_step_on_host({.count = 1, .n = 2, .blocks = std::span(blocks).first(4)}, scratch,
                                {.inverses = std::span(output.inverses).first(4),
                                 .status = std::span(output.status).first(1),
                                 .residuals = std::span(output.residuals).first(1)}));
    EXPECT_EQ(scratch.work.data(), place);
    EXPECT_EQ(scratch.work.capacity(), capacity);
}

TEST(kfac_step_host, bad_input_is_an_error) {
    const std::vector<double> blocks(8, 1.0);
    const auto error_of = [](const KfacStepInput<double>& input) { return kfac_step_on_host(input); };
    constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
    const auto bad = ErrorKind::BadInput;
    EXPECT_TRUE(expect_error(error_of({.count = 0, .n = 2, .blocks = {}}), bad, "0 blocks of size 2"));
    EXPECT_TRUE(expect_error(error_of({.count = 2, .n = 0, .blocks = {}}), bad, "2 blocks of size 0"));
    EXPECT_TRUE(expect_error(error_of({.count = kMost, .n = kMost, .blocks = blocks}), bad, "64 bits"));
    EXPECT_TRUE(expect_error(error_of({.count = 2, .n = 3, .blocks = blocks}), bad, "it must have 18"));
    EXPECT_TRUE(expect_error(error_of({.count = 2, .n = 2, .blocks = blocks, .damping = -1}), bad, "damping"));
    EXPECT_TRUE(expect_error(error_of({.count = 2, .n = 2, .blocks = blocks, .damping = NAN}), bad, "damping"));
    EXPECT_TRUE(expect_error(error_of({.count = 2, .n = 2, .blocks = blocks, .retries = 9}), bad, "retries"));
    Output<double> output(2, 2);
    for (const int which : {0, 1, 2}) {
        KfacStepOutput<double> spans = output.spans();
        if (which == 0) spans.inverses = spans.inverses.first(7);
        if (which == 1) spans.status = spans.status.first(1);
        if (which == 2) spans.residuals = {};
        KfacStepHostScratch scratch;
        EXPECT_TRUE(
            expect_error(kfac_step_on_host({.count = 2, .n = 2, .blocks = blocks}, scratch, spans), bad, "output"));
    }
    EXPECT_THAT(output.inverses, Each(7.0));  // nothing was written
}

// ---- on devices

using kfac_step_device = ::yolk::testing::DeviceTest;
YOLK_FOR_EACH_DEVICE(kfac_step_device);

TEST_P(kfac_step_device, agrees_with_the_host) {
    for (const std::uint32_t n : {1U, 2U, 7U, 16U, 33U, 64U}) {
        const std::vector<float> blocks = to_float(definite_blocks(3, n, 100.0, n));
        const std::vector<double> same(blocks.begin(), blocks.end());
        ASSERT_OK_AND_ASSIGN(const auto result,
                             kfac_step(dispatcher(), {.count = 3, .n = n, .blocks = blocks, .damping = 0x1p-10F}));
        ASSERT_OK_AND_ASSIGN(const auto host,
                             kfac_step_on_host({.count = 3, .n = n, .blocks = same, .damping = 0x1p-10}));
        // The factorization's backward error is below 3 n 2^-24 |A| (Higham 2002, theorem 10.3, with its n for the sums
        // and two more passes for the inverse); times the condition number that is the inverse's relative error.
        EXPECT_LT(worst_relative(result.inverses, host.inverses, std::size_t{n} * n), 3.0 * (n + 1) * 0x1p-24 * 100.0)
            << n;
        EXPECT_THAT(result.status, Each(0U));
        EXPECT_GT(result.counts.dispatches, 0U);
        EXPECT_EQ(result.counts.calls, 1U);
    }
}

TEST_P(kfac_step_device, diagonal_blocks_invert_exactly) {
    const std::vector<float> blocks{2, 0, 0, 4};
    ASSERT_OK_AND_ASSIGN(const auto result, kfac_step(dispatcher(), {.count = 1, .n = 2, .blocks = blocks}));
    EXPECT_THAT(result.inverses, ElementsAre(0.5F, 0.0F, 0.0F, 0.25F));
    EXPECT_THAT(result.residuals, ElementsAre(0.0F));
}

TEST_P(kfac_step_device, the_identity_is_its_own_inverse) {
    constexpr std::uint32_t kSize = 9;
    std::vector<float> blocks(2 * kSize * kSize, 0.0F);
    for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = i % (kSize * kSize) % (kSize + 1) == 0 ? 1.0F : 0.0F;
    ASSERT_OK_AND_ASSIGN(const auto result, kfac_step(dispatcher(), {.count = 2, .n = kSize, .blocks = blocks}));
    EXPECT_EQ(result.inverses, blocks);
}

TEST_P(kfac_step_device, blocks_without_an_inverse_are_reported) {
    const std::vector<float> blocks{4, 3, 3, 2, /**/ 0, 0, 0, 0, /**/ 1, 0, 0, 1};
    ASSERT_OK_AND_ASSIGN(const auto result, kfac_step(dispatcher(), {.count = 3, .n = 2, .blocks = blocks}));
    EXPECT_EQ(block_status_of(result.status[0]), BlockStatus::Indefinite);
    EXPECT_EQ(block_status_of(result.status[1]), BlockStatus::Singular);
    EXPECT_EQ(block_status_of(result.status[2]), BlockStatus::Ok);
    EXPECT_THAT(result.residuals, ElementsAre(kNoResidual, kNoResidual, 0.0F));
}

TEST_P(kfac_step_device, all_forms_give_the_same_bytes_with_forced_staging_too) {
    const std::vector<float> blocks = to_float(definite_blocks(5, 8, 30.0));
    const KfacStepInput<float> input{.count = 5, .n = 8, .blocks = blocks};
    ASSERT_OK_AND_ASSIGN(const auto result, kfac_step(dispatcher(), input));
    KfacStepScratch scratch;
    for (Dispatcher* on : {&dispatcher(), &discrete_dispatcher()}) {
        Output<float> fresh(5, 8);
        KfacStepScratch own;
        ASSERT_OK(kfac_step(*on, input, own, fresh.spans()));
        EXPECT_EQ(fresh.inverses, result.inverses);
        EXPECT_EQ(fresh.status, result.status);
        EXPECT_EQ(fresh.residuals, result.residuals);
        Output<float> with_scratch(5, 8);  // which moves to the other device
        ASSERT_OK(kfac_step(*on, input, scratch, with_scratch.spans()));
        EXPECT_EQ(with_scratch.inverses, result.inverses);
        EXPECT_EQ(with_scratch.residuals, result.residuals);
    }
    EXPECT_EQ(scratch.counts().plans, 2U);
}

TEST_P(kfac_step_device, scratch_grows_and_stays) {
    KfacStepScratch scratch;
    EXPECT_EQ(scratch.footprint(), StepFootprint{});
    StepFootprint large;
    for (const auto& [count, n] : {std::pair{2U, 4U}, {6U, 20U}, {3U, 5U}, {6U, 20U}}) {
        const std::vector<double> blocks = definite_blocks(count, n, 10.0, n);
        const std::vector<float> same = to_float(blocks);
        Output<float> output(count, n);
        for (int repeat = 0; repeat < 2; ++repeat) {
            ASSERT_OK(kfac_step(dispatcher(), {.count = count, .n = n, .blocks = same}, scratch, output.spans()));
            EXPECT_LT(worst_relative(output.inverses, inverses_of(blocks, count, n, 0.0), std::size_t{n} * n), 1e-4);
        }
        if (large.upload_bytes == 0 && n == 20U) large = scratch.footprint();
    }
    EXPECT_EQ(scratch.footprint(), large);  // neither the smaller shape nor the large one again moved it
    EXPECT_EQ(scratch.counts().calls, 8U);
    EXPECT_EQ(scratch.counts().plans, 4U);
}

TEST_P(kfac_step_device, dispatches_are_those_that_the_device_counts) {
    const std::vector<float> blocks = to_float(definite_blocks(4, 12, 10.0));
    const KfacStepInput<float> input{.count = 4, .n = 12, .blocks = blocks};
    KfacStepScratch scratch;
    Output<float> output(4, 12);
    StepCounts sum;
    const OperationCounts before = device().counts();
    for (int call = 0; call < 3; ++call) {
        ASSERT_OK_AND_ASSIGN(const StepCounts counts, kfac_step(dispatcher(), input, scratch, output.spans()));
        EXPECT_EQ(counts.plans, call == 0 ? 1U : 0U);
        sum.dispatches += counts.dispatches;
        sum.submissions += counts.submissions;
    }
    const OperationCounts after = device().counts();
    EXPECT_EQ(after.dispatches - before.dispatches, sum.dispatches);
    EXPECT_EQ(after.submissions - before.submissions, sum.submissions);
    EXPECT_EQ(scratch.counts(), (StepCounts{3, 1, sum.submissions, sum.dispatches}));
}

TEST_P(kfac_step_device, bad_input_is_an_error_and_leaves_the_scratch_usable) {
    const std::vector<float> blocks{2, 0, 0, 4};
    constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
    const auto bad = ErrorKind::BadInput;
    EXPECT_TRUE(expect_error(kfac_step(dispatcher(), {.count = 0, .n = 2}), bad, "0 blocks of size 2"));
    EXPECT_TRUE(expect_error(kfac_step(dispatcher(), {.count = 1, .n = 0}), bad, "1 blocks of size 0"));
    EXPECT_TRUE(expect_error(kfac_step(dispatcher(), {.count = kMost, .n = kMost, .blocks = blocks}), bad, "64 bits"));
    EXPECT_TRUE(expect_error(kfac_step(dispatcher(), {.count = 2, .n = 2, .blocks = blocks}), bad, "it must have 8"));
    EXPECT_TRUE(
        expect_error(kfac_step(dispatcher(), {.count = 1, .n = 2, .blocks = blocks, .damping = -1.0F}), bad, ""));
    KfacStepScratch scratch;
    Output<float> output(1, 2);
    KfacStepOutput<float> short_of_one = output.spans();
    short_of_one.inverses = short_of_one.inverses.first(3);
    EXPECT_TRUE(expect_error(kfac_step(dispatcher(), {.count = 1, .n = 2, .blocks = blocks}, scratch, short_of_one),
                             bad, "output inverses"));
    EXPECT_THAT(output.inverses, Each(7.0F));
    const KfacStepInput<float> refused{.count = 1, .n = 2, .blocks = blocks, .retries = 1000};
    EXPECT_FALSE(kfac_step(dispatcher(), refused, scratch, output.spans()));
    EXPECT_EQ(scratch.counts(), StepCounts{});
    ASSERT_OK(kfac_step(dispatcher(), {.count = 1, .n = 2, .blocks = blocks}, scratch, output.spans()));
    EXPECT_THAT(output.inverses, ElementsAre(0.5F, 0.0F, 0.0F, 0.25F));
}

}  // namespace
}  // namespace yolk::autotune
