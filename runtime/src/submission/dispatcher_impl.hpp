// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <volk.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "recorder_impl.hpp"
#include "staging_ring.hpp"
#include "timeline.hpp"
#include "yolk/dispatcher.hpp"

namespace yolk {

/// Semaphores that one submission waits for or signals; more would need the heap.
inline constexpr std::size_t kMaxSemaphores = 16;

struct SemaphoreList {
    std::array<VkSemaphore, kMaxSemaphores> semaphores{};
    std::array<std::uint64_t, kMaxSemaphores> values{};
    std::array<VkPipelineStageFlags, kMaxSemaphores> stages{};  ///< of waits
    std::uint32_t count = 0;

    void add(VkSemaphore semaphore, std::uint64_t value) noexcept {
        semaphores[count] = semaphore;
        values[count] = value;
        stages[count++] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    }
};

struct Dispatcher::Impl {
    /// What a submission was, for errors about it.
    struct Named {
        std::uint64_t serial = 0;
        FixedLabel recorder;
        FixedLabel last_label;
    };
    using Clock = std::chrono::steady_clock;
    /// The recording that was submitted last, for the device's pace.
    struct Timed {
        std::uint64_t first_serial = 1;  ///< of its pieces; the last is last_serial
        std::uint64_t cost = 0;
        bool alone = false;  ///< nothing submitted here before it may have been running, so that its time is its own
        Clock::time_point submitted;
    };

    Device device;
    std::shared_ptr<Timeline> timeline;
    mutable std::mutex mutex;  ///< of the fields below; held over vkQueueSubmit, so that serials are signalled in order
    std::uint64_t last_serial = 0;
    std::array<Named, 64> recent;  ///< by serial modulo its size
    Timed timed;

    std::mutex transfer_mutex;  ///< uploads and downloads take turns
    Transfers transfers;        ///< guarded by it

    explicit Impl(Device of) : device(std::move(of)) {}
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl();

    /// "submission 12 of [recorder], last labelled work [es_update]".
    [[nodiscard]] std::string describe(std::uint64_t serial) const;
    [[nodiscard]] Result<void> wait(std::uint64_t serial, std::chrono::nanoseconds timeout) const;
    /// Gives the work up, and the device with it, where nothing moves for the hang limit.
    [[nodiscard]] Result<void> wait_or_give_up(std::uint64_t serial) const;
    [[nodiscard]] std::uint64_t last() const;
    /// Tells the device's pace of the recording that has ended, where it is the last. `wait_begun`: when the wait that
    /// came to its end began.
    void observe(std::uint64_t serial, Clock::time_point wait_begun) const;
    [[nodiscard]] Result<void> add_submissions(SemaphoreList& waits, std::span<const Submission> wait_for,
                                               const std::string& label) const;
    /// Under the mutex. What was submitted before an error stays submitted, and is waited for.
    [[nodiscard]] Result<void> submit_segments(Recorder::Impl& recording, const SemaphoreList& waits,
                                               const SemaphoreList& signals);
};

}  // namespace yolk
