// SPDX-License-Identifier: Apache-2.0
// main() of every test executable that needs devices.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "device_model.hpp"
#include "shared_devices.hpp"
#include "validation_log.hpp"
#include "watchdog.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/drivers.hpp"

namespace {

/// Starts the watchdog's clock for each test, and fails it on anything that the validation layer said meanwhile.
class EveryTest : public ::testing::EmptyTestEventListener {
   public:
    void OnTestStart(const ::testing::TestInfo& test) override {
        static_cast<void>(yolk::testing::take_recorded_messages());
        const std::string name = std::string(test.test_suite_name()) + "." + test.name();
        yolk::testing::set_device_model(name);
        yolk::testing::watch(name);
    }
    void OnTestEnd(const ::testing::TestInfo& /*test*/) override {
        yolk::testing::stop_watching();
        for (const yolk::ValidationMessage& message : yolk::testing::take_recorded_messages()) {
            ADD_FAILURE() << "validation " << (message.is_error ? "error" : "warning") << " [" << message.id
                          << "]: " << message.text;
        }
    }
};

int refuse(const std::string& wrong) {
    std::fprintf(stderr, "FAILED: %s", wrong.c_str());
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string unusable = yolk::testing::check_validation_variable() + yolk::testing::select_drivers();
    // Names of tests follow from drivers that were asked for; those of lavapipe and SwiftShader are known without them.
    if (!unusable.empty() && !yolk::testing::drivers_asked_for().empty()) return refuse(unusable);
    ::testing::InitGoogleTest(&argc, argv);
    const bool listing = ::testing::GTEST_FLAG(list_tests);
    const std::string wrong = unusable + yolk::testing::read_device_model();
    if (!wrong.empty() && !listing) return refuse(wrong);
    if (!listing) {
        yolk::testing::start_watchdog(yolk::testing::watchdog_limit());
        if (!yolk::testing::validation_is_on()) {
            std::printf("[ no layer ] YOLK_TEST_VALIDATION is off: nothing checks how Vulkan is used.\n");
        }
    }
    ::testing::UnitTest::GetInstance()->listeners().Append(new EveryTest);
    int status = RUN_ALL_TESTS();
    yolk::testing::watch("(destroying the devices)");
    yolk::testing::destroy_shared_devices();
    for (const yolk::ValidationMessage& message : yolk::testing::take_recorded_messages()) {
        std::fprintf(stderr, "FAILED: on destroying the devices, validation said [%s]: %s\n", message.id.c_str(),
                     message.text.c_str());
        status = 1;
    }
    return status;
}
