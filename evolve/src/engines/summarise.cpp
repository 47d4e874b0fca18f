// SPDX-License-Identifier: Apache-2.0
#include "summarise.hpp"

#include <fmt/format.h>

#include <limits>
#include <numeric>
#include <utility>

#include "yolk/log.hpp"

namespace yolk::evolve {

GenerationSummary summarise(const abi::fitness::Summary& raw, std::span<const std::uint32_t> evaluation_counters,
                            std::span<const float> policy_returns, const Schedule& schedule) {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    const bool any = raw.finite_count > 0;
    GenerationSummary result{
        .generation = schedule.generation,
        .mean = any ? raw.mean : kNan,
        .best = any ? raw.best : kNan,
        .worst = any ? raw.worst : kNan,
        .variance = any ? raw.variance : kNan,
        .not_finite = raw.not_finite_count,
        .first_not_finite = raw.first_not_finite,
        .has_finite = any,
        .evaluations = std::accumulate(evaluation_counters.begin(), evaluation_counters.end(), std::uint64_t{0}),
        .policy_mean = std::nullopt,
        .sigma = schedule.sigma,
        .learning_rate = schedule.learning_rate};
    if (!policy_returns.empty()) {
        const double sum = std::accumulate(policy_returns.begin(), policy_returns.end(), 0.0);
        result.policy_mean = static_cast<float>(sum / static_cast<double>(policy_returns.size()));
    }
    return result;
}

Result<void> NotFiniteWatch::take(const GenerationSummary& summary) {
    if (summary.skipped_elements > 0 && !std::exchange(skipped_named_, true)) {
        log_warning(fmt::format(
            "In generation {} {} parameters were left as they were, because they or their moments would not "
            "be finite: lower the learning rate. Later ones are counted without a notice.",
            summary.generation, summary.skipped_elements));
    }
    skipped_in_a_row_ = summary.skipped_elements > 0 ? skipped_in_a_row_ + 1 : 0;
    if (skipped_in_a_row_ == kMostInARow) {
        return failed_work(
            "In generation {} and the {} before it parameters were left as they were, because they or their moments "
            "would not be finite: training has diverged. Lower the learning rate or sigma.",
            summary.generation, kMostInARow - 1);
    }
    if (summary.has_finite) {
        in_a_row_ = 0;
        return {};
    }
    ++in_a_row_;
    if ((summary.generation == 0 && !changing_examples_) || in_a_row_ == kMostInARow) {
        return failed_work(
            "In generation {}{} no member has a finite score, so there is nothing to learn from. The task or the "
            "parameters have diverged: lower sigma or the learning rate.",
            summary.generation, in_a_row_ == 1 ? "" : fmt::format(" and the {} before it", in_a_row_ - 1));
    }
    if (!std::exchange(score_named_, true)) {
        log_warning(
            fmt::format("In generation {} no member has a finite score. It counts as one without a gradient; {} in a "
                        "row end the run. Later ones are counted without a notice.",
                        summary.generation, kMostInARow));
    }
    return {};
}

}  // namespace yolk::evolve
