// SPDX-License-Identifier: Apache-2.0
// Buffers whose memory another VkDevice, another process or CUDA uses as well. No Vulkan types; descriptors are
// Linux's. What a device can do is DeviceInfo::sharing; whatever it cannot is an error of kind Unsupported that says
// what it can do instead (docs/adr/0023-sharing-with-cuda.md).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "yolk/device.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/internal/core/descriptor.hpp"
#include "yolk/internal/core/owned.hpp"
#include "yolk/internal/runtime/buffer.hpp"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/internal/runtime/sharing.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// The memory of an exported buffer. Another process gets the descriptor by a socket (SCM_RIGHTS) and the rest as plain
/// data. For a dma-buf of another driver, fill in buffer_bytes and allocation_bytes; the rest is not looked at.
struct MemoryHandle {
    Descriptor fd = Descriptor();  ///< the caller's; keeps the memory alive, even without the buffer
    HandleType type = HandleType::OpaqueFd;
    std::uint64_t buffer_bytes = 0;      ///< of the buffer
    std::uint64_t allocation_bytes = 0;  ///< of the memory, at whose beginning the buffer lies
    std::uint32_t memory_type = 0;       ///< index of DeviceInfo::memory_types
    HandleOrigin origin{};
};

/// A buffer like any other, with memory of its own that export_memory gives out. Errors: those of
/// Device::create_buffer; Unsupported where the device does not export handles of `type`.
[[nodiscard]] Result<Buffer> create_exportable_buffer(const Device& device, const BufferDesc& desc,
                                                      HandleType type = HandleType::OpaqueFd);

/// A new descriptor of the memory at each call. Errors: BadInput for a buffer of another kind, Driver.
[[nodiscard]] Result<MemoryHandle> export_memory(const Buffer& buffer);

/// A buffer over the memory of `handle`, which stays the caller's: the driver gets a duplicate of the descriptor. Both
/// sides see the same bytes. Order their work by semaphores or waits. It is mapped like any buffer of domain Device.
/// Errors: Unsupported where the device does not import the type; BadInput for a handle of another device or driver,
/// sizes that do not belong together or exceed the memory, and a descriptor that is closed or no memory.
[[nodiscard]] Result<Buffer> import_memory(const Device& device, const MemoryHandle& handle,
                                           const std::string& label = "imported buffer");

/// A buffer over `bytes` of the caller's, which he keeps until the buffer is destroyed; mapped() is the same memory.
/// Begin and size are multiples of SharingSupport::host_pointer_alignment. Errors: Unsupported, BadInput, Driver.
[[nodiscard]] Result<Buffer> import_host_pointer(const Device& device, std::span<std::byte> bytes,
                                                 const std::string& label = "host memory");

/// Vulkan gives a shared buffer to one side at a time. At the end of the recording that used it: what others do after
/// that recording sees it. They tell by a semaphore or by waiting; the contents stay.
void release_shared(Recorder& recorder, const BufferView& view) noexcept;
/// At the beginning of the next recording that uses it.
void acquire_shared(Recorder& recorder, const BufferView& view) noexcept;

// A timeline semaphore that the caller has: submissions wait for its values and signal them, the host does, and so does
// another VkDevice or CUDA, where the driver exports it. No Vulkan types.

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
