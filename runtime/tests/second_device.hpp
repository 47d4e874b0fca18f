// SPDX-License-Identifier: Apache-2.0
// For tests that share between devices: another VkDevice of the same driver, and a count of open descriptors.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>

#include "yolk/internal/core/check.hpp"
#include "yolk/internal/runtime/sharing.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {

/// Descriptors that this process has open, the one that lists them included.
[[nodiscard]] inline std::ptrdiff_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
}

struct SecondDevice {
    explicit SecondDevice(const std::string& name, MemoryPolicy policy = MemoryPolicy::Automatic)
        : device(
              *Device::create(yolk::testing::instance(), yolk::testing::device_index(name), {.memory_policy = policy})),
          dispatcher(*Dispatcher::create(device)) {}

    Device device;
    Dispatcher dispatcher;
};

}  // namespace yolk
