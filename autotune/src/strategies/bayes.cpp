// SPDX-License-Identifier: Apache-2.0
// Bayesian optimization: a Gaussian process (Matern 5/2 over the coordinates) on log cost, 12 random candidates, then
// expected improvement over all candidates.
#include "posterior_search.hpp"
#include "strategies.hpp"

namespace yolk::autotune {
namespace {

constexpr std::size_t kFirst = 12;

class Bayes final : public Strategy {
   public:
    explicit Bayes(StrategyContext context)
        : context_(std::move(context)),
          posterior_(*context_.candidates, *context_.history,
                     {.covariance = {.linear_share = 0.0, .residual_share = 1.0}},
                     context_.settings.linear_algebra ? context_.settings.linear_algebra() : host_linear_algebra()) {}

    std::optional<std::size_t> propose() override {
        if (posterior_.count() < kFirst) return std::nullopt;
        double best = log_costs_.values().front();
        for (const double value : log_costs_.values()) best = std::min(best, value);
        return posterior_.most_promising(best);
    }
    void told(std::size_t candidate) override {
        posterior_.add(candidate, log_costs_.add(context_.history->cost(candidate)));
    }

   private:
    StrategyContext context_;
    LogCosts log_costs_;
    PosteriorSearch posterior_;
};

}  // namespace

std::unique_ptr<Strategy> make_bayes(StrategyContext context) { return std::make_unique<Bayes>(std::move(context)); }

}  // namespace yolk::autotune
