// SPDX-License-Identifier: Apache-2.0
// A run without a device: members by an evaluator of the host, everything after the scores by exact twins.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "evolution_checks.hpp"
#include "evolution_engine.hpp"
#include "yolk/evolution.hpp"
#include "yolk/internal/evolve/state_digest.hpp"
#include "yolk/internal/evolve/update_twin.hpp"

namespace yolk::evolve {

struct HostEvolution final : EvolutionEngine {
    [[nodiscard]] static Result<std::unique_ptr<HostEvolution>> create(PoolParts parts, const EvolutionOptions& options,
                                                                       bool has_other_ranks);

    [[nodiscard]] Result<GenerationSummary> step() override;
    [[nodiscard]] Result<GenerationSummary> apply(const ShapedGeneration& given,
                                                  std::span<const float> gradient) override;
    [[nodiscard]] Result<ShapedGeneration> shaped() const override { return kept_weights(parts, last_shaped); }
    [[nodiscard]] Result<bool> score_mean() override;
    [[nodiscard]] MeanScores mean() const noexcept override {
        return {.parameters = mean_parameters, .scores = std::span(scores_of_mean).first(parts.mean_scores)};
    }
    [[nodiscard]] std::uint32_t generations() const noexcept override { return state.generation; }
    [[nodiscard]] const ParameterTable& table() const noexcept override { return parts.parameters; }
    [[nodiscard]] std::span<const float> parameters() const noexcept override { return state.parameters; }
    [[nodiscard]] std::span<const float> optimizer_state() const noexcept override { return state.optimizer; }
    [[nodiscard]] Result<std::vector<float>> scores() const override;
    [[nodiscard]] Result<void> set_parameters(std::span<const float> to) override;
    [[nodiscard]] Result<void> set_elements(std::uint32_t first, std::span<const float> to) override;
    [[nodiscard]] Result<void> refresh() override { return {}; }
    [[nodiscard]] BufferView device_parameters() const noexcept override { return {}; }
    [[nodiscard]] Result<std::string> state_digest() const override {
        return evolve::state_digest(state.parameters, state.optimizer, state.generation);
    }

    PoolParts parts;
    EvolutionOptions options;
    std::unique_ptr<MemberEvaluator> evaluator;  // null: apply() alone
    EvolutionState state;
    std::vector<float> returns;  // [episodes, population]
    std::array<double, kMostMeanScores> scores_of_mean{};
    std::vector<float> mean_parameters;
    ShapedGeneration last_shaped;

    /// The evaluator knows of the generation that is next.
    Result<void> begin();
    Result<std::uint64_t> evaluate(const MemberRange& members, std::span<float> to);
    /// Returns of the unperturbed policy as it is now; empty without PoolParts::host_policy.
    Result<std::vector<float>> policy_returns(const NoiseContext& when);
};

}  // namespace yolk::evolve
