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

}  // namespace

Guard::Guard(const NaturalSettings& settings, double residual_deviation)
    : settings_(settings),
      patience_(std::clamp(settings.patience / (residual_deviation * residual_deviation), settings.doubted_patience,
                           std::max(settings.most_patience, settings.doubted_patience))) {}

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
        measured_ >= kGuardWindow && (scale_ * scale_ > settings_.doubt || sum <= -static_cast<double>(kGuardWindow));
    const double patience = unlike || trust_ == Trust::Half ? settings_.doubted_patience : patience_;
    if (static_cast<double>(vain_) < patience) return;
    trust_ = trust_ == Trust::Full ? Trust::Half : Trust::None;
    vain_ = 0;
}

}  // namespace yolk::autotune
