// SPDX-License-Identifier: Apache-2.0
// The harness must fail where it should: each test runs this executable again, on itself, and looks at how the child
// ended.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "validation_log.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kChild = "YOLK_TESTING_CHILD";

bool in_child() { return std::getenv(kChild) != nullptr; }

struct Outcome {
    bool passed = false;
    std::string output;
};

/// Runs the calling test alone in a child process, with `environment` ("A=1 B=2") set.
Outcome run_again(const std::string& environment) {
    const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
    const std::string name = std::string(test.test_suite_name()) + "." + test.name();
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    const std::string command =
        environment + " " + kChild + "=1 '" + self + "' '--gtest_filter=" + name + "' --gtest_output= 2>&1";
    Outcome outcome;
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return outcome;
    std::array<char, 4096> buffer{};
    while (std::fgets(buffer.data(), static_cast<int>(buffer.size()), pipe) != nullptr) outcome.output += buffer.data();
    const int status = pclose(pipe);
    outcome.passed = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return outcome;
}

TEST(harness, a_validation_message_fails_the_test) {
    if (in_child()) {
        record_validation_message({.is_error = false, .id = "VUID-made-up", .text = "a warning is enough"});
        return;
    }
    const Outcome child = run_again("");
    EXPECT_FALSE(child.passed);
    EXPECT_THAT(child.output, HasSubstr("validation warning [VUID-made-up]: a warning is enough"));
}

TEST(harness, taken_messages_are_forgiven) {
    record_validation_message({.is_error = true, .id = "VUID-made-up", .text = "provoked on purpose"});
    const std::vector<ValidationMessage> taken = take_validation_messages();
    ASSERT_EQ(taken.size(), 1U);
    EXPECT_EQ(taken[0].id, "VUID-made-up");
    EXPECT_TRUE(take_validation_messages().empty());
}

TEST(harness, the_watchdog_aborts_a_test_that_hangs) {
    if (in_child()) {
        std::this_thread::sleep_for(std::chrono::seconds(60));
        return;
    }
    const auto start = std::chrono::steady_clock::now();
    const Outcome child = run_again("YOLK_TEST_WATCHDOG_SECONDS=1");
    EXPECT_FALSE(child.passed);
    EXPECT_THAT(child.output, HasSubstr("harness.the_watchdog_aborts_a_test_that_hangs has not ended after 1 seconds"));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(45));
}

TEST(harness, a_device_that_is_not_there_fails_the_run) {
    if (in_child()) {
        static_cast<void>(device_index("voodoo"));
        return;
    }
    const Outcome child = run_again("");
    EXPECT_FALSE(child.passed);
    const std::size_t said = child.output.find("The device 'voodoo' is not there; those present are:");
    ASSERT_NE(said, std::string::npos) << child.output;
    EXPECT_THAT(child.output.substr(said), HasSubstr(" " + devices().front()));
}

TEST(harness, drivers_that_are_not_there_fail_the_run) {
    if (in_child()) return;
    const Outcome child = run_again("YOLK_TEST_DRIVERS=/nonexistent.json");
    EXPECT_FALSE(child.passed);
    EXPECT_THAT(child.output, HasSubstr("YOLK_TEST_DRIVERS names '/nonexistent.json', which is not a file."));
}

// So a filter by a device's name cannot pass because nothing runs.
TEST(harness, a_driver_without_a_device_fails_the_run) {
    if (in_child()) return;
    const std::filesystem::path file = std::filesystem::temp_directory_path() / "yolk_no_driver.json";
    std::ofstream(file) << R"({"file_format_version": "1.0.0", "ICD": {"library_path": "/nonexistent/libvulkan.so",)"
                        << R"( "api_version": "1.2.0"}})";
    const Outcome child = run_again("YOLK_TEST_DRIVERS=" + file.string());
    EXPECT_FALSE(child.passed);
    EXPECT_THAT(child.output,
                HasSubstr("The drivers of YOLK_TEST_DRIVERS (" + file.string() + ") have no Vulkan device here"));
    std::filesystem::remove(file);
}

// One driver in place of two: every device comes from it, and what needs two devices has it twice.
TEST(harness, a_driver_that_is_asked_for_is_the_only_one) {
    if (in_child()) {
        EXPECT_EQ(devices().size(), 1U);
        EXPECT_EQ(devices().front(), first_device_name());
        EXPECT_EQ(other_device_name(), first_device_name());
        EXPECT_NE(&other_device(), &first_device());
        EXPECT_NE(other_device().device.impl(), first_device().device.impl());
        EXPECT_EQ(other_device().device.info().index, first_device().device.info().index);
        return;
    }
    const std::string files = std::getenv("VK_ICD_FILENAMES");  // set by main()
    const Outcome child = run_again("YOLK_TEST_DRIVERS=" + files.substr(0, files.find(':')));
    EXPECT_TRUE(child.passed) << child.output;
}

TEST(harness, without_validation_nothing_is_said) {
    if (in_child()) {
        EXPECT_FALSE(validation_is_on());
        static_cast<void>(instance());
        return;
    }
    // Where the layer would be found there is none.
    const Outcome child = run_again("YOLK_TEST_VALIDATION=off VK_LAYER_PATH=/nonexistent");
    EXPECT_TRUE(child.passed) << child.output;
    EXPECT_THAT(child.output, HasSubstr("YOLK_TEST_VALIDATION is off: nothing checks how Vulkan is used."));
    const Outcome watched = run_again("YOLK_TEST_VALIDATION=on VK_LAYER_PATH=/nonexistent");
    EXPECT_FALSE(watched.passed);
    EXPECT_THAT(watched.output, HasSubstr("YOLK_TEST_VALIDATION=off runs the tests without the layer"));
}

TEST(harness, a_mistyped_variable_fails_the_run) {
    if (in_child()) return;
    const Outcome child = run_again("YOLK_TEST_VALIDATION=no");
    EXPECT_FALSE(child.passed);
    EXPECT_THAT(child.output, HasSubstr("YOLK_TEST_VALIDATION is 'no'; it may be 'on', 'off', or unset"));
}

using fixture = DeviceTest;
YOLK_FOR_EACH_DEVICE(fixture);

TEST_P(fixture, devices_are_shared_and_validated) {
    EXPECT_EQ(&shared_device(device_name()), &shared_device(device_name()));
    EXPECT_EQ(device().info().index, device_index(device_name()));
    EXPECT_NE(device().impl(), discrete_device().impl());
}

}  // namespace
}  // namespace yolk::testing
