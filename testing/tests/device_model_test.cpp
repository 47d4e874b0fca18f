// SPDX-License-Identifier: Apache-2.0
#include "device_model.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/variable.hpp"

namespace yolk::testing {
namespace {

/// The first of suite.case_0, suite.case_1, ... whose lot that is.
std::string first_name(bool drawn) {
    for (int i = 0;; ++i) {
        if (std::string name = fmt::format("suite.case_{}", i); is_drawn(name) == drawn) return name;
    }
}

TEST(device_model, a_tenth_of_names_is_drawn_and_always_the_same) {
    int drawn = 0;
    for (int i = 0; i < 10000; ++i) drawn += is_drawn(fmt::format("suite.case_{}/lavapipe", i)) ? 1 : 0;
    // Binomial: 1000 and a standard deviation of 30.
    EXPECT_NEAR(drawn, 1000, 150);
    EXPECT_EQ(first_name(true), "suite.case_1");
}

TEST(device_model, only_the_drawn_tests_see_discrete_memory) {
    const std::string drawn = first_name(true);
    const std::string not_drawn = first_name(false);
    const Variable model("YOLK_DEVICE_MODEL", nullptr);
    for (const char* draw : {"tenth", static_cast<const char*>(nullptr)}) {
        const Variable variable("YOLK_TEST_DISCRETE", draw);
        EXPECT_EQ(read_device_model(), "");
        set_device_model(drawn);
        const MemoryPolicy wanted = draw == nullptr ? MemoryPolicy::Native : MemoryPolicy::ForceDiscrete;
        EXPECT_EQ(*settled_policy(MemoryPolicy::Automatic), wanted);
        EXPECT_EQ(first_device().device.memory_policy(), wanted);
        EXPECT_EQ(shared_device(first_device_name(), MemoryPolicy::Native).device.memory_policy(),
                  MemoryPolicy::Native);
        set_device_model(not_drawn);
        EXPECT_EQ(*settled_policy(MemoryPolicy::Automatic), MemoryPolicy::Native);
    }
}

TEST(device_model, one_that_is_given_is_for_every_test) {
    const Variable model("YOLK_DEVICE_MODEL", "discrete");
    const Variable draw("YOLK_TEST_DISCRETE", "tenth");
    EXPECT_EQ(read_device_model(), "");
    for (int i = 0; i < 20; ++i) {
        set_device_model(fmt::format("suite.case_{}", i));
        EXPECT_EQ(*settled_policy(MemoryPolicy::Automatic), MemoryPolicy::ForceDiscrete);
    }
}

TEST(device_model, unknown_draw_is_refused) {
    const Variable draw("YOLK_TEST_DISCRETE", "half");
    EXPECT_THAT(read_device_model(), ::testing::HasSubstr("YOLK_TEST_DISCRETE is 'half'; it may be 'tenth'"));
}

}  // namespace
}  // namespace yolk::testing
