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
#include <string>
#include <thread>

#include "validation_log.hpp"
#include "yolk/testing/device_test.hpp"

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
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST(harness, a_device_that_is_not_there_fails_the_run) {
    if (in_child()) {
        static_cast<void>(device_index("swiftshader"));
        return;
    }
    const Outcome child = run_again("VK_ICD_FILENAMES=/nonexistent.json");
    EXPECT_FALSE(child.passed);
    EXPECT_THAT(child.output, HasSubstr("The device 'swiftshader' is not there; those present are: none"));
}

TEST(harness, a_mistyped_device_set_fails_the_run) {
    const Outcome child = run_again("YOLK_TEST_DEVICES=al");
    EXPECT_FALSE(child.passed);
    EXPECT_THAT(child.output, HasSubstr("YOLK_TEST_DEVICES is 'al'"));
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
