// SPDX-License-Identifier: Apache-2.0
#include "yolk/shared_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "descriptor_check.hpp"
#include "device_impl.hpp"
#include "dispatcher_impl.hpp"
#include "vk_result.hpp"
#include "yolk/vulkan.hpp"

namespace yolk {

struct SharedTimeline::Impl {
    std::shared_ptr<Device::Impl> device;
    VkSemaphore handle = VK_NULL_HANDLE;
    bool exportable = false;
    std::string label;

    Impl() = default;
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl() {
        if (handle == VK_NULL_HANDLE || device->context.abandon(1)) return;
        device->context.vk.vkDestroySemaphore(device->context.handle, handle, nullptr);
    }

    [[nodiscard]] const DeviceContext& context() const noexcept { return device->context; }
    [[nodiscard]] std::string to_do(const char* action) const {
        return fmt::format("{} the timeline semaphore [{}] of device '{}'", action, label, context().info.name);
    }
    /// An error where the device is not good, or the driver's.
    [[nodiscard]] Result<void> check(VkResult result, const char* action) const {
        if (result == VK_SUCCESS) return {};
        return context().error(result, to_do(action), to_do(action));
    }
    [[nodiscard]] Result<void> check_good(const char* action) const {
        if (context().health.good()) return {};
        return context().failed(to_do(action));
    }
    [[nodiscard]] Result<std::uint64_t> value() const {
        YOLK_TRY_VOID(check_good("read"));
        std::uint64_t value = 0;
        YOLK_TRY_VOID(check(context().vk.vkGetSemaphoreCounterValue(context().handle, handle, &value), "read"));
        return value;
    }
    /// `now` is its value. `action` is "signal" or "wait for".
    [[nodiscard]] Result<void> check_distance(const char* action, std::uint64_t to, std::uint64_t now) const {
        const std::uint64_t limit = context().max_timeline_difference;
        if (std::max(to, now) - std::min(to, now) <= limit) return {};
        return bad_input(
            "Cannot {} {} of the timeline semaphore [{}]: its value is {}, and device '{}' allows a difference of {}.",
            action, to, label, now, context().info.name, limit);
    }
    [[nodiscard]] Result<void> check_rises(std::uint64_t to, std::uint64_t now) const {
        if (to <= now) return cannot_signal(to, fmt::format("its value is {}", now));
        return check_distance("signal", to, now);
    }
    [[nodiscard]] Error cannot_signal(std::uint64_t to, const std::string& reason) const {
        return bad_input("Cannot signal {} of the timeline semaphore [{}]: {}, and values only rise.", to, label,
                         reason);
    }

    /// The caller holds the device's timelines_mutex.
    void forget_reached(std::uint64_t now) const {
        pending.erase(pending.begin(), std::upper_bound(pending.begin(), pending.end(), now));
    }

