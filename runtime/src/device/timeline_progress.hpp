// SPDX-License-Identifier: Apache-2.0
// Whether anything on a device moves: the sum of its timelines' counters.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

namespace yolk {

struct Timeline;

/// Thread-safe. Timelines add themselves when made and go before their semaphore does.
class TimelineProgress {
   public:
    void add(const Timeline& timeline);
    void remove(const Timeline& timeline) noexcept;
    /// Grows while submissions end; shrinks when a timeline goes. Any change is progress.
    [[nodiscard]] std::uint64_t total() const noexcept;

   private:
    mutable std::mutex mutex_;
    std::vector<const Timeline*> timelines_;
};

}  // namespace yolk
