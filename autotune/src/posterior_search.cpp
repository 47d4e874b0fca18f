// SPDX-License-Identifier: Apache-2.0
#include "posterior_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "evidence_fit.hpp"

namespace yolk::autotune {
namespace {

constexpr double kLeastDeviation = 0.05;

/// Expected improvement in units of the deviation: z Phi(z) + phi(z), Phi by Abramowitz and Stegun 26.2.17 (error below
/// 7.5e-8), which ranks candidates as erfc does at a third of its time.
double improvement(double z) {
    const double density = std::exp(-0.5 * z * z) * 0.3989422804014327;
    const double t = 1.0 / (1.0 + 0.2316419 * std::abs(z));
    const double polynomial =
        t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
    const double upper = density * polynomial;
    return z * (z < 0.0 ? upper : 1.0 - upper) + density;
}

}  // namespace

double LogCosts::add(double cost) {
    double value = worst_ + kPenalty;
    if (std::isfinite(cost)) {
        value = std::log(cost);
        worst_ = any_ ? std::max(worst_, value) : value;
        any_ = true;
    } else {
        worst_ = any_ || !values_.empty() ? std::max(worst_, value) : worst_;
    }
    values_.push_back(value);
    return value;
}

PosteriorSearch::PosteriorSearch(const CandidateSet& candidates, const History& history, PosteriorOptions options,
                                 std::unique_ptr<LinearAlgebra> algebra)
    : candidates_(candidates),
      history_(history),
      options_(std::move(options)),
      covariance_(candidates, options_.covariance),
      algebra_(std::move(algebra)),
      column_(candidates.size()),
      noise_(options_.noise) {
    algebra_->begin(covariance_.diagonal());
}

void PosteriorSearch::add(std::size_t candidate, double value) {
    measured_.push_back(candidate);
    residuals_.push_back(value - prior(candidate));
    if (std::ranges::find(options_.fit_at, measured_.size()) != options_.fit_at.end()) {
        fit();
    } else {
        append(measured_.size() - 1);
    }
}

void PosteriorSearch::append(std::size_t position) {
    covariance_.column(measured_[position], column_);
    algebra_->append(measured_[position], column_, noise_ * noise_, residuals_[position]);
}

void PosteriorSearch::fit() {
    const FittedCovariance fitted = fit_covariance(
        candidates_, measured_, residuals_,
        {.covariance = options_.covariance, .noise = options_.noise, .scale_count = options_.scale_count});
    covariance_ = Covariance(candidates_, fitted.covariance);
    noise_ = fitted.noise;
    algebra_->begin(covariance_.diagonal());
    for (std::size_t position = 0; position < measured_.size(); ++position) append(position);
}

PosteriorSearch::Moments PosteriorSearch::moments() const {
    const double count = options_.scale_count + static_cast<double>(residuals_.size());
    if (residuals_.empty()) return {};
    // The level and the scale under which the values are most likely.
    const Evidence evidence = algebra_->evidence();
    const double level = evidence.values_units / evidence.units_units;
    if (count <= 2.0) return {.level = level, .deviation = 1.0};
    const double squares = std::max(evidence.values_values - level * evidence.values_units, 0.0);
    return {.level = level,
            .deviation = std::max(kLeastDeviation, std::sqrt((options_.scale_count + squares) / count))};
}

double PosteriorSearch::mean(std::size_t candidate) const {
    const double level = moments().level;
    return prior(candidate) + level + algebra_->value_scores()[candidate] - level * algebra_->unit_scores()[candidate];
}

std::vector<double> PosteriorSearch::means() const {
    const double level = moments().level;
    const auto values = algebra_->value_scores();
    const auto units = algebra_->unit_scores();
    std::vector<double> all(candidates_.size());
    for (std::size_t c = 0; c < all.size(); ++c) all[c] = prior(c) + level + values[c] - level * units[c];
    return all;
}

double PosteriorSearch::deviation(std::size_t candidate) const {
    return moments().deviation * std::sqrt(algebra_->variances()[candidate]);
}

double PosteriorSearch::log_density(std::size_t candidate, double value) const {
    const double scale = moments().deviation;
    const double variance = scale * scale * (algebra_->variances()[candidate] + noise_ * noise_);
    const double difference = value - mean(candidate);
    return -0.5 * (difference * difference / variance + std::log(2.0 * std::numbers::pi * variance));
}

std::optional<std::size_t> PosteriorSearch::most_promising(double best, std::span<const std::size_t> among) const {
    const Moments now = moments();
    const auto values = algebra_->value_scores();
    const auto units = algebra_->unit_scores();
    const auto variances = algebra_->variances();
    std::optional<std::size_t> found;
    double most = -std::numeric_limits<double>::infinity();
    const auto look_at = [&](std::size_t c) {
        if (history_.known(c)) return;
        const double expected = prior(c) + now.level + values[c] - now.level * units[c];
        const double deviation = options_.exploration * now.deviation * std::sqrt(variances[c]);
        const double gain = deviation * improvement((best - expected) / deviation);
        if (found && gain <= most) return;
        found = c;
        most = gain;
    };
    if (among.empty()) {
        for (std::size_t c = 0; c < candidates_.size(); ++c) look_at(c);
    } else {
        for (const std::size_t c : among) look_at(c);
    }
    return found;
}

}  // namespace yolk::autotune