    /// Values that submissions have promised to signal and that were not seen to be reached, from the lowest; keeps its
    /// memory, so that submitting in the steady state takes none. Guarded by the device's timelines_mutex.
    mutable std::vector<std::uint64_t> pending;
    /// The highest that submissions wait for or signal: the queue's next signal comes after it. Guarded likewise.
    mutable std::uint64_t highest = 0;
};

namespace {

std::string named_timeline(const std::string& label) { return fmt::format("the timeline semaphore [{}]", label); }

Error moved_from(const char* action) {
    return bad_input("Cannot {} a timeline semaphore: the timeline was moved from.", action);
}

Result<std::unique_ptr<SharedTimeline::Impl>> make_semaphore(const Device& device, const SharedTimelineDesc& desc) {
    auto impl = std::make_unique<SharedTimeline::Impl>();
    impl->device = device.impl();
    impl->exportable = desc.exportable;
    impl->label = desc.label;
    YOLK_TRY_VOID(impl->check_good("create"));
    const VkExportSemaphoreCreateInfo exported{.sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
                                               .handleTypes = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkSemaphoreTypeCreateInfo type{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                         .pNext = desc.exportable ? &exported : nullptr,
                                         .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
                                         .initialValue = 0};
    const VkSemaphoreCreateInfo info{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    const DeviceContext& context = impl->context();
    YOLK_TRY_VOID(impl->check(context.vk.vkCreateSemaphore(context.handle, &info, nullptr, &impl->handle), "create"));
    context.name(VK_OBJECT_TYPE_SEMAPHORE, impl->handle, desc.label);
    return impl;
}

/// At most kMaxSemaphores, without the heap.
struct Translated {
    std::array<SemaphoreValue, kMaxSemaphores> values{};
    std::array<const SharedTimeline::Impl*, kMaxSemaphores> timelines{};
    std::size_t count = 0;

    /// `action` is "wait for" or "signal".
    [[nodiscard]] Result<void> add_all(std::span<const TimelinePoint> points, const Device& device, const char* action,
                                       std::size_t most) {
        for (const TimelinePoint& point : points) {
            const SharedTimeline::Impl* impl = point.timeline == nullptr ? nullptr : point.timeline->impl();
            if (impl == nullptr) return bad_input("Cannot submit: a point of a timeline has no timeline.");
            if (impl->device != device.impl()) {
                return bad_input("Cannot submit: {} is of another device. Import it.", named_timeline(impl->label));
            }
            if (count == most) {
                return bad_input("Cannot submit: {} points of timelines to {} were given; {} are allowed.",
                                 points.size(), action, most);
            }
            timelines[count] = impl;
            values[count++] = {.semaphore = impl->handle, .value = point.value};
        }
        return {};
    }
    [[nodiscard]] std::span<const SemaphoreValue> list() const { return {values.data(), count}; }
    [[nodiscard]] std::span<const SharedTimeline::Impl* const> used() const { return {timelines.data(), count}; }
    /// The highest value of this timeline; 0 where it is not there.
    [[nodiscard]] std::uint64_t highest_of(const SharedTimeline::Impl* timeline) const {
        std::uint64_t highest = 0;
        for (std::size_t i = 0; i < count; ++i) {
            if (timelines[i] == timeline) highest = std::max(highest, values[i].value);
        }
        return highest;
    }
};

/// Whether a submission may wait and signal so, after those that were made. The caller holds timelines_mutex.
Result<void> check_order(const Translated& waits, const Translated& signals) {
    for (std::size_t i = 0; i < waits.count; ++i) {
        YOLK_TRY(const std::uint64_t now, waits.timelines[i]->value());
        YOLK_TRY_VOID(waits.timelines[i]->check_distance("wait for", waits.values[i].value, now));
    }
    for (std::size_t i = 0; i < signals.count; ++i) {
        const SharedTimeline::Impl& timeline = *signals.timelines[i];
        const std::uint64_t value = signals.values[i].value;
        if (std::ranges::count(signals.used(), &timeline) > 1) {  // they have no order among themselves
            return bad_input("Cannot submit: {} would be signalled twice. Give its last value.",
                             named_timeline(timeline.label));
        }
        YOLK_TRY(const std::uint64_t now, timeline.value());
        YOLK_TRY_VOID(timeline.check_rises(value, now));
        timeline.forget_reached(now);
        if (const std::uint64_t before = std::max(timeline.highest, waits.highest_of(&timeline)); value <= before)
            return timeline.cannot_signal(value, fmt::format("a submission waits for or signals {}", before));
    }
    return {};
}

/// The caller holds timelines_mutex.
void note_order(const Translated& waits, const Translated& signals) {
    for (const Translated* points : {&waits, &signals}) {
        for (std::size_t i = 0; i < points->count; ++i) {
            std::uint64_t& highest = points->timelines[i]->highest;
            highest = std::max(highest, points->values[i].value);
        }
    }
    for (std::size_t i = 0; i < signals.count; ++i) signals.timelines[i]->pending.push_back(signals.values[i].value);
}

}  // namespace

Result<SharedTimeline> SharedTimeline::create(const Device& device, const SharedTimelineDesc& desc) {
    if (desc.exportable) YOLK_TRY_VOID(check_timeline_export(device.info(), named_timeline(desc.label)));
    YOLK_TRY(auto impl, make_semaphore(device, desc));
    return SharedTimeline(std::move(impl));
}

Result<SharedTimeline> SharedTimeline::import(const Device& device, const TimelineHandle& handle,
                                              const std::string& label) {
    const std::string what = named_timeline(label);
    YOLK_TRY_VOID(check_timeline_import(device.info(), what));
    YOLK_TRY_VOID(check_origin(device.info(), handle.origin, what));
    YOLK_TRY_VOID(check_open(handle.fd.get(), what));
    YOLK_TRY(auto impl, make_semaphore(device, {.label = label}));
    const std::unique_lock handing_over = hand_over();
    YOLK_TRY(Descriptor fd, duplicate(handle.fd.get(), what));
    const VkImportSemaphoreFdInfoKHR info{.sType = VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR,
                                          .semaphore = impl->handle,
                                          .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT,
                                          .fd = fd.get()};
    const DeviceContext& context = impl->context();
    const VkResult result = context.vk.vkImportSemaphoreFdKHR(context.handle, &info);
    if (result != VK_SUCCESS) {
        close_refused(std::move(fd), handle.fd.get());
        return impl->check(result, "import").error();
    }
    leave_to_driver(std::move(fd));
    return SharedTimeline(std::move(impl));
}

Result<TimelineHandle> SharedTimeline::export_handle() const {
    if (impl_ == nullptr) return moved_from("export");
    YOLK_TRY_VOID(impl_->check_good("export"));
    if (!impl_->exportable) {
        return bad_input("Cannot export {}: it was not made exportable.", named_timeline(impl_->label));
    }
    const DeviceContext& context = impl_->context();
    const VkSemaphoreGetFdInfoKHR info{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
                                       .semaphore = impl_->handle,
                                       .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    int fd = -1;
    YOLK_TRY_VOID(impl_->check(context.vk.vkGetSemaphoreFdKHR(context.handle, &info, &fd), "export"));
    return TimelineHandle{.fd = Descriptor(fd),
                          .origin = {.device_uuid = context.info.uuid, .driver_uuid = context.info.driver_uuid}};
}

Result<std::uint64_t> SharedTimeline::value() const {
    if (impl_ == nullptr) return moved_from("read");
    return impl_->value();
}

Result<void> SharedTimeline::signal(std::uint64_t value) const {
    if (impl_ == nullptr) return moved_from("signal");
    const std::lock_guard lock(impl_->device->timelines_mutex);
    YOLK_TRY(const std::uint64_t now, impl_->value());
    YOLK_TRY_VOID(impl_->check_rises(value, now));
    impl_->forget_reached(now);
    if (!impl_->pending.empty() && value >= impl_->pending.front()) {
        return impl_->cannot_signal(value, fmt::format("a submission still has to signal {}", impl_->pending.front()));
    }
    const DeviceContext& context = impl_->context();
    const VkSemaphoreSignalInfo info{
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = impl_->handle, .value = value};
    return impl_->check(context.vk.vkSignalSemaphore(context.handle, &info), "signal");
}

Result<void> SharedTimeline::wait(std::uint64_t value, std::chrono::nanoseconds timeout) const {
    if (impl_ == nullptr) return moved_from("wait for");
    YOLK_TRY_VOID(impl_->check_good("wait for"));
    const DeviceContext& context = impl_->context();
    const VkSemaphoreWaitInfo info{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                   .semaphoreCount = 1,
                                   .pSemaphores = &impl_->handle,
                                   .pValues = &value};
    const auto nanoseconds = static_cast<std::uint64_t>(std::max<std::int64_t>(timeout.count(), 0));
    const VkResult result = context.vk.vkWaitSemaphores(context.handle, &info, nanoseconds);
    if (result != VK_TIMEOUT) return impl_->check(result, "wait for");
    return Error{ErrorKind::Driver,
                 fmt::format("After {} ms, {} has not reached {}. Wait again, or look for who should signal it.",
                             std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count(),
                             named_timeline(impl_->label), value),
                 result};
}

Result<Submission> submit(Dispatcher& dispatcher, Recorder& recorder, const TimelinePoints& points,
                          std::span<const Submission> wait_for) {
    Translated waits;
    Translated signals;
    const Device& device = dispatcher.device();
    YOLK_TRY_VOID(waits.add_all(points.wait_before, device, "wait for", kMaxSemaphores));
    YOLK_TRY_VOID(signals.add_all(points.signal_after, device, "signal", kMaxSemaphores - 1));
    // Over vkQueueSubmit, so that values reach the queue in the order in which they were checked.
    const std::lock_guard lock(device.impl()->timelines_mutex);
    YOLK_TRY_VOID(check_order(waits, signals));
    Result<Submission> made =
        dispatcher.submit(recorder, wait_for, {.wait_before = waits.list(), .signal_after = signals.list()});
    if (made) note_order(waits, signals);
    return made;
}

}  // namespace yolk
