// SPDX-License-Identifier: Apache-2.0
// The ranks of a search (OptimizeOptions::exchange), as its steps see them: which candidates are this rank's, and what
// all of them know after each part of a step.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "eggroll_steps.hpp"
#include "yolk/evolve/rank_team.hpp"
#include "yolk/evolve/shaped_generation.hpp"
#include "yolk/hyper/optimize.hpp"
#include "yolk/hyper/population.hpp"

namespace yolk::hyper {

/// All ranks make the same calls in the same order. Errors of any rank are every rank's.
class SearchTeam {
   public:
    /// Errors, on all ranks: more ranks than pairs.
    [[nodiscard]] static Result<SearchTeam> create(evolve::Exchange& exchange, const evolve::EvolutionOptions& options);

    /// Members of the population that are this rank's in the next step.
    [[nodiscard]] const evolve::MemberRange& mine() const noexcept { return team_.mine(); }
    /// Of all candidates those of this rank. Rank 0 has the centre, too; where there is nothing else (the last one),
    /// the others have none.
    [[nodiscard]] Perturbations part_of(const Perturbations& all) const;

    using Scored = evolve::RankTeam::Scored;
    /// After the evaluation; `measures` where it was of a whole population.
    [[nodiscard]] Result<Scored> after_scores(const Result<Scored>& mine, bool measures) {
        return team_.after_scores(mine, measures);
    }
    /// What the ranks' rewards come to; the centre's is rank 0's. Sums are added in the ranks' order, so that the last
    /// digit of the mean may follow their number.
    struct Rewards {
        double centre = 0.0;
        RewardSums members{};
    };
    [[nodiscard]] Result<Rewards> together(const Rewards& mine);
    /// Puts what each rank evaluated, and what it exchanged since the last time, into a report.
    void describe(StepReport& report);
    /// The least of the ranks' numbers.
    [[nodiscard]] Result<std::uint32_t> least(const Result<std::uint32_t>& mine);
    [[nodiscard]] Result<evolve::ShapedGeneration> shape(const FitnessDesc& desc, const evolve::MemberRange& members,
                                                         std::span<const float> returns);
    /// After an update. Sums of floats differ between devices, so that a float rule's state is rank 0's on all ranks;
    /// then as much travels as the state has. Otherwise digests are compared.
    [[nodiscard]] Result<std::optional<CentreState>> settle_state(const Result<CentreState>& mine,
                                                                  const std::string& device);
    [[nodiscard]] Result<void> agree(const Result<void>& mine);

   private:
    SearchTeam(evolve::Exchange& exchange, evolve::RankTeam team, bool has_float_rule)
        : exchange_(&exchange), team_(std::move(team)), has_float_rule_(has_float_rule), before_(exchange.traffic()) {}

    evolve::Exchange* exchange_;
    evolve::RankTeam team_;
    bool has_float_rule_ = false;
    evolve::Traffic before_;  // the last report
};

}  // namespace yolk::hyper
