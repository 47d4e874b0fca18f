// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "yolk/oracle/families.hpp"
#include "yolk/oracle/family.hpp"
#include "yolk/testing/device_test.hpp"

namespace yolk {
namespace {

using exact_math = testing::DeviceTest;
YOLK_FOR_EACH_DEVICE(exact_math);

TEST_P(exact_math, matches_oracle_and_twin) {
    ASSERT_OK_AND_ASSIGN(const oracle::CheckReport report,
                         oracle::check_family({device(), dispatcher()}, oracle::exact_math_family()));
    EXPECT_THAT(report.failures, ::testing::ElementsAre());
    EXPECT_TRUE(report.passed());
    EXPECT_EQ(report.twin_mismatches, 0U);
    EXPECT_LE(report.worst_error, 1.0) << report.worst_case;
}

}  // namespace
}  // namespace yolk
