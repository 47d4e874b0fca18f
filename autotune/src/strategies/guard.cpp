// SPDX-License-Identifier: Apache-2.0
#include "guard.hpp"

#include <algorithm>
#include <numeric>

namespace yolk::autotune {
namespace {

/// A gain below this, in log cost, is none.
constexpr double kGain = 0.01;
/// Densities are compared over the last so many measurements, and the scale is believed from so many on. One difference
/// counts 3 nats at most, so that one outlier is not the end of it.
constexpr std::size_t kGuardWindow = 8;
constexpr double kWorstDifference = 3.0;
/// Times 1 / residual^2: measurements in vain before a cold search begins, but not more than kMostGuardPatience.
constexpr double kGuardPatience = 1.6;
constexpr double kMostGuardPatience = 48.0;
/// The same on a device that is unlike the recorded ones.
constexpr double kDoubtedGuardPatience = 8.0;
/// The residual's variance in units of the recorded ones' that makes it unlike.
constexpr double kGuardDoubt = 2.0;

}  // namespace

Guard::Guard(double residual_deviation)
    : patience_(std::clamp(kGuardPatience / (residual_deviation * residual_deviation), kDoubtedGuardPatience,
                           kMostGuardPatience)) {}

void Guard::measured(double value, double warm_density, double cold_density) {
    if (differences_.size() == kGuardWindow) differences_.pop_front();
    differences_.push_back(std::clamp(warm_density - cold_density, -kWorstDifference, kWorstDifference));
    ++measured_;
    ++vain_;
    found(value, true);
    judge();
}

void Guard::found(double value, bool by_prior) {
    if (by_prior && value < best_ - kGain) vain_ = 0;
    best_ = std::min(best_, value);
}

void Guard::judge() {
    const double sum = std::accumulate(differences_.begin(), differences_.end(), 0.0);
    const bool unlike =
        measured_ >= kGuardWindow && (scale_ * scale_ > kGuardDoubt || sum <= -static_cast<double>(kGuardWindow));
    const double patience = unlike || trust_ == Trust::Half ? kDoubtedGuardPatience : patience_;
    if (static_cast<double>(vain_) < patience) return;
    trust_ = trust_ == Trust::Full ? Trust::Half : Trust::None;
    vain_ = 0;
}

}  // namespace yolk::autotune
