// SPDX-License-Identifier: Apache-2.0
// A run without a device: members by an evaluator of the host, everything after the scores by exact twins.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "evolution_engine.hpp"
#include "yolk/evolve/evolution_twin.hpp"
#include "yolk/evolve/pool_parts.hpp"

namespace yolk::evolve {

struct HostEvolution final : EvolutionEngine {
    [[nodiscard]] static Result<std::unique_ptr<HostEvolution>> create(PoolParts parts,
                                                                       const EvolutionOptions& options);

    [[nodiscard]] Result<GenerationSummary> step() override;
    [[nodiscard]] Result<GenerationSummary> apply(const ShapedGeneration& given,
                                                  std::span<const float> gradient) override;
    [[nodiscard]] Result<ShapedGeneration> shaped() const override;
    [[nodiscard]] Result<bool> score_mean() override;
    [[nodiscard]] MeanScores mean() const noexcept override {
        return {.parameters = mean_parameters, .scores = std::span(scores_of_mean).first(parts.mean_scores)};
    }
    [[nodiscard]] std::uint32_t generations() const noexcept override { return twin->generations(); }
    [[nodiscard]] const ParameterTable& table() const noexcept override { return twin->table(); }
    [[nodiscard]] std::span<const float> parameters() const noexcept override { return twin->parameters(); }
    [[nodiscard]] std::span<const float> optimizer_state() const noexcept override { return twin->optimizer_state(); }
    [[nodiscard]] Result<std::vector<float>> scores() const override;
    [[nodiscard]] Result<void> set_parameters(std::span<const float> to) override { return twin->set_parameters(to); }
    [[nodiscard]] Result<void> set_elements(std::uint32_t first, std::span<const float> to) override;
    [[nodiscard]] Result<void> refresh() override { return {}; }
    [[nodiscard]] BufferView device_parameters() const noexcept override { return {}; }
    [[nodiscard]] Result<std::string> state_digest() const override { return twin->state_digest(); }

    std::optional<EvolutionTwin> twin;
    PoolParts parts;
    EvolutionOptions options;
    std::unique_ptr<MemberEvaluator> evaluator;
    std::vector<float> returns;  // [episodes, population]
    std::array<double, kMostMeanScores> scores_of_mean{};
    std::vector<float> mean_parameters;
    ShapedGeneration last_shaped;

    /// The evaluator knows of the generation that is next.
    Result<void> begin();
    Result<std::uint64_t> evaluate(const MemberRange& members, std::span<float> to);
};

}  // namespace yolk::evolve
