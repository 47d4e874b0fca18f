// SPDX-License-Identifier: Apache-2.0
// The house strategy. Cold: a log-linear policy over all candidates whose exact natural gradient is the damped
// regression of posterior_search, with a Matern residual, both fitted by evidence, and beside it a Matern process that
// takes nothing for log-linear; first the candidates that it is least certain of, then the largest sum of both
// log expected improvements, every third step among the best one's neighbours. With a prior over devices, a regression
// that begins from the devices' mean and factors takes turns with the cold search, as far as it predicts better. Both
// learn every measurement.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "failure_odds.hpp"
#include "hedged_search.hpp"
#include "natural_constants.hpp"
#include "posterior_search.hpp"
#include "prior_turns.hpp"
#include "strategies.hpp"

namespace yolk::autotune {
namespace {

/// The covariance is fitted at these counts of measurements; each fit scores everything again, O(n^2 N).
constexpr std::array<std::size_t, 9> kFitAt{8, 12, 18, 26, 36, 50, 72, 100, 144};

/// Measured on 13 recordings, 50 searches of each (2026-11-22): the mean at 50 measurements is .017 larger on the six
/// of docs/tuner.md and .011 on the seven others than with 1; quantiles from .25 to .5 and slopes from .1 to .25 are
/// alike.
constexpr double kSlopeAboveMedian = 0.25;

/// The first measurements are the least certain among this many candidates, drawn once. 64 and 2048 are not worse
/// beyond their errors.
constexpr std::size_t kDrawn = 512;

/// A first candidate's deviation is weighed by this power of its chance to work, which is taken to be at least so much.
/// 1, 2 and 4 are alike (docs/adr/0032).
constexpr double kChancePower = 2.0;
constexpr double kLeastChance = 0.01;

/// Of the second model's log expected improvement, the first one's is 1 (docs/adr/0032).
constexpr double kSecondWeight = 2.0;

std::unique_ptr<LinearAlgebra> algebra_of(const StrategyContext& context) {
    return context.settings.linear_algebra ? context.settings.linear_algebra() : host_linear_algebra();
}

PosteriorOptions cold_options() {
    return {.covariance = {.linear_share = natural::kLinearShare, .residual_share = 1.0 - natural::kLinearShare},
            .noise = natural::kNoise,
            .fit_at = {kFitAt.begin() + 1, kFitAt.end()},
            .slope_above_median = kSlopeAboveMedian};
}

/// Of the second model.
PosteriorOptions process_options() {
    return {
        .covariance = {.linear_share = 0.0, .residual_share = 1.0}, .noise = natural::kNoise, .weight = kSecondWeight};
}

PosteriorOptions warm_options(const DevicePrior& prior) {
    // The mean itself may be stretched: one more factor.
    std::vector<std::vector<double>> factors = prior.factors;
    factors.push_back(prior.mean);
    for (double& value : factors.back()) value *= natural::kMeanDeviation;
    const double variance = prior.residual_deviation * prior.residual_deviation;
    return {.covariance = {.linear_share = natural::kPriorLinearShare * variance,
                           .residual_share = (1.0 - natural::kPriorLinearShare) * variance,
                           .factors = std::move(factors)},
            .noise = natural::kPriorNoise,
            .mean = prior.mean,
            .scale_count = natural::kPriorScaleCount,
            .fit_at = {kFitAt.begin(), kFitAt.end()}};
}

/// The prior's share of the turns at first. One recording does not say how devices differ.
double first_share(const DevicePrior& prior) {
    constexpr double kOfOne = 0.33;
    constexpr double kOfSeveral = 0.95;
    return prior.factors.empty() ? kOfOne : kOfSeveral;
}

class Natural final : public Strategy {
   public:
    explicit Natural(StrategyContext context)
        : context_(std::move(context)), random_(context_.random), cold_(cold_search()) {
        if (context_.prior == nullptr) return;
        warm_.emplace(regression(warm_options(*context_.prior)));
        turns_.emplace(first_share(*context_.prior));
    }

    std::optional<std::size_t> propose() override {
        warm_turn_ = false;
        if (!warm_) return propose_cold(cold_.count(), context_.settings.natural_first);
        const std::vector<std::size_t>& portfolio = context_.prior->portfolio;
        for (std::size_t k = 0; k < portfolio_size(); ++k) {
            if (!context_.history->known(portfolio[k])) return portfolio[k];
        }
        warm_turn_ = turns_->next();
        if (warm_turn_) return warm_->propose(*context_.candidates, natural::kLocalEvery);
        return propose_cold(cold_turns_++, natural::kFirstBesidePrior);
    }

    void told(std::size_t candidate) override {
        const double value = log_costs_.add(context_.history->cost(candidate));
        if (warm_turn_) {
            turns_->measured(warm_->first().log_density(candidate, value), cold_.first().log_density(candidate, value));
        }
        if (warm_) warm_->add(candidate, value);
        cold_.add(candidate, value);
        warm_turn_ = false;
    }

   private:
    [[nodiscard]] std::size_t portfolio_size() const {
        return std::min(natural::kMostOfPortfolio, context_.prior->portfolio.size());
    }
    [[nodiscard]] std::unique_ptr<PosteriorSearch> regression(PosteriorOptions options) const {
        return std::make_unique<PosteriorSearch>(*context_.candidates, *context_.history, std::move(options),
                                                 algebra_of(context_));
    }
    [[nodiscard]] HedgedSearch cold_search() {
        for (std::size_t i = 0; i < kDrawn; ++i) drawn_.push_back(random_.below(context_.candidates->size()));
        return HedgedSearch(regression(cold_options()), regression(process_options()));
    }
    /// `turn`: of the cold search's; `first` of them choose what it is least certain of.
    [[nodiscard]] std::optional<std::size_t> propose_cold(std::size_t turn, std::size_t first) {
        if (turn < first) return least_certain();
        return cold_.propose(*context_.candidates, natural::kLocalEvery);
    }
    /// Of some that are drawn, so that seeds differ: a greedy D-optimal design (each step multiplies the determinant of
    /// the measurements' covariance by what is left of the candidate's variance), away from what fails. None where all
    /// that were drawn are known.
    [[nodiscard]] std::optional<std::size_t> least_certain() {
        std::erase_if(drawn_, [this](std::size_t c) { return context_.history->known(c); });
        if (drawn_.empty()) return std::nullopt;
        std::vector<double> weights =
            odds_of_failure(cold_.first().covariance(), natural::kNoise, *context_.history, drawn_);
        for (double& weight : weights) weight = std::pow(std::max(1.0 - weight, kLeastChance), kChancePower);
        return cold_.first().least_certain(drawn_, weights);
    }

    StrategyContext context_;
    Random random_;
    std::vector<std::size_t> drawn_;  ///< for the first measurements of the cold search
    LogCosts log_costs_;
    HedgedSearch cold_;
    std::optional<HedgedSearch> warm_;  ///< with a prior
    std::optional<PriorTurns> turns_;   ///< with a prior
    bool warm_turn_ = false;            ///< what is being measured was proposed by the prior's search
    std::size_t cold_turns_ = 0;        ///< with a prior
};

}  // namespace

std::unique_ptr<Strategy> make_natural(StrategyContext context) {
    return std::make_unique<Natural>(std::move(context));
}

}  // namespace yolk::autotune
