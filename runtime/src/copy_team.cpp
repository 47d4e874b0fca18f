// SPDX-License-Identifier: Apache-2.0
#include "copy_team.hpp"

#include <algorithm>
#include <cstring>
#include <system_error>

namespace yolk {

CopyTeam::CopyTeam(std::size_t helpers) noexcept {
    for (; count_ < std::min(helpers, kMostHelpers); ++count_) {
        try {
            threads_[count_] = std::thread([this, index = count_] { help(index); });
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
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
    for (std::size_t i = 0; i < count_; ++i) threads_[i].join();
}

void CopyTeam::copy(std::span<std::byte> to, std::span<const std::byte> from) noexcept {
    if (from.empty()) return;
    const std::size_t sharing = from.size() < kWorthSharing ? 1 : count_ + 1;
    const std::size_t each = (from.size() / sharing + 63) / 64 * 64;  // whole lines of a cache
    std::size_t begin = 0;
    if (sharing > 1) {
        for (std::size_t i = 0; i < count_; ++i, begin += each)
            shares_[i] = {to.data() + begin, from.subspan(begin, each)};
        busy_.store(static_cast<std::uint32_t>(count_), std::memory_order_relaxed);
        round_.fetch_add(1, std::memory_order_release);
        round_.notify_all();
    }
    std::memcpy(to.data() + begin, from.data() + begin, from.size() - begin);
    if (sharing == 1) return;
    for (std::uint32_t left = busy_.load(std::memory_order_acquire); left != 0;
         left = busy_.load(std::memory_order_acquire))
        busy_.wait(left, std::memory_order_acquire);
}

void CopyTeam::help(std::size_t index) noexcept {
    for (std::uint32_t seen = 0;; ++seen) {
        round_.wait(seen, std::memory_order_acquire);
        if (stop_) return;
        const Share& share = shares_[index];
        std::memcpy(share.to, share.from.data(), share.from.size());
        busy_.fetch_sub(1, std::memory_order_acq_rel);
        busy_.notify_one();
    }
}

}  // namespace yolk
