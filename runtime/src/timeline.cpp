// SPDX-License-Identifier: Apache-2.0
#include "timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <thread>

#include "device_impl.hpp"
#include "vk_result.hpp"
#include "yolk/core/stop.hpp"
#include "yolk/core/wait_notice.hpp"

namespace yolk {
namespace {

// Between two looks at what moves.
constexpr std::chrono::milliseconds kShortestSlice{1};
constexpr std::chrono::milliseconds kLongestSlice{500};
constexpr std::chrono::seconds kGraceAfterLoss{1};
/// Looks at the counter for so long before the thread sleeps. On an H200 in a virtual machine (driver 580.159) a thread
/// that slept saw the end of an empty submission after 36 us instead of 10, and that of 1.7 ms of work .3 ms late. On a
/// CPU driver a thread that looks takes a core from the work.
constexpr std::chrono::milliseconds kLooks{1};
/// Healthy devices move many times in it, since long work is cut.
constexpr std::chrono::seconds kLimitOnceAskedToEnd{2};

/// Tells of a device that does not move, one thread for all.
class StillNotice {
   public:
    StillNotice(Device::Impl& device, const Timeline::Describe& describe, std::chrono::nanoseconds limit)
        : device_(device), notice_([&device, &describe] { return text(device, describe); }, limit) {}
    StillNotice(const StillNotice&) = delete;
    StillNotice& operator=(const StillNotice&) = delete;
    ~StillNotice() {
        const void* own = this;
        device_.wait_teller.compare_exchange_strong(own, nullptr);
    }
    void look(std::chrono::nanoseconds still) noexcept {
        if (still < WaitNotice::kFirst) return;
        const void* teller = nullptr;
        if (!device_.wait_teller.compare_exchange_strong(teller, this) && teller != this) return;
        try {
            notice_.look(still);
        } catch (const std::exception&) {  // a notice is not worth a wait
        }
    }

   private:
    static std::string text(const Device::Impl& device, const Timeline::Describe& describe) {
        return fmt::format("device '{}', which makes no progress{}{},", device.context.info.name,
                           describe ? " at " : "", describe ? describe() : std::string());
    }
    Device::Impl& device_;
    WaitNotice notice_;
};

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

GivenUp Timeline::given_up() const noexcept {
    const bool asked = stop_requested() && kLimitOnceAskedToEnd < hang_limit;
    return {.after = asked ? kLimitOnceAskedToEnd : hang_limit, .was_asked_to_end = asked};
}

VkResult Timeline::wait_while_it_moves(std::uint64_t value, OnError on_error, const Describe& describe) const noexcept {
    using Clock = std::chrono::steady_clock;
    const auto slice = std::clamp<std::chrono::nanoseconds>(hang_limit / 8, kShortestSlice, kLongestSlice);
    Clock::time_point looked = Clock::now();
    std::chrono::nanoseconds still{0};      // for how long nothing has moved
    std::optional<std::uint64_t> progress;  // not asked for while work is short
    std::optional<StillNotice> notice;
    for (;;) {
        const VkResult result = wait(value, slice);
        if (result == VK_SUCCESS || result == VK_ERROR_DEVICE_LOST) return result;
        if (result != VK_TIMEOUT) {
            if (on_error == OnError::Return) return result;
            std::this_thread::sleep_for(kShortestSlice);
        }
        if (!device->context.health.good()) return VK_ERROR_DEVICE_LOST;  // another thread found out
        // Much more than a slice went by where the process was stopped (Ctrl-Z, a debugger, a machine that slept): a
        // CPU driver stood still with it, and a GPU's progress was not looked at.
        const Clock::time_point now = Clock::now();
        still += std::min<std::chrono::nanoseconds>(now - looked, 2 * slice);
        looked = now;
        const std::uint64_t progress_now = device->progress.total();
        if (progress_now != progress) {
            if (progress.has_value()) still = std::chrono::nanoseconds(0);
            progress = progress_now;
        }
        if (still >= given_up().after) return VK_TIMEOUT;
        if (!notice) notice.emplace(*device, describe, hang_limit);
        notice->look(still);
    }
}

bool Timeline::settle(std::uint64_t value) const noexcept {
    if (reached_.load() >= value) return true;
    const DeviceHealth& health = device->context.health;
    if (health.good()) {
        const VkResult result = wait_while_it_moves(value, OnError::Retry);
        if (result == VK_SUCCESS) return true;
        if (result == VK_TIMEOUT) return false;
    }
    if (health.hung()) return true;  // nothing will be destroyed
    // Vulkan promises that this returns soon. What matters is that it does not say VK_TIMEOUT.
    return wait(value, kGraceAfterLoss) != VK_TIMEOUT;
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
