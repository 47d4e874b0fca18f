// SPDX-License-Identifier: Apache-2.0
// Steps by derivatives do the same work at other values: its commands are recorded once.
#include <gtest/gtest.h>

#include <cstdint>

#include "learning_systems.hpp"
#include "watch/driver_watch.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper {
namespace {

class repeated_recording : public testing::DeviceTest {
   protected:
    struct Costs {
        std::uint64_t driver_calls = 0;
        std::uint64_t dispatches = 0;
    };
    [[nodiscard]] Result<Costs> costs_of(std::uint32_t steps) const {
        Task task = xor_task();
        task.system.use(dispatcher());
        const testing::DriverWatch watch(device());
        const std::uint64_t before = device().counts().dispatches;
        YOLK_TRY_VOID(task.system.optimize(
            task.examples, task.metric,
            {.generations = steps, .gradient = GradientOptions{.rule = OptimizerRule::Adam, .learning_rate = 1e-2F}}));
        return Costs{watch.driver_calls(), device().counts().dispatches - before};
    }
};
YOLK_FOR_EACH_DEVICE(repeated_recording);

// Recording a dispatch takes three calls of the driver at least: its pipeline, its descriptors, and itself.
TEST_P(repeated_recording, of_steps_takes_fewer_calls_than_recording_them) {
    constexpr std::uint32_t kSteps = 20;
    ASSERT_OK(costs_of(1));  // pipelines are made
    ASSERT_OK_AND_ASSIGN(const Costs few, costs_of(4));
    ASSERT_OK_AND_ASSIGN(const Costs many, costs_of(4 + kSteps));
    const std::uint64_t dispatches = (many.dispatches - few.dispatches) / kSteps;
    const std::uint64_t calls = (many.driver_calls - few.driver_calls) / kSteps;
    EXPECT_GE(dispatches, 10U);
    EXPECT_LT(calls, 3 * dispatches);
}

}  // namespace
}  // namespace yolk::hyper
