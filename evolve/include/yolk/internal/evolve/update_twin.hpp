// SPDX-License-Identifier: Apache-2.0
// The shaping and the update of a generation by its exact twin on the host: what audits of updates are judged by, and
// runs whose members nobody evaluates on a device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/fitness.hpp"
#include "yolk/internal/evolve/options.hpp"
#include "yolk/internal/evolve/shaped_generation.hpp"
#include "yolk/internal/primitives/parameters.hpp"

namespace yolk::evolve {

/// What a generation depends on, on the host: a device that is lost takes nothing with it.
struct EvolutionState {
    std::vector<float> parameters{};  ///< [element_count]
    std::vector<float> optimizer{};   ///< as Evolution::optimizer_state; empty: zeros, as a run begins
    std::uint32_t generation = 0;     ///< generations done
};

/// A generation's weights and summary from its returns, [episodes, population].
[[nodiscard]] ShapedGeneration shaped_by_twin(const FitnessDesc& desc, std::span<const float> returns);
/// The gradient of a generation's weights, [element_count]; of an integer rule. Several times as slow as a device.
[[nodiscard]] std::vector<float> gradient_by_twin(std::uint32_t generation, const ParameterTable& table,
                                                  const EvolutionOptions& options, const ShapedGeneration& given);
/// What the exact twin makes of a state, as Evolution::apply. `gradient` [element_count]: in place of the one that the
/// weights give; `skipped_elements`: where their number goes (GenerationSummary).
[[nodiscard]] EvolutionState updated_by_twin(EvolutionState state, const ParameterTable& table,
                                             const EvolutionOptions& options, const ShapedGeneration& given,
                                             std::span<const float> gradient = {},
                                             std::uint32_t* skipped_elements = nullptr);
[[nodiscard]] bool same_bits(const EvolutionState& left, const EvolutionState& right);

/// Whether the update of a generation is drawn for an audit of this share, 0 to 1; apart from the draws of members.
[[nodiscard]] bool is_update_audited(double share, std::uint64_t seed, std::uint32_t generation);

}  // namespace yolk::evolve
