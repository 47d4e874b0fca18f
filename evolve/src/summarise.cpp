// SPDX-License-Identifier: Apache-2.0
#include "summarise.hpp"

#include <numeric>

namespace yolk::evolve {

Result<GenerationSummary> summarise(const abi::fitness::Summary& raw,
                                    std::span<const std::uint32_t> evaluation_counters,
                                    std::span<const float> policy_returns, const Schedule& schedule) {
    if (raw.finite_count == 0) {
        return failed_work(
            "In generation {} no member has a finite score, so there is nothing to learn from. The task or the "
            "parameters have diverged: lower sigma or the learning rate.",
            schedule.generation);
    }
    GenerationSummary result{
        .generation = schedule.generation,
        .mean = raw.mean,
        .best = raw.best,
        .worst = raw.worst,
        .variance = raw.variance,
        .not_finite = raw.not_finite_count,
        .first_not_finite = raw.first_not_finite,
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

}  // namespace yolk::evolve
