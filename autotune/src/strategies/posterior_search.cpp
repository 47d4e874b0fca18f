// SPDX-License-Identifier: Apache-2.0
#include "posterior_search.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "evidence_fit.hpp"

namespace yolk::autotune {
namespace {

constexpr double kLeastDeviation = 0.05;

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
    : groups_(std::make_shared<const CandidateGroups>(candidates)),
      history_(history),
      options_(std::move(options)),
      covariance_(groups_, options_.covariance),
      algebra_(std::move(algebra)),
      noise_(options_.noise) {
    algebra_->begin(covariance_);
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
    algebra_->append(measured_[position], noise_ * noise_, bent(residuals_[position]));
}

void PosteriorSearch::fit() {
    std::vector<double> learned = residuals_;
    if (options_.slope_above_median < 1.0) {
        const auto middle = learned.begin() + static_cast<std::ptrdiff_t>((learned.size() - 1) / 2);
        std::ranges::nth_element(learned, middle);
        ceiling_ = *middle;
    }
    std::ranges::transform(residuals_, learned.begin(), [&](double residual) { return bent(residual); });
    const FittedCovariance fitted = fit_covariance(
        groups_, measured_, learned,
        {.covariance = options_.covariance, .noise = options_.noise, .scale_count = options_.scale_count});
    covariance_ = Covariance(groups_, fitted.covariance);
    noise_ = fitted.noise;
    algebra_->begin(covariance_);
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
    const CandidatePosterior at = algebra_->at(candidate);
    return prior(candidate) + level + at.value_score - level * at.unit_score;
}

std::vector<double> PosteriorSearch::means() const {
    const double level = moments().level;
    std::vector<double> all(groups_->candidates().size());
    for (std::size_t c = 0; c < all.size(); ++c) {
        const CandidatePosterior at = algebra_->at(c);
        all[c] = prior(c) + level + at.value_score - level * at.unit_score;
    }
    return all;
}

double PosteriorSearch::deviation(std::size_t candidate) const {
    return moments().deviation * std::sqrt(algebra_->at(candidate).variance);
}

double PosteriorSearch::log_density(std::size_t candidate, double value) const {
    const double scale = moments().deviation;
    const double variance = scale * scale * (algebra_->at(candidate).variance + noise_ * noise_);
    const double residual = value - prior(candidate);
    const double difference = prior(candidate) + bent(residual) - mean(candidate);
    const double stretch =
        residual > ceiling_ ? std::log(options_.slope_above_median) : 0.0;  // of a density's variable
    return stretch - 0.5 * (difference * difference / variance + std::log(2.0 * std::numbers::pi * variance));
}

Acquisition PosteriorSearch::acquisition(double best) const {
    const Moments now = moments();
    return {.best = best,
            .level = now.level,
            .deviation = now.deviation,
            .prior = options_.mean,
            .history = &history_,
            .weight = options_.weight};
}

std::optional<std::size_t> PosteriorSearch::most_promising(double best, std::span<const std::size_t> among) const {
    return algebra_->most_promising(acquisition(best), among);
}

std::optional<std::size_t> PosteriorSearch::most_promising_with(const PosteriorSearch& second, double best,
                                                                std::span<const std::size_t> among) const {
    return algebra_->most_promising_with(acquisition(best), *second.algebra_, second.acquisition(best), among);
}

std::size_t PosteriorSearch::least_certain(std::span<const std::size_t> among, std::span<const double> weights) const {
    std::size_t chosen = 0;
    double most = -1.0;
    for (std::size_t i = 0; i < among.size(); ++i) {
        const double weighed = algebra_->at(among[i]).variance * weights[i] * weights[i];
        if (weighed <= most) continue;
        most = weighed;
        chosen = i;
    }
    return among[chosen];
}

Opinion PosteriorSearch::opinion(double best) const {
    return {.acquisition = acquisition(best), .posteriors = algebra_->all()};
}

}  // namespace yolk::autotune
