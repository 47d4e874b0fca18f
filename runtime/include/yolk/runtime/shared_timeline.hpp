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

/// Begins at 0 and only rises. Threading: every member from any thread. Move-only; must outlive the work that waits for
/// it or signals it.
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
    /// Sets it from the host. Errors: BadInput for a value that is not above the present one.
    [[nodiscard]] Result<void> signal(std::uint64_t value) const;
    /// Errors: Driver after `timeout`; waiting again is legal.
    [[nodiscard]] Result<void> wait(std::uint64_t value, std::chrono::nanoseconds timeout) const;

    struct Impl;  // runtime/src/shared_timeline.cpp
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
/// queue; the hang limit ends that. Errors: BadInput for a timeline of another device, and those of Dispatcher::submit.
[[nodiscard]] Result<Submission> submit(Dispatcher& dispatcher, Recorder& recorder, const TimelinePoints& points,
                                        std::span<const Submission> wait_for = {});

}  // namespace yolk
