// SPDX-License-Identifier: Apache-2.0
// A search generation by generation: what all searches of the house do around what is each one's own.
#pragma once

#include <cstdint>
#include <optional>

#include "objective.hpp"

namespace yolk::hyper {

/// What differs between them.
class SearchGenerations {
   public:
    virtual ~SearchGenerations() = default;
    /// Of the generation that is next, the mean (member -1) among them; after the last generation the mean alone, since
    /// what that generation made competes as well.
    [[nodiscard]] virtual Perturbations candidates() const = 0;
    /// Evaluates them, and makes the next mean of it. Nothing: there is nothing to report, because the budget is
    /// spent or the generations are over.
    [[nodiscard]] virtual Result<std::optional<GenerationReport>> make(const Perturbations& candidates) = 0;
    [[nodiscard]] virtual std::uint32_t done() const = 0;  ///< generations
    /// What the next generation depends on, for a checkpoint. Blocks.
    [[nodiscard]] virtual Result<evolve::EvolutionState> state() const = 0;
};

/// To the end of the generations, or until the budget or the caller ends them: the best mean so far is kept. When it
/// returns, nothing reads a mean of `search` any more.
[[nodiscard]] Result<void> run_generations(SystemObjective& objective, SearchGenerations& search);

}  // namespace yolk::hyper
