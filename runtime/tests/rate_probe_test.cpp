// SPDX-License-Identifier: Apache-2.0
#include "rate_probe.hpp"

#include <gtest/gtest.h>

#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using rate_probe = yolk::testing::DeviceTest;
YOLK_FOR_EACH_DEVICE(rate_probe);

// No device computes less than a pocket calculator's few thousand a second, nor more than 10^16.
TEST_P(rate_probe, measures_a_rate_that_a_device_can_have) {
    ASSERT_OK_AND_ASSIGN(const double rate, measure_rate(dispatcher()));
    EXPECT_GT(rate, 1e6);
    EXPECT_LT(rate, 1e16);
}

}  // namespace
}  // namespace yolk
