// SPDX-License-Identifier: Apache-2.0
// A timeline semaphore: what submissions signal and everyone waits on.
#pragma once

#include <volk.h>

#include <chrono>
#include <cstdint>
#include <memory>

#include "yolk/core/result.hpp"
#include "yolk/runtime/device.hpp"

namespace yolk {

/// Shared by the dispatcher that signals it and by the recorders whose work it tells the end of. Thread-safe.
struct Timeline {
    std::shared_ptr<Device::Impl> device;
    VkSemaphore handle = VK_NULL_HANDLE;

    Timeline() = default;
    Timeline(const Timeline&) = delete;
    Timeline& operator=(const Timeline&) = delete;
    ~Timeline();

    [[nodiscard]] static Result<std::shared_ptr<Timeline>> create(const std::shared_ptr<Device::Impl>& device);

    /// VK_SUCCESS once `value` is reached, VK_TIMEOUT, or what the driver says.
    [[nodiscard]] VkResult wait(std::uint64_t value, std::chrono::nanoseconds timeout) const noexcept;
    /// VK_SUCCESS if `value` is reached, VK_NOT_READY, or what the driver says.
    [[nodiscard]] VkResult poll(std::uint64_t value) const noexcept;
};

/// How long a destructor waits for work that still runs, before it gives up, says so and leaks what that work uses.
inline constexpr std::chrono::seconds kDestructorPatience{60};

}  // namespace yolk
