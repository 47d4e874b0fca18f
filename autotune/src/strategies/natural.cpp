// SPDX-License-Identifier: Apache-2.0
// The house strategy. Cold: a log-linear policy over all candidates whose exact natural gradient is the damped
// regression of posterior_search, with a Matern residual, both fitted by evidence, and beside it a Matern process that
// takes nothing for log-linear; first the candidates that it is least certain of, then the largest sum of both
// log expected improvements, every third step among the best one's neighbours. With a prior over devices: a regression
// that begins from the devices' mean and factors, alone, and a guard that begins a cold search where the prior does not
// predict, or brings nothing any more.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "failure_odds.hpp"
#include "guard.hpp"
#include "hedged_search.hpp"
#include "natural_constants.hpp"
#include "posterior_search.hpp"
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

class Natural final : public Strategy {
   public:
    explicit Natural(StrategyContext context)
        : context_(std::move(context)), random_(context_.random), cold_(cold_search()) {
        if (context_.prior == nullptr) return;
        warm_.emplace(regression(warm_options(*context_.prior)));
        guard_.emplace(context_.prior->residual_deviation);
    }

    std::optional<std::size_t> propose() override {
        cold_turn_ = false;
        if (!warm_) return propose_cold();
        const std::vector<std::size_t>& portfolio = context_.prior->portfolio;
        for (std::size_t k = 0; k < portfolio_size(); ++k) {
            if (!context_.history->known(portfolio[k])) return portfolio[k];
        }
        if (guard_->trust() == Trust::Full) return warm_->propose(*context_.candidates, natural::kLocalEvery);
        if (!begun_anew_) {
            // What the prior chose is no fair sample, and its best one a poor place to climb from: begin anew, as if
            // without a prior. (Going on with its measurements ended .12 below that on a surface whose optimum is a
            // lone needle.)
            begun_anew_ = true;
            cold_ = cold_search();
        }
        if (guard_->trust() == Trust::None) {
            warm_.reset();
            return propose_cold();
        }
        cold_turn_ = warm_turns_ >= cold_.count();
        if (cold_turn_) return propose_cold();
        return warm_->propose(*context_.candidates, natural::kLocalEvery);
    }

    void told(std::size_t candidate) override {
        const double value = log_costs_.add(context_.history->cost(candidate));
        if (warm_) learn_warm(candidate, value);
        if (!begun_anew_ || !warm_ || cold_turn_) cold_.add(candidate, value);
        cold_turn_ = false;
    }

   private:
    void learn_warm(std::size_t candidate, double value) {
        if (cold_turn_ || warm_->count() < portfolio_size()) {
            guard_->found(value, /*by_prior=*/!cold_turn_);
        } else {
            warm_turns_ += begun_anew_ ? 1U : 0U;
            guard_->measured(value, warm_->first().log_density(candidate, value),
                             cold_.first().log_density(candidate, value));
        }
        warm_->add(candidate, value);
        guard_->scaled(warm_->first().moments().deviation);
    }
    [[nodiscard]] std::size_t portfolio_size() const {
        return std::min(natural::kMostOfPortfolio, context_.prior->portfolio.size());
    }
    [[nodiscard]] std::unique_ptr<PosteriorSearch> regression(PosteriorOptions options) const {
        return std::make_unique<PosteriorSearch>(*context_.candidates, *context_.history, std::move(options),
                                                 algebra_of(context_));
    }
    [[nodiscard]] HedgedSearch cold_search() {
        drawn_.clear();
        for (std::size_t i = 0; i < kDrawn; ++i) drawn_.push_back(random_.below(context_.candidates->size()));
        return HedgedSearch(regression(cold_options()), regression(process_options()));
    }
    [[nodiscard]] std::optional<std::size_t> propose_cold() {
        if (cold_.count() < context_.settings.natural_first) return least_certain();
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
    /// Until the prior is doubted, only to be compared with; then a search of its own, which learns what it proposes.
    HedgedSearch cold_;
    std::optional<HedgedSearch> warm_;  ///< none without a prior, and after the guard gave up on it
    std::optional<Guard> guard_;
    bool begun_anew_ = false;
    bool cold_turn_ = false;  ///< what is being measured was proposed by the cold search, the prior still has turns
    std::size_t warm_turns_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_natural(StrategyContext context) {
    return std::make_unique<Natural>(std::move(context));
}

}  // namespace yolk::autotune
