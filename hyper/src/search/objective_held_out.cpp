// SPDX-License-Identifier: Apache-2.0
// Rewards on examples that a search does not learn from.
#include <utility>

#include "objective.hpp"

namespace yolk::hyper {

bool SystemObjective::held_out_due(std::uint32_t step) const noexcept {
    const std::uint32_t every = options_.held_out_every;
    return step >= options_.steps || (every != 0 && step % every == 0);
}

Result<std::optional<double>> SystemObjective::held_out_reward(std::span<const float> coordinates) {
    if (!held_out_) return std::optional<double>();
    YOLK_TRY(const std::vector<Candidate> candidates, candidates_at(coordinates, 1));
    YOLK_TRY(PopulationOutputs outputs, held_out_->evaluator->evaluate(candidates));
    count_shares(outputs.pooled);
    YOLK_TRY(const PopulationEvaluation evaluation,
             score_population(std::move(outputs), held_out_->expected, scoring()));
    return std::optional(evaluation.rewards.front());
}

Result<std::optional<double>> SystemObjective::held_out_reward(const Perturbations& around) {
    if (!held_out_) return std::optional<double>();
    Perturbations centre = around;
    centre.first_member = -1;
    centre.members = 1;
    YOLK_TRY(PopulationOutputs outputs, held_out_->evaluator->evaluate(centre));
    count_shares(outputs.pooled);
    YOLK_TRY(const PopulationEvaluation evaluation,
             score_population(std::move(outputs), held_out_->expected, scoring()));
    return std::optional(evaluation.rewards.front());
}

}  // namespace yolk::hyper
