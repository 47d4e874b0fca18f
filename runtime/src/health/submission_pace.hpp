// SPDX-License-Identifier: Apache-2.0
// How much work one submission may hold: found by the time that submissions take on this device.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace yolk {

/// What a submission is sized to, in seconds. Long enough that the price of a piece, tens of microseconds, does not
/// show; a fourth of the shortest watchdog known (half a second, some small GPUs), a sixteenth of Windows' two seconds.
inline constexpr double kPieceSeconds = 0.125;
/// In multiply-adds, as LinearGrid counts them. The first pieces of a device whose rate was not measured: a watchdog of
/// two seconds ends them below .13 * 10^9 multiply-adds a second.
inline constexpr std::uint64_t kFirstPieceCost = std::uint64_t{1} << 28U;
/// Below this pieces cost more than the work in them.
inline constexpr std::uint64_t kSmallestPieceCost = std::uint64_t{1} << 20U;
/// 33 ms on a GPU of 33 * 10^12 multiply-adds a second, the fastest that was measured; larger pieces gain nothing
/// there.
inline constexpr std::uint64_t kLargestPieceCost = std::uint64_t{1} << 40U;
/// Kernels reach a fraction of the rate that is measured in registers, and their estimates are rough. The first pieces
/// therefore are this many times smaller than the rate allows; times enlarge them.
inline constexpr double kFirstPieceReserve = 16.0;

/// One recording, as its submitter saw it.
struct PaceSample {
    std::uint64_t cost = 0;    ///< of all its pieces, in multiply-adds
    std::uint64_t pieces = 1;  ///< submissions
    double seconds = 0.0;      ///< from when the device could begin until all had ended
    bool exact = true;  ///< false: they took no longer than `seconds`, so that it can only say that they were quick
};

enum class PaceVerdict {
    SaysNothing,  ///< work below what a piece may cost that was in time only for that, or nobody saw when it ended
    InTime,       ///< full pieces (half of what one may cost, or more) were, or one at this rate would have been
    Late,         ///< pieces of a sixteenth of what one may cost, or more, took more than twice kPieceSeconds
};

/// Verdict on a recording whose pieces might cost up to `now`.
[[nodiscard]] PaceVerdict judge_pace(std::uint64_t now, const PaceSample& sample) noexcept;

/// What a piece may cost from now on, where it was `now`. Late pieces become smaller, full ones that took less than
/// half of kPieceSeconds larger, in proportion, and at most sixteenfold at a time.
[[nodiscard]] std::uint64_t next_piece_cost(std::uint64_t now, const PaceSample& sample) noexcept;

/// A device's. Thread-safe. Pieces become smaller when two recordings in a row were late, those that say nothing left
/// out: a driver that compiles at the first dispatch, or a machine that slept, makes one late and says little of the
/// next.
class SubmissionPace {
   public:
    /// Stays there, whatever the times are.
    void fix(std::uint64_t piece_cost) noexcept {
        fixed_ = true;
        first_cost_ = piece_cost;
        piece_cost_ = piece_cost;
    }
    /// Sizes the first pieces by the device's multiply-adds per second; only where no time was seen, and never below
    /// kFirstPieceCost.
    void begin_at(double multiply_adds_per_second) noexcept;
    [[nodiscard]] std::uint64_t piece_cost() const noexcept { return piece_cost_.load(std::memory_order_relaxed); }
    /// Of a workgroup, which cannot be cut; it does not follow rates and times.
    [[nodiscard]] std::uint64_t first_cost() const noexcept { return first_cost_; }
    void observe(const PaceSample& sample) noexcept;

   private:
    bool fixed_ = false;  ///< this and the next are set before the device is used
    std::uint64_t first_cost_ = kFirstPieceCost;
    std::atomic<std::uint64_t> piece_cost_{kFirstPieceCost};
    std::mutex mutex_;       ///< guards observe()
    bool observed_ = false;  ///< a recording said something; guarded by mutex_
    bool was_late_ = false;  ///< the last recording that said something; guarded by mutex_
};

}  // namespace yolk
