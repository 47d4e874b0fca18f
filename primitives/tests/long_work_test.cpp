// SPDX-License-Identifier: Apache-2.0
// Every family's table of cases again, on a device that takes so little at once that most of the work is cut: results
// do not depend on where.
#include "yolk/internal/oracle/families.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>

#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

constexpr std::uint64_t kLittle = 1U << 17U;
constexpr std::array<std::string_view, 2> kSlow{"rollout", "kronecker_precondition"};

class long_work : public testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(long_work);

TEST_P(long_work, of_every_kernel_is_cut_without_a_trace) {
    ASSERT_OK_AND_ASSIGN(const Device impatient, Device::create(testing::instance(), device().info().index,
                                                                {.pipeline_cache_folder = testing::kernels_folder(),
                                                                 .max_submission_cost = kLittle}));
    ASSERT_OK_AND_ASSIGN(Dispatcher dispatcher, Dispatcher::create(impatient));
    for (const oracle::Family* family : oracle::families()) {
        // Pipelines belong to a device, and these families' take long to make; a test of their own is below.
        if (family->each_configuration_once || std::ranges::find(kSlow, std::string_view(family->name)) != kSlow.end())
            continue;
        ASSERT_OK_AND_ASSIGN(
            const oracle::CheckReport report,
            oracle::check_family({.device = impatient,
                                  .dispatcher = dispatcher,
                                  .seed = 9,
                                  // every_family has other tiles, and those of GPUs; a device's pipelines take long
                                  .configurations = 0,
                                  .defaults_of_gpus = false},
                                 *family));
        EXPECT_TRUE(report.passed()) << report.kernel << ": "
                                     << (report.failures.empty() ? "no cases" : report.failures.front());
    }
}

/// The two cases of most work.
template <const oracle::Family& (*kFamily)() noexcept>
oracle::Problems heaviest_cases(std::uint64_t seed) {
    oracle::Problems problems = kFamily().cases(seed);
    std::ranges::sort(problems, std::greater<>(), [](const auto& problem) { return problem->work().operations; });
    problems.resize(2);
    return problems;
}

TEST_P(long_work, of_the_slow_ones_is_cut_without_a_trace) {
    ASSERT_OK_AND_ASSIGN(const Device impatient, Device::create(testing::instance(), device().info().index,
                                                                {.pipeline_cache_folder = testing::kernels_folder(),
                                                                 .max_submission_cost = kLittle}));
    ASSERT_OK_AND_ASSIGN(Dispatcher dispatcher, Dispatcher::create(impatient));
    for (const auto cases :
         {&heaviest_cases<oracle::matmul_family>, &heaviest_cases<oracle::perturbed_linear_family>,
          &heaviest_cases<oracle::rollout_family>, &heaviest_cases<oracle::kronecker_precondition_family>}) {
        const oracle::Family family{
            .name = "slow", .exactness = "P", .cases = cases, .benchmarks = nullptr, .configurations_per_case = 1};
        const std::uint64_t before = impatient.counts().submissions;
        ASSERT_OK_AND_ASSIGN(
            const oracle::CheckReport report,
            oracle::check_family(
                {.device = impatient, .dispatcher = dispatcher, .configurations = 1, .defaults_of_gpus = false},
                family));
        EXPECT_THAT(report.failures, ::testing::IsEmpty());
        EXPECT_TRUE(report.passed());
        EXPECT_GT(impatient.counts().submissions - before, report.cases);
    }
}

// That the device above really cuts: the same cases make more submissions on it than on one with the default.
TEST_P(long_work, is_more_submissions_on_a_device_that_takes_little) {
    const oracle::Family family{.name = "es_update",
                                .exactness = "P",
                                .cases = &heaviest_cases<oracle::es_update_family>,
                                .benchmarks = nullptr,
                                .configurations_per_case = 1};
    const auto submissions = [&](std::uint64_t max_cost) -> Result<std::uint64_t> {
        YOLK_TRY(const Device own,
                 Device::create(testing::instance(), device().info().index,
                                {.pipeline_cache_folder = testing::kernels_folder(), .max_submission_cost = max_cost}));
        YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(own));
        YOLK_TRY_VOID(oracle::check_family(
            {.device = own, .dispatcher = dispatcher, .seed = 9, .configurations = 1, .defaults_of_gpus = false},
            family));
        return own.counts().submissions;
    };
    ASSERT_OK_AND_ASSIGN(const std::uint64_t whole, submissions(0));
    ASSERT_OK_AND_ASSIGN(const std::uint64_t cut, submissions(kLittle));
    EXPECT_GT(cut, whole);
}

}  // namespace
}  // namespace yolk
