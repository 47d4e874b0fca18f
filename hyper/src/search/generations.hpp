// SPDX-License-Identifier: Apache-2.0
// EGGROLL's generations on one device: the population is evaluated through the objective, everything after the scores
// is evolve's, on the device. So is the mean: it is made there, perturbed there, and kept there where it is the best so
// far.
#pragma once

#include <optional>
#include <span>

#include "generation_scores.hpp"
#include "host_view.hpp"
#include "objective.hpp"
#include "search_generations.hpp"
#include "yolk/evolution.hpp"
#include "yolk/internal/evolve/schedule.hpp"

namespace yolk::hyper {

/// The objective must outlive it.
class Generations : public SearchGenerations {
   public:
    /// Frozen rows of the table, which is the objective's else, are left as they are.
    Generations(SystemObjective& objective, ParameterTable table) : objective_(&objective), table_(std::move(table)) {}
    /// Before anything else. Errors: evolve's.
    [[nodiscard]] Result<void> begin(evolve::EvolutionState first);

    [[nodiscard]] Perturbations candidates() const override;
    [[nodiscard]] Result<std::optional<GenerationReport>> make(const Perturbations& candidates) override;
    [[nodiscard]] std::uint32_t done() const override { return evolution_->generations(); }
    [[nodiscard]] Result<evolve::EvolutionState> state() const override { return host_->state(); }

   protected:
    [[nodiscard]] SystemObjective& objective() const noexcept { return *objective_; }
    [[nodiscard]] const ParameterTable& table() const noexcept { return table_; }
    [[nodiscard]] BufferView device_mean() const { return evolution_->device_parameters(); }
    [[nodiscard]] HostView& host() noexcept { return *host_; }
    [[nodiscard]] bool is_over() const { return done() >= objective_->options().generations; }

   private:
    SystemObjective* objective_;
    ParameterTable table_;
    evolve::EvolutionOptions options_;
    evolve::Schedule schedule_;
    GenerationScores* scores_ = nullptr;  ///< the evolution's
    std::optional<evolve::Evolution> evolution_;
    std::optional<HostView> host_;
};

}  // namespace yolk::hyper
