// SPDX-License-Identifier: Apache-2.0
// A timeline semaphore: what submissions signal and everyone waits on.
#pragma once

#include <volk.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "device_health.hpp"
#include "yolk/device.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// Shared by the dispatcher that signals it and by the recorders whose work it tells the end of. Thread-safe.
struct Timeline {
    std::shared_ptr<Device::Impl> device;
    VkSemaphore handle = VK_NULL_HANDLE;
    std::chrono::nanoseconds hang_limit{};  ///< how long the device may make no progress

    Timeline() = default;
    Timeline(const Timeline&) = delete;
    Timeline& operator=(const Timeline&) = delete;
    ~Timeline();

    /// `hang_limit`: the default is the device's.
    [[nodiscard]] static Result<std::shared_ptr<Timeline>> create(const std::shared_ptr<Device::Impl>& device,
                                                                  std::chrono::nanoseconds hang_limit = kHangLimit);

    /// VK_SUCCESS once `value` is reached, VK_TIMEOUT, or what the driver says.
    [[nodiscard]] VkResult wait(std::uint64_t value, std::chrono::nanoseconds timeout) const noexcept;
    /// Whether `value` was seen to be reached; does not ask the driver.
    [[nodiscard]] bool known(std::uint64_t value) const noexcept { return reached_.load() >= value; }
    /// VK_SUCCESS if `value` is reached, VK_NOT_READY, or what the driver says.
    [[nodiscard]] VkResult poll(std::uint64_t value) const noexcept;

    enum class OnError {
        Return,  ///< at once; the work goes on
        Retry,   ///< the value must be known to be reached: whatever the driver objects to may pass
    };
    /// VK_SUCCESS once `value` is reached; VK_TIMEOUT when no timeline of the device has moved for hang_limit (another
    /// one's work may be what this one waits behind), not counting time in which the process was stopped, or for two
    /// seconds once it was asked to end; or what the driver says. Where it takes long it is told, `describe` naming the
    /// work.
    using Describe = std::function<std::string()>;
    [[nodiscard]] VkResult wait_while_it_moves(std::uint64_t value, OnError on_error,
                                               const Describe& describe = {}) const noexcept;
    /// After VK_TIMEOUT, and what the limit is now.
    [[nodiscard]] GivenUp given_up() const noexcept;
    /// For whoever is about to destroy what the work uses. False where it may still run: the device must then be marked
    /// hung. A lost device's work counts as finished, but it is given a second to be so.
    [[nodiscard]] bool settle(std::uint64_t value) const noexcept;
    /// Of the values up to `value`, the first that is not known to be reached; `value` where all are.
    [[nodiscard]] std::uint64_t first_unfinished(std::uint64_t value) const noexcept;

   private:
    void note(std::uint64_t reached) const noexcept;
    mutable std::atomic<std::uint64_t> reached_{0};  ///< known to be: not asked for again
};

}  // namespace yolk
