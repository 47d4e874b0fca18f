// SPDX-License-Identifier: Apache-2.0
#include "joint_gain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "factor_kernels.hpp"

namespace yolk::autotune {
namespace {

constexpr double kLogRootOfTwoPi = 0.9189385332046727;

/// h / phi at z = -t, t >= 2: with I_{-1} = phi and I_n the integral of I_{n-1} from t on, (n) I_n = I_{n-2} - t
/// I_{n-1}, so the quotients r_n = I_n / I_{n-1} are r_{n-1} = 1 / (t + n r_n), and h / phi = r_0 r_1. Begun with the
/// fixed point of the recurrence; 60 terms are within 2e-14 at t = 2.
double upper_tail(double t) noexcept {
    constexpr int kFrom = 60;
    double quotient = (std::sqrt(t * t + 4.0 * kFrom) - t) / (2.0 * kFrom);
    for (int n = kFrom; n > 1; --n) quotient = 1.0 / (t + n * quotient);
    return quotient / (t + quotient);
}

}  // namespace

double log_improvement(double z) noexcept {
    if (z > -2.0) {
        const double density = std::exp(-0.5 * z * z - kLogRootOfTwoPi);
        return std::log(density + 0.5 * z * std::erfc(-z / std::numbers::sqrt2));
    }
    return -0.5 * z * z - kLogRootOfTwoPi + std::log(upper_tail(-z));
}

double log_gain(const Acquisition& acquisition, std::size_t candidate, const CandidatePosterior& posterior) noexcept {
    const double prior = acquisition.prior.empty() ? 0.0 : acquisition.prior[candidate];
    const double mean = prior + acquisition.level + posterior.value_score - acquisition.level * posterior.unit_score;
    const double z = (acquisition.best - mean) / (acquisition.deviation * std::sqrt(posterior.variance));
    return std::log(acquisition.deviation) + 0.5 * std::log(posterior.variance) + log_improvement(z);
}

double log_gain(const Opinion& opinion, std::size_t candidate) noexcept {
    const Posteriors& all = opinion.posteriors;
    return log_gain(opinion.acquisition, candidate,
                    {all.value_scores[candidate], all.unit_scores[candidate], all.variances[candidate]});
}

void add_bounds(const Opinion& opinion, std::span<double> bounds) {
    const Acquisition& a = opinion.acquisition;
    add_gain_bounds({.value_scores = opinion.posteriors.value_scores.data(),
                     .unit_scores = opinion.posteriors.unit_scores.data(),
                     .variances = opinion.posteriors.variances.data(),
                     .prior = a.prior.empty() ? nullptr : a.prior.data(),
                     .level = a.level,
                     .best = a.best,
                     .deviation = a.deviation,
                     .weight = a.weight},
                    bounds);
}

std::optional<std::size_t> LinearAlgebra::most_promising_with(const Acquisition& acquisition, LinearAlgebra& second,
                                                              const Acquisition& second_acquisition,
                                                              std::span<const std::size_t> among) {
    return autotune::most_promising({.acquisition = acquisition, .posteriors = all()},
                                    {.acquisition = second_acquisition, .posteriors = second.all()}, among);
}

std::optional<std::size_t> most_promising(const Opinion& first, const Opinion& second,
                                          std::span<const std::size_t> among) {
    const auto sum = [&](std::size_t c) {
        return first.acquisition.weight * log_gain(first, c) + second.acquisition.weight * log_gain(second, c);
    };
    const History& history = *first.acquisition.history;
    std::optional<std::size_t> found;
    double most = -std::numeric_limits<double>::infinity();
    const auto look_at = [&](std::size_t c) {
        if (history.known(c)) return;
        const double gain = sum(c);
        if (found && (gain < most || (gain == most && c > *found))) return;
        found = c;
        most = gain;
    };
    if (!among.empty()) {
        for (const std::size_t c : among) look_at(c);
        return found;
    }
    // Bounds of all, then the unknown one with the largest, then those whose bound is above the best gain so far.
    std::vector<double> bounds(first.posteriors.variances.size());
    add_bounds(first, bounds);
    add_bounds(second, bounds);
    for (const std::size_t c : history.order()) bounds[c] = -std::numeric_limits<double>::infinity();
    look_at(static_cast<std::size_t>(std::ranges::max_element(bounds) - bounds.begin()));
    for (std::size_t c = 0; c < bounds.size(); ++c) {
        if (bounds[c] >= most) look_at(c);
    }
    return found;
}

}  // namespace yolk::autotune
