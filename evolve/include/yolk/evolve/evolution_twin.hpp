// SPDX-License-Identifier: Apache-2.0
// The exact twin of Evolution: the same generation on the host from the primitives' exact twins, so the same state
// hashes in exact mode.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "yolk/core/result.hpp"
#include "yolk/evolve/bounds.hpp"
#include "yolk/evolve/generation.hpp"
#include "yolk/evolve/options.hpp"
#include "yolk/evolve/schedule.hpp"
#include "yolk/evolve/shaped_generation.hpp"
#include "yolk/primitives/rollout.hpp"

namespace yolk::evolve {

/// Returns [episodes, members] and the number of evaluations, of all perturbed members or of the unperturbed policy.
struct TwinEvaluation {
    std::vector<float> returns;
    std::uint64_t evaluations = 0;
};
using TwinEvaluator = std::function<TwinEvaluation(std::span<const float> parameters, const NoiseContext& when)>;
/// The twin of rollout_evaluator.
[[nodiscard]] TwinEvaluator rollout_twin_evaluator(const RolloutDesc& desc, std::uint32_t first_episode = 0);

struct EvolutionTwinParts {
    ParameterTable parameters{};
    std::vector<float> initial{};
    TwinEvaluator evaluator{};         ///< empty: the run has apply() and no step()
    TwinEvaluator policy_evaluator{};  ///< may be empty
    std::vector<ElementBounds> bounds{};
    std::vector<float> optimizer_state{};  ///< of an earlier run, as EvolutionParts has it
    std::uint32_t generation = 0;          ///< likewise
};

/// Not thread-safe.
class EvolutionTwin {
   public:
    /// Errors: options outside their limits, parts that do not fit, fast determinism (only exact mode has a twin).
    [[nodiscard]] static Result<EvolutionTwin> create(EvolutionTwinParts parts, const EvolutionOptions& options);
    /// Errors: NotFiniteWatch's; an evaluator that returns the wrong number of returns.
    [[nodiscard]] Result<GenerationSummary> step();
    /// As Evolution::apply, with the weights alone. Errors: a number of weights that is not this run's.
    [[nodiscard]] Result<GenerationSummary> apply(const ShapedGeneration& shaped);

    /// What the next generation does first: moves the parameters into their bounds.
    void enter_bounds() noexcept { move_into_bounds(parts_.bounds, parameters_); }
    /// Errors: another number of values, one that is not finite.
    [[nodiscard]] Result<void> set_parameters(std::span<const float> values);
    [[nodiscard]] const ParameterTable& table() const noexcept { return parts_.parameters; }
    [[nodiscard]] NoiseContext noise_time() const noexcept { return schedule_.noise_time(); }
    [[nodiscard]] std::uint32_t generations() const noexcept { return schedule_.generation; }
    [[nodiscard]] std::span<const float> parameters() const noexcept { return parameters_; }
    [[nodiscard]] std::span<const float> optimizer_state() const noexcept { return state_; }
    /// Of the last step.
    [[nodiscard]] std::span<const float> gradient() const noexcept { return gradient_; }
    [[nodiscard]] Result<std::string> state_hash() const;
    [[nodiscard]] Result<std::string> state_digest() const;

   private:
    EvolutionTwin() = default;
    EvolutionTwinParts parts_;
    EvolutionOptions options_;
    Schedule schedule_;
    NotFiniteWatch watch_;
    std::vector<float> parameters_, state_, gradient_;
};

}  // namespace yolk::evolve
