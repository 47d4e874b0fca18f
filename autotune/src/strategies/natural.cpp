// SPDX-License-Identifier: Apache-2.0
// The house strategy. Cold: a log-linear policy over all candidates whose exact natural gradient is the damped
// regression of posterior_search, with a Matern residual, both fitted by evidence; expected improvement, every third
// step among the best one's neighbours. With a prior over devices: a second regression that begins from the devices'
// mean and factors, and a guard that hands the budget to the cold one where the prior does not predict.
#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>

#include "posterior_search.hpp"
#include "strategies.hpp"

namespace yolk::autotune {
namespace {

constexpr std::size_t kFirst = 12;
/// The covariance is fitted at these counts of measurements; each fit scores everything again, O(n^2 N).
constexpr std::array<std::size_t, 9> kFitAt{8, 12, 18, 26, 36, 50, 72, 100, 144};
constexpr std::size_t kLocalEvery = 3;

constexpr std::size_t kPortfolio = 8;
constexpr double kPriorNoise = 0.03;
constexpr double kMeanDeviation = 0.3;    ///< of a factor on the devices' mean
constexpr double kPriorScaleCount = 8.0;  ///< measurements that the scale of the recordings is worth

/// A gain below this, in log cost, is none for the guard.
constexpr double kGain = 0.01;
constexpr std::size_t kLeastPatience = 4;
constexpr std::size_t kPatienceUnpredicted = 8;
constexpr std::size_t kMostPatience = 48;
constexpr double kPatienceScale = 1.6;
/// The prior does not predict: over the last 8 measurements its densities are worse by a nat each. One difference
/// counts 3 nats at most, so that one outlier is not the end of it.
constexpr std::size_t kWindow = 8;
constexpr double kWorstDifference = 3.0;

std::unique_ptr<LinearAlgebra> algebra_of(const StrategyContext& context) {
    return context.settings.linear_algebra ? context.settings.linear_algebra() : host_linear_algebra();
}

PosteriorOptions warm_options(const DevicePrior& prior) {
    // The mean itself may be stretched: one more factor.
    std::vector<std::vector<double>> factors = prior.factors;
    factors.push_back(prior.mean);
    for (double& value : factors.back()) value *= kMeanDeviation;
    const double variance = prior.residual_deviation * prior.residual_deviation;
    return {
        .covariance = {.linear_share = 0.5 * variance, .residual_share = 0.5 * variance, .factors = std::move(factors)},
        .noise = kPriorNoise,
        .mean = prior.mean,
        .scale_count = kPriorScaleCount,
        .fit_at = {kFitAt.begin(), kFitAt.end()}};
}

/// When to stop believing the prior. Measurements in vain are borne the longer the better the recorded devices agree:
/// what the factors leave of a device has the variance residual_deviation^2.
class Guard {
   public:
    explicit Guard(double residual_deviation)
        : patience_(std::clamp(static_cast<std::size_t>(kPatienceScale / (residual_deviation * residual_deviation)),
                               kLeastPatience, kMostPatience)) {}

    void measured(double value, double warm_density, double cold_density) {
        if (differences_.size() == kWindow) differences_.pop_front();
        differences_.push_back(std::clamp(warm_density - cold_density, -kWorstDifference, kWorstDifference));
        ++vain_;
        found(value);
    }
    /// A value of the portfolio, which the prior does not answer for.
    void found(double value) {
        if (value >= best_ - kGain) return;
        best_ = value;
        vain_ = 0;
    }
    [[nodiscard]] bool gives_up() const {
        const double sum = std::accumulate(differences_.begin(), differences_.end(), 0.0);
        const bool predicts = differences_.size() < kWindow || sum > -static_cast<double>(kWindow);
        return vain_ >= (predicts ? patience_ : std::min(patience_, kPatienceUnpredicted));
    }

   private:
    std::size_t patience_;
    std::deque<double> differences_;
    double best_ = std::numeric_limits<double>::infinity();
    std::size_t vain_ = 0;
};

class Natural final : public Strategy {
   public:
    explicit Natural(StrategyContext context)
        : context_(std::move(context)),
          cold_(cold_search()),
          guard_(context_.prior == nullptr ? 1.0 : context_.prior->residual_deviation) {
        if (context_.prior == nullptr) return;
        warm_ = std::make_unique<PosteriorSearch>(*context_.candidates, *context_.history,
                                                  warm_options(*context_.prior), algebra_of(context_));
    }

    std::optional<std::size_t> propose() override {
        if (warm_ != nullptr) return propose_warm();
        if (cold_->count() < kFirst) return std::nullopt;
        return search(*cold_);
    }

    void told(std::size_t candidate) override {
        const double value = log_costs_.add(context_.history->cost(candidate));
        if (value < best_value_) {
            best_value_ = value;
            best_ = candidate;
        }
        if (warm_ != nullptr) {
            if (warm_->count() < std::min(kPortfolio, context_.prior->portfolio.size())) {
                guard_.found(value);
            } else {
                guard_.measured(value, warm_->log_density(candidate, value), cold_->log_density(candidate, value));
            }
            warm_->add(candidate, value);
        }
        cold_->add(candidate, value);
    }

   private:
    std::optional<std::size_t> propose_warm() {
        const std::vector<std::size_t>& portfolio = context_.prior->portfolio;
        for (std::size_t k = 0; k < std::min(kPortfolio, portfolio.size()); ++k) {
            if (!context_.history->known(portfolio[k])) return portfolio[k];
        }
        if (!guard_.gives_up()) return search(*warm_);
        // What the prior chose is no fair sample, and its best one a poor place to climb from: begin anew, as if
        // without a prior. (Going on with its measurements ended .12 below that on a surface whose optimum is a lone
        // needle.)
        warm_.reset();
        cold_ = cold_search();
        best_value_ = std::numeric_limits<double>::infinity();
        best_.reset();
        return std::nullopt;
    }

    [[nodiscard]] std::unique_ptr<PosteriorSearch> cold_search() const {
        return std::make_unique<PosteriorSearch>(*context_.candidates, *context_.history,
                                                 PosteriorOptions{.fit_at = {kFitAt.begin() + 1, kFitAt.end()}},
                                                 algebra_of(context_));
    }

    std::optional<std::size_t> search(const PosteriorSearch& posterior) const {
        if (best_ && posterior.count() % kLocalEvery == 0) {
            const auto near = posterior.most_promising(best_value_, context_.candidates->neighbours(*best_));
            if (near) return near;
        }
        return posterior.most_promising(best_value_);
    }

    StrategyContext context_;
    LogCosts log_costs_;
    std::unique_ptr<PosteriorSearch> cold_;
    std::unique_ptr<PosteriorSearch> warm_;  ///< none without a prior, and after the guard gave up on it
    Guard guard_;
    /// Of the search that goes on; what the tuner answers is the best of all.
    double best_value_ = std::numeric_limits<double>::infinity();
    std::optional<std::size_t> best_;
};

}  // namespace

std::unique_ptr<Strategy> make_natural(StrategyContext context) {
    return std::make_unique<Natural>(std::move(context));
}

}  // namespace yolk::autotune
