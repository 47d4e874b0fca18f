// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/tuner.hpp"

#include <cmath>

#include "yolk/internal/autotune/surface.hpp"
#include "yolk/internal/core/check.hpp"

namespace yolk::autotune {
namespace {

// Independent streams of one seed: what a strategy draws does not depend on what the tuner draws in its place.
constexpr std::uint64_t kTunerStream = 0;
constexpr std::uint64_t kStrategyStream = 1;

}  // namespace

Tuner::Tuner(std::shared_ptr<const CandidateSet> candidates, const TunerOptions& options)
    : candidates_(std::move(candidates)),
      history_(std::make_unique<History>(candidates_->size())),
      random_(options.seed, kTunerStream),
      budget_(options.budget) {}

Result<Tuner> Tuner::create(std::shared_ptr<const CandidateSet> candidates, TunerOptions options) {
    if (options.budget == 0) return bad_input("The tuner's budget is 0 measurements; at least 1 is needed.");
    if (options.prior != nullptr && options.prior->mean.size() != candidates->size()) {
        return bad_input("The prior knows {} candidates, the space has {}; make it for this space.",
                         options.prior->mean.size(), candidates->size());
    }
    Tuner tuner(std::move(candidates), options);
    YOLK_TRY(tuner.strategy_, make_strategy(options.strategy, {.candidates = tuner.candidates_,
                                                               .history = tuner.history_.get(),
                                                               .random = Random(options.seed, kStrategyStream),
                                                               .budget = options.budget,
                                                               .prior = std::move(options.prior),
                                                               .settings = std::move(options.settings)}));
    return tuner;
}

std::optional<std::size_t> Tuner::ask() {
    if (asked_) return asked_;
    if (history_->complete() || history_->size() >= budget_) return std::nullopt;
    asked_ = strategy_->propose();
    if (!asked_) asked_ = draw();
    YOLK_CHECK(*asked_ < candidates_->size() && !history_->known(*asked_));
    return asked_;
}

/// A candidate that is not known, all with the same chance.
std::size_t Tuner::draw() {
    std::size_t skip = random_.below(candidates_->size() - history_->size());
    for (std::size_t candidate = 0;; ++candidate) {
        if (!history_->known(candidate) && skip-- == 0) return candidate;
    }
}

Result<void> Tuner::tell(std::size_t candidate, double cost) {
    if (candidate >= candidates_->size()) {
        return bad_input("Candidate {} does not exist; there are {}.", candidate, candidates_->size());
    }
    if (std::isnan(cost) || cost <= 0.0) {
        return bad_input("The cost {} of candidate {} is not above 0; what fails costs kInvalidCost.", cost, candidate);
    }
    const bool is_new = !history_->known(candidate);
    history_->add(candidate, cost);
    if (asked_ == candidate) asked_.reset();
    if (is_new) strategy_->told(candidate);
    return {};
}

std::optional<Best> Tuner::best() const {
    const std::optional<std::size_t> best = history_->best();
    if (!best) return std::nullopt;
    return Best{*best, history_->cost(*best), history_->samples(*best).size()};
}

}  // namespace yolk::autotune
