// SPDX-License-Identifier: Apache-2.0
#include "prior_turns.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace yolk::autotune {
namespace {

/// Chosen over 50 pairs of recordings and 15 sets of several (docs/tuner.md). Slopes of .3 and 1, and a window of 16
/// for several recordings, were alike within the errors.
constexpr std::size_t kWindow = 8;
constexpr double kSlope = 0.5;
/// So that one outlier is not the end of it.
constexpr double kWorstDifference = 3.0;

}  // namespace

PriorTurns::PriorTurns(double share) : log_odds_(std::log(share / (1.0 - share))), due_(share) {}

double PriorTurns::share() const {
    const double sum = std::accumulate(differences_.begin(), differences_.end(), 0.0);
    return 1.0 / (1.0 + std::exp(-(log_odds_ + kSlope * sum)));
}

bool PriorTurns::next() {
    due_ += share();
    if (due_ < 1.0) return false;
    due_ -= 1.0;
    return true;
}

void PriorTurns::measured(double prior_density, double cold_density) {
    if (differences_.size() == kWindow) differences_.pop_front();
    differences_.push_back(std::clamp(prior_density - cold_density, -kWorstDifference, kWorstDifference));
}

}  // namespace yolk::autotune
