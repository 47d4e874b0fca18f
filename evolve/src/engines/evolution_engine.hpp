// SPDX-License-Identifier: Apache-2.0
// What is behind an Evolution: one device, or a pool of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "yolk/evolution.hpp"
#include "yolk/internal/evolve/device_pool.hpp"
#include "yolk/internal/evolve/ranks.hpp"

namespace yolk::evolve {

/// The members of Evolution, whose header says what they do.
class EvolutionEngine {
   public:
    virtual ~EvolutionEngine() = default;
    EvolutionEngine(const EvolutionEngine&) = delete;
    EvolutionEngine& operator=(const EvolutionEngine&) = delete;

    [[nodiscard]] virtual Result<GenerationSummary> step() = 0;
    [[nodiscard]] virtual Result<GenerationSummary> apply(const ShapedGeneration& shaped,
                                                          std::span<const float> gradient) = 0;
    [[nodiscard]] virtual Result<ShapedGeneration> shaped() const = 0;
    [[nodiscard]] virtual std::uint32_t generations() const noexcept = 0;
    [[nodiscard]] virtual const ParameterTable& table() const noexcept = 0;
    [[nodiscard]] virtual std::span<const float> parameters() const noexcept = 0;
    [[nodiscard]] virtual std::span<const float> optimizer_state() const noexcept = 0;
    [[nodiscard]] virtual Result<std::vector<float>> scores() const = 0;
    [[nodiscard]] virtual Result<void> set_parameters(std::span<const float> values) = 0;
    [[nodiscard]] virtual Result<void> set_elements(std::uint32_t first, std::span<const float> values) = 0;
    [[nodiscard]] virtual Result<void> refresh() = 0;
    [[nodiscard]] virtual BufferView device_parameters() const noexcept = 0;
    [[nodiscard]] virtual Result<std::string> state_digest() const = 0;
    [[nodiscard]] virtual Result<bool> score_mean();
    [[nodiscard]] virtual MeanScores mean() const noexcept { return {}; }
    [[nodiscard]] virtual std::uint32_t settled() const noexcept { return generations(); }
    [[nodiscard]] virtual std::span<const WorkerShare> shares() const noexcept { return {}; }
    [[nodiscard]] virtual std::span<const RankShare> rank_shares() const noexcept { return {}; }

   protected:
    EvolutionEngine() = default;
};

}  // namespace yolk::evolve
