// SPDX-License-Identifier: Apache-2.0
// Tests on real drivers. A test executable that links yolk::testing gets its main(): the drivers are selected, a
// watchdog runs, and EVERY test (fixture or not) fails on any validation warning or error that arises while it runs.
//
//     using noise = yolk::testing::DeviceTest;      // the suite's name is the topic
//     YOLK_FOR_EACH_DEVICE(noise);                  // ctest shows primitives.noise.matches_twin/lavapipe and
//     .../swiftshader TEST_P(noise, matches_twin) {
//         ASSERT_OK_AND_ASSIGN(Buffer out, device().create_buffer({.size_bytes = 256, .label = "out"}));
//         ASSERT_OK(dispatcher().download(out, bytes));
//     }
//
// Inside namespace yolk, gtest's own namespace must be written ::testing.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/device.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/internal/runtime/instance.hpp"
#include "yolk/result.hpp"

namespace yolk::testing {

/// Names of the devices that tests run on: "lavapipe" and "swiftshader", or those of the drivers in $YOLK_TEST_DRIVERS
/// (testing/README.md), never none. Only letters, digits and '_', as gtest wants them in test names.
[[nodiscard]] std::vector<std::string> devices();

/// Whether the validation layer watches: unless $YOLK_TEST_VALIDATION is "off".
[[nodiscard]] bool validation_is_on();

/// The process's one instance, with validation where it is on. Made on first use; a failure ends the process with the
/// reason.
[[nodiscard]] const Instance& instance();

/// Position of a device of devices() in instance().devices(). A device that is not there ends the process with a list
/// of those that are.
[[nodiscard]] std::uint32_t device_index(const std::string& name);

/// Where specialized kernels are kept between processes ($YOLK_TEST_KERNELS); empty: nowhere.
[[nodiscard]] std::filesystem::path kernels_folder();

/// The process's one device of that name and policy, probed, with its dispatcher; made on first use, destroyed (under
/// validation) after the last test.
struct SharedDevice {
    Device device;
    Dispatcher dispatcher;
};
[[nodiscard]] SharedDevice& shared_device(const std::string& name, MemoryPolicy policy = MemoryPolicy::Automatic);

/// For tests that run once and need a device, or two: the first of devices(), and the second or, where there is only
/// one, a second VkDevice of that one.
[[nodiscard]] const std::string& first_device_name();
[[nodiscard]] const std::string& other_device_name();
[[nodiscard]] SharedDevice& first_device();
[[nodiscard]] SharedDevice& other_device();
/// The first that is not of that name or, where there is none, a second VkDevice of that one.
[[nodiscard]] SharedDevice& device_beside(const std::string& name);

/// Messages since the running test began (or since the last call), those of the allow-list left out; they are forgotten
/// and no longer fail the test. For tests that provoke the layer on purpose.
[[nodiscard]] std::vector<ValidationMessage> take_validation_messages();

/// A test that runs once per device. SharedDevices are shared between tests: leave nothing running.
class DeviceTest : public ::testing::TestWithParam<std::string> {
   protected:
    [[nodiscard]] const std::string& device_name() const { return GetParam(); }
    [[nodiscard]] const Device& device() const { return shared_device(GetParam()).device; }
    [[nodiscard]] Dispatcher& dispatcher() const { return shared_device(GetParam()).dispatcher; }
    /// The same device with the paths of discrete memory forced: staging, explicit flushes.
    [[nodiscard]] const Device& discrete_device() const {
        return shared_device(GetParam(), MemoryPolicy::ForceDiscrete).device;
    }
    [[nodiscard]] Dispatcher& discrete_dispatcher() const {
        return shared_device(GetParam(), MemoryPolicy::ForceDiscrete).dispatcher;
    }
};

/// The part of a test's name after the slash.
[[nodiscard]] inline std::string device_suffix(const ::testing::TestParamInfo<std::string>& device) {
    return device.param;
}

/// For EXPECT_TRUE: passes where the result has a value, else shows the error's kind and message.
template <class T>
[[nodiscard]] ::testing::AssertionResult expect_ok(const Result<T>& result) {
    if (result.has_value()) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << to_string(result.error().kind) << ": " << result.error().message;
}

/// For EXPECT_TRUE: passes where the result is an error of that kind whose message contains `part`.
template <class T>
[[nodiscard]] ::testing::AssertionResult expect_error(const Result<T>& result, ErrorKind kind, std::string_view part) {
    if (result.has_value())
        return ::testing::AssertionFailure() << "a value where an error was expected (" << to_string(kind) << ")";
    const Error& error = result.error();
    if (error.kind == kind && error.message.find(part) != std::string::npos) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "expected " << to_string(kind) << " with '" << part << "', got "
                                         << to_string(error.kind) << ": " << error.message;
}

}  // namespace yolk::testing

/// Instantiates a DeviceTest suite for every device.
#define YOLK_FOR_EACH_DEVICE(suite) \
    INSTANTIATE_TEST_SUITE_P(, suite, ::testing::ValuesIn(::yolk::testing::devices()), ::yolk::testing::device_suffix)

#define EXPECT_OK(...) EXPECT_TRUE(::yolk::testing::expect_ok(__VA_ARGS__))
#define ASSERT_OK(...) ASSERT_TRUE(::yolk::testing::expect_ok(__VA_ARGS__))

#define YOLK_ASSERT_OK_AND_ASSIGN_IMPL(holder, declaration, ...) \
    auto holder = (__VA_ARGS__);                                 \
    ASSERT_TRUE(::yolk::testing::expect_ok(holder));             \
    declaration = *std::move(holder)
/// `ASSERT_OK_AND_ASSIGN(auto plan, plan_noise(device(), desc));` binds the value, or fails the test with the error.
#define ASSERT_OK_AND_ASSIGN(declaration, ...) \
    YOLK_ASSERT_OK_AND_ASSIGN_IMPL(YOLK_CONCAT(yolk_result_, __LINE__), declaration, __VA_ARGS__)
