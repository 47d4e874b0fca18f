// SPDX-License-Identifier: Apache-2.0
#include "timeline.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "device_impl.hpp"
#include "vk_result.hpp"

namespace yolk {
namespace {

/// Looks at the counter for so long before the thread sleeps. On an H200 in a virtual machine (driver 580.159) a thread
/// that slept saw the end of an empty submission after 36 us instead of 10, and that of 1.7 ms of work .3 ms late. On a
/// CPU driver a thread that looks takes a core from the work.
constexpr std::chrono::milliseconds kLooks{1};

}  // namespace

Result<std::shared_ptr<Timeline>> Timeline::create(const std::shared_ptr<Device::Impl>& device,
                                                   std::chrono::nanoseconds hang_limit) {
    auto timeline = std::make_shared<Timeline>();
    timeline->device = device;
    timeline->hang_limit = hang_limit == kHangLimit ? device->hang_limit : hang_limit;
    const VkSemaphoreTypeCreateInfo type{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                         .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
                                         .initialValue = 0};
    const VkSemaphoreCreateInfo info{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    const DeviceContext& context = device->context;
    const VkResult result = context.vk.vkCreateSemaphore(context.handle, &info, nullptr, &timeline->handle);
    if (result != VK_SUCCESS)
        return vk_error(result, fmt::format("create a timeline semaphore of device '{}'", context.info.name));
    device->progress.add(*timeline);
    return timeline;
}

Timeline::~Timeline() {
    if (handle == VK_NULL_HANDLE) return;
    device->progress.remove(*this);
    if (device->context.abandon(1)) return;
    device->context.vk.vkDestroySemaphore(device->context.handle, handle, nullptr);
}

VkResult Timeline::wait(std::uint64_t value, std::chrono::nanoseconds timeout) const noexcept {
    if (device->context.info.kind != DeviceKind::Cpu) {
        const auto end = std::chrono::steady_clock::now() + std::min<std::chrono::nanoseconds>(timeout, kLooks);
        do {
            if (const VkResult seen = poll(value); seen != VK_NOT_READY) return seen;
        } while (std::chrono::steady_clock::now() < end);
    }
    const VkSemaphoreWaitInfo info{
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, .semaphoreCount = 1, .pSemaphores = &handle, .pValues = &value};
    const auto nanoseconds = static_cast<std::uint64_t>(std::max<std::int64_t>(timeout.count(), 0));
    const VkResult result = device->context.vk.vkWaitSemaphores(device->context.handle, &info, nanoseconds);
    if (result == VK_SUCCESS) note(value);
    return result;
}

void Timeline::note(std::uint64_t reached) const noexcept {
    std::uint64_t known = reached_.load();
    while (known < reached && !reached_.compare_exchange_weak(known, reached)) {}
}

VkResult Timeline::poll(std::uint64_t value) const noexcept {
    if (reached_.load() >= value) return VK_SUCCESS;
    std::uint64_t reached = 0;
    const VkResult result = device->context.vk.vkGetSemaphoreCounterValue(device->context.handle, handle, &reached);
    if (result != VK_SUCCESS) return result;
    note(reached);
    return reached >= value ? VK_SUCCESS : VK_NOT_READY;
}

std::uint64_t Timeline::first_unfinished(std::uint64_t value) const noexcept {
    static_cast<void>(poll(value));  // notes what is reached; where it fails, what was known stays
    return std::min(reached_.load() + 1, value);
}

void TimelineProgress::add(const Timeline& timeline) {
    const std::lock_guard lock(mutex_);
    timelines_.push_back(&timeline);
}

void TimelineProgress::remove(const Timeline& timeline) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase(timelines_, &timeline);
}

std::uint64_t TimelineProgress::total() const noexcept {
    const std::lock_guard lock(mutex_);
    std::uint64_t total = 0;
    for (const Timeline* timeline : timelines_) {
        std::uint64_t reached = 0;
        const DeviceContext& context = timeline->device->context;
        // A counter that cannot be read does not move.
        if (context.vk.vkGetSemaphoreCounterValue(context.handle, timeline->handle, &reached) == VK_SUCCESS)
            total += reached;
    }
    return total;
}

}  // namespace yolk
