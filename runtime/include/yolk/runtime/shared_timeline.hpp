// SPDX-License-Identifier: Apache-2.0
// A timeline semaphore that the caller has: submissions wait for its values and signal them, the host does, and so does
// another VkDevice or CUDA, where the driver exports it. No Vulkan types.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include "yolk/core/descriptor.hpp"
#include "yolk/core/owned.hpp"
#include "yolk/core/result.hpp"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/dispatcher.hpp"
#include "yolk/runtime/sharing.hpp"

namespace yolk {

/// An exported timeline semaphore, by opaque file descriptor.
struct TimelineHandle {
    Descriptor fd = Descriptor();  ///< the caller's
    HandleOrigin origin{};
};

struct SharedTimelineDesc {
    bool exportable = false;  ///< for export_handle()
    std::string label = "timeline";
};

/// Begins at 0 and only rises: what would set it back, or let two signals race, is refused. That covers this object's
/// own signals, by the host and by submissions that are still to run; another device's, or those of another object that
/// was imported from the same handle, cannot be seen and are the caller's to order. Threading: every member from any
/// thread. Move-only; must outlive the work that waits for it or signals it. Members of one that was moved from are
/// errors (BadInput).
class SharedTimeline {
   public:
    /// Errors: Unsupported where it is to be exportable and the device does not export timelines; Driver.
    [[nodiscard]] static Result<SharedTimeline> create(const Device& device, const SharedTimelineDesc& desc = {});
    /// The semaphore of `handle`, which stays the caller's. Errors: Unsupported; BadInput for a handle of another
    /// device or driver and for a closed descriptor; Driver.
    [[nodiscard]] static Result<SharedTimeline> import(const Device& device, const TimelineHandle& handle,
                                                       const std::string& label = "imported timeline");

    /// A new descriptor at each call. Errors: BadInput where it was not made exportable, Driver.
    [[nodiscard]] Result<TimelineHandle> export_handle() const;
    [[nodiscard]] Result<std::uint64_t> value() const;
    /// Sets it from the host. Errors: BadInput for a value that is not above the present one, not below those that
    /// submissions still have to signal, or further ahead than the device allows (2^31 - 1 at least).
    [[nodiscard]] Result<void> signal(std::uint64_t value) const;
    /// Errors: Driver after `timeout`; waiting again is legal.
    [[nodiscard]] Result<void> wait(std::uint64_t value, std::chrono::nanoseconds timeout) const;

    struct Impl;  // runtime/src/sharing/shared_timeline.cpp
    [[nodiscard]] const Impl* impl() const noexcept { return impl_.get(); }

   private:
    explicit SharedTimeline(Owned<Impl> impl) noexcept : impl_(std::move(impl)) {}
    Owned<Impl> impl_;
};

struct TimelinePoint {
    const SharedTimeline* timeline = nullptr;
    std::uint64_t value = 0;
};

/// For submit(). At most 16 waits (Submissions waited for included) and 15 signals.
struct TimelinePoints {
    std::span<const TimelinePoint> wait_before = {};
    std::span<const TimelinePoint> signal_after = {};
};

/// Dispatcher::submit, which waits for points of timelines and signals others. A point that nobody signals stops the
/// queue; the hang limit ends that. Errors: BadInput for a timeline of another device, one that is signalled twice, and
/// a signal that is not above the present value and above all that submissions so far, this one included, wait for or
/// signal; those of Dispatcher::submit.
[[nodiscard]] Result<Submission> submit(Dispatcher& dispatcher, Recorder& recorder, const TimelinePoints& points,
                                        std::span<const Submission> wait_for = {});

}  // namespace yolk
