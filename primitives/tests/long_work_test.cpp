// SPDX-License-Identifier: Apache-2.0
// Every family's table of cases again, on a device that takes so little at once that most of the work is cut: results
// do not depend on where.
#include "yolk/oracle/check.hpp"
#include "yolk/primitives/es_update.hpp"
#include "yolk/primitives/fitness.hpp"
#include "yolk/primitives/rollout.hpp"
#include "yolk/testing/device_test.hpp"

namespace yolk {
namespace {

class long_work : public testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(long_work);

TEST_P(long_work, of_every_kernel_is_cut_without_a_trace) {
    constexpr std::uint64_t kLittle = 1U << 17U;
    ASSERT_OK_AND_ASSIGN(const Device impatient,
                         Device::create(testing::instance(), device().info().index, {.max_submission_cost = kLittle}));
    ASSERT_OK_AND_ASSIGN(Dispatcher dispatcher, Dispatcher::create(impatient));
    for (const oracle::KernelCheck& check : oracle::kernel_checks()) {
        ASSERT_OK_AND_ASSIGN(
            const oracle::CheckReport report,
            check.run({.device = impatient, .dispatcher = dispatcher, .seed = 9, .configurations = 1}));
        EXPECT_TRUE(report.passed()) << report.kernel << ": "
                                     << (report.failures.empty() ? "no cases" : report.failures.front());
    }
    EXPECT_GT(impatient.counts().submissions, 0U);
}

}  // namespace
}  // namespace yolk
