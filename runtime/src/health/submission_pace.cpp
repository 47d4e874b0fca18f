// SPDX-License-Identifier: Apache-2.0
#include "submission_pace.hpp"

#include <algorithm>
#include <utility>

namespace yolk {
namespace {

constexpr double kMostAtOnce = 16.0;
constexpr double kLateSeconds = 2.0 * kPieceSeconds;

}  // namespace

PaceVerdict judge_pace(std::uint64_t now, const PaceSample& sample) noexcept {
    if (sample.pieces == 0 || !(sample.seconds > 0.0)) return PaceVerdict::SaysNothing;
    const auto pieces = static_cast<double>(sample.pieces);
    const double piece_cost = static_cast<double>(sample.cost) / pieces;
    const double piece_seconds = sample.seconds / pieces;
    const auto limit = static_cast<double>(now);
    if (piece_cost < limit / kMostAtOnce) return PaceVerdict::SaysNothing;
    if (piece_seconds > kLateSeconds) return sample.exact ? PaceVerdict::Late : PaceVerdict::SaysNothing;
    // A small piece in time says that full ones are only where one at its rate would be.
    const bool full = piece_cost >= limit / 2.0;
    return full || piece_seconds * limit <= kLateSeconds * piece_cost ? PaceVerdict::InTime : PaceVerdict::SaysNothing;
}

std::uint64_t next_piece_cost(std::uint64_t now, const PaceSample& sample) noexcept {
    const PaceVerdict verdict = judge_pace(now, sample);
    if (verdict == PaceVerdict::SaysNothing) return now;
    const double piece_cost = static_cast<double>(sample.cost) / static_cast<double>(sample.pieces);
    const double piece_seconds = sample.seconds / static_cast<double>(sample.pieces);
    const auto limit = static_cast<double>(now);
    const bool late = verdict == PaceVerdict::Late;
    const bool early = piece_seconds < kPieceSeconds / 2.0 && piece_cost >= limit / 2.0;
    if (!late && !early) return now;
    // What cannot be cut (a workgroup, a copy) may make a piece dearer than allowed; it is not a reason to grow.
    const double cost = std::min(piece_cost, limit);
    const double wanted = std::clamp(cost * kPieceSeconds / piece_seconds, limit / kMostAtOnce, limit * kMostAtOnce);
    const double next = late ? std::min(wanted, limit) : std::max(wanted, limit);
    return std::clamp(static_cast<std::uint64_t>(std::min(next, static_cast<double>(kLargestPieceCost))),
                      kSmallestPieceCost, kLargestPieceCost);
}

void SubmissionPace::begin_at(double multiply_adds_per_second) noexcept {
    if (fixed_ || !(multiply_adds_per_second > 0.0)) return;
    const std::lock_guard lock(mutex_);
    if (observed_) return;
    const double wanted = multiply_adds_per_second * kPieceSeconds / kFirstPieceReserve;
    piece_cost_.store(static_cast<std::uint64_t>(std::clamp(wanted, static_cast<double>(kFirstPieceCost),
                                                            static_cast<double>(kLargestPieceCost))),
                      std::memory_order_relaxed);
}

void SubmissionPace::observe(const PaceSample& sample) noexcept {
    if (fixed_) return;
    const std::lock_guard lock(mutex_);
    const std::uint64_t now = piece_cost();
    const PaceVerdict verdict = judge_pace(now, sample);
    if (verdict == PaceVerdict::SaysNothing) return;
    observed_ = true;
    const bool is_late = verdict == PaceVerdict::Late;
    const bool was_late = std::exchange(was_late_, is_late);
    if (!is_late || was_late) piece_cost_.store(next_piece_cost(now, sample), std::memory_order_relaxed);
}

}  // namespace yolk
