// SPDX-License-Identifier: Apache-2.0
// A search step by step: what all searches of the house do around what is each one's own.
#pragma once

#include <cstdint>
#include <optional>

#include "objective.hpp"

namespace yolk::hyper {

/// What differs between them.
class SearchSteps {
   public:
    virtual ~SearchSteps() = default;
    /// Of the step that is next, the centre (member -1) among them; after the last step the centre alone, since what
    /// that step made competes as well.
    [[nodiscard]] virtual Perturbations candidates() const = 0;
    /// Evaluates them, and makes the next centre of it. Nothing: there is nothing to report, because the budget is
    /// spent or the steps are over.
    [[nodiscard]] virtual Result<std::optional<StepReport>> make(const Perturbations& candidates) = 0;
    [[nodiscard]] virtual std::uint32_t done() const = 0;  ///< steps
    /// What the next step depends on, for a checkpoint. Blocks.
    [[nodiscard]] virtual Result<CentreState> state() const = 0;
};

/// To the end of the steps, or until the budget or the caller ends them: the best centre so far is kept. When it
/// returns, nothing reads a centre of `steps` any more.
[[nodiscard]] Result<void> run_steps(SystemObjective& objective, SearchSteps& steps);

}  // namespace yolk::hyper
