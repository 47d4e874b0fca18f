// SPDX-License-Identifier: Apache-2.0
// Waits that give a hung device up (docs/adr/0006-abandon-a-hung-device.md).
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <thread>

#include "device_impl.hpp"
#include "timeline.hpp"
#include "yolk/internal/core/wait_notice.hpp"
#include "yolk/stop.hpp"

namespace yolk {
namespace {

// Between two looks at what moves.
constexpr std::chrono::milliseconds kShortestSlice{1};
constexpr std::chrono::milliseconds kLongestSlice{500};
constexpr std::chrono::seconds kGraceAfterLoss{1};
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

}  // namespace yolk
