// SPDX-License-Identifier: Apache-2.0
// A timeline semaphore: what submissions signal and everyone waits on.
#pragma once

#include <volk.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "yolk/core/result.hpp"
#include "yolk/runtime/device.hpp"

namespace yolk {

/// DispatcherOptions::hang_limit where nothing else is said.
inline constexpr std::chrono::seconds kHangLimit{120};

/// Shared by the dispatcher that signals it and by the recorders whose work it tells the end of. Thread-safe.
struct Timeline {
    std::shared_ptr<Device::Impl> device;
    VkSemaphore handle = VK_NULL_HANDLE;
    std::chrono::nanoseconds hang_limit{};  ///< how long the device may make no progress

    Timeline() = default;
    Timeline(const Timeline&) = delete;
    Timeline& operator=(const Timeline&) = delete;
    ~Timeline();

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
    /// one's work may be what this one waits behind), not counting time in which the process was stopped; or what the
    /// driver says.
    [[nodiscard]] VkResult wait_while_it_moves(std::uint64_t value, OnError on_error) const noexcept;
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
