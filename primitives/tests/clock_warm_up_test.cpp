// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/primitives/clock_warm_up.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using clock_warm_up = yolk::testing::DeviceTest;
YOLK_FOR_EACH_DEVICE(clock_warm_up);

// CPU drivers have the host's clock; a GPU runs some work, and again, since it may have gone to sleep. How much is a
// matter of what else it does.
TEST_P(clock_warm_up, works_on_gpus_alone_and_ends) {
    ClockWarmUp warm_up(device(), dispatcher());
    const std::uint64_t before = device().counters().submissions.load();
    ASSERT_OK(warm_up.wake());
    const std::uint64_t first = device().counters().submissions.load() - before;
    ASSERT_OK(warm_up.wake());
    const std::uint64_t second = device().counters().submissions.load() - before - first;
    const bool works = device().info().kind != DeviceKind::Cpu;
    EXPECT_EQ(first > 0, works);
    EXPECT_EQ(second > 0, works);
}

}  // namespace
}  // namespace yolk
