// SPDX-License-Identifier: Apache-2.0
#include "copy_team.hpp"

#include <algorithm>
#include <cstring>
#include <system_error>

#include "yolk/internal/core/shape.hpp"

namespace yolk {

CopyTeam::CopyTeam(std::size_t helpers) noexcept {
    for (; count_ < std::min(helpers, kMostHelpers); ++count_) {
        try {
            threads_[count_] = std::thread([this] { help(); });
        } catch (const std::system_error&) {
            return;  // fewer do, too
        }
    }
}

std::size_t CopyTeam::helpers_for(std::size_t processors) noexcept {
    return std::min(kMostHelpers, std::max(processors, std::size_t{1}) - 1);
}

CopyTeam::~CopyTeam() {
    stop_ = true;
    copies_.fetch_add(1, std::memory_order_release);
    copies_.notify_all();
    for (std::size_t i = 0; i < count_; ++i) threads_[i].join();
}

void CopyTeam::copy(std::span<std::byte> to, std::span<const std::byte> from) noexcept {
    if (from.empty()) return;
    if (count_ == 0 || from.size() < kWorthSharing) {
        std::memcpy(to.data(), from.data(), from.size());
        return;
    }
    to_ = to.data();
    from_ = from;
    shares_ = ceil_div(from.size(), kShareBytes);
    done_.store(0, std::memory_order_relaxed);
    unclaimed_.store(shares_, std::memory_order_release);
    copies_.fetch_add(1, std::memory_order_release);
    copies_.notify_all();
    take_shares();
    for (std::size_t done = done_.load(std::memory_order_acquire); done != shares_;
         done = done_.load(std::memory_order_acquire))
        done_.wait(done, std::memory_order_acquire);
}

/// Whoever has claimed a share sees the copy that it is of: that cannot end before the share is done.
void CopyTeam::take_shares() noexcept {
    std::size_t left = unclaimed_.load(std::memory_order_acquire);
    while (left != 0) {
        if (!unclaimed_.compare_exchange_weak(left, left - 1, std::memory_order_acq_rel, std::memory_order_acquire))
            continue;
        const std::size_t begin = (left - 1) * kShareBytes;
        const std::size_t size = std::min(kShareBytes, from_.size() - begin);
        std::memcpy(to_ + begin, from_.data() + begin, size);
        const std::size_t shares = shares_;
        if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == shares) done_.notify_one();
        left = unclaimed_.load(std::memory_order_acquire);
    }
}

void CopyTeam::help() noexcept {
    for (std::uint32_t seen = 0; !stop_; seen = copies_.load(std::memory_order_acquire)) {
        take_shares();
        copies_.wait(seen, std::memory_order_acquire);
    }
}

}  // namespace yolk
