// SPDX-License-Identifier: Apache-2.0
// Copies of host memory by several threads: one thread alone copies at about 10 GB/s, a fifth of what PCIe 5 moves.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>

namespace yolk {

/// Threads that sleep between copies. One thread at a time calls copy(), which allocates nothing. A copy is cut into
/// shares that whoever has time takes: threads that do not wake up on a busy machine delay nothing.
class CopyTeam {
   public:
    static constexpr std::size_t kMostHelpers = 3;
    static constexpr std::size_t kShareBytes = std::size_t{256} << 10U;
    /// Below it a copy is done before a helper has woken up.
    static constexpr std::size_t kWorthSharing = 4 * kShareBytes;

    /// Starts up to `helpers` threads besides the caller's; fewer where the system has no more.
    explicit CopyTeam(std::size_t helpers) noexcept;
    /// As many as there are processors for, the caller's thread included.
    [[nodiscard]] static std::size_t helpers_for(std::size_t processors) noexcept;
    CopyTeam(const CopyTeam&) = delete;
    CopyTeam& operator=(const CopyTeam&) = delete;
    ~CopyTeam();

    /// Returns when all is copied. `to` is at least as long as `from`, and apart from it.
    void copy(std::span<std::byte> to, std::span<const std::byte> from) noexcept;
    [[nodiscard]] std::size_t helpers() const noexcept { return count_; }

   private:
    void help() noexcept;
    void take_shares() noexcept;

    // Of the copy that goes on: written before unclaimed_ says that there are shares, and not again before all are
    // done.
    std::byte* to_ = nullptr;
    std::span<const std::byte> from_{};
    std::size_t shares_ = 0;
    std::atomic<std::size_t> unclaimed_{0};  ///< shares that nobody has taken, the last of them next
    std::atomic<std::size_t> done_{0};       ///< shares
    std::atomic<std::uint32_t> copies_{0};   ///< what helpers wait on; a new number: there are shares, or stop_ is set
    std::atomic<bool> stop_{false};
    std::size_t count_ = 0;
    std::array<std::thread, kMostHelpers> threads_{};
};

}  // namespace yolk
