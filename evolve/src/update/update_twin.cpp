// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/evolve/update_twin.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "yolk/es_update.hpp"
#include "yolk/internal/core/philox.hpp"
#include "yolk/internal/evolve/schedule.hpp"
#include "yolk/optimizer.hpp"
#include "yolk/twin.hpp"

namespace yolk::evolve {
namespace {

constexpr std::uint32_t kUpdateAudits = 0x75706461U;  // apart from the members' draws

bool same_values(std::span<const float> left, std::span<const float> right) {
    return left.size() == right.size() && std::memcmp(left.data(), right.data(), left.size_bytes()) == 0;
}

}  // namespace

ShapedGeneration shaped_by_twin(const FitnessDesc& desc, std::span<const float> returns) {
    ShapedGeneration shaped;
    const std::size_t weights = desc.antithetic ? desc.population / 2 : desc.population;
    const bool is_integer = is_integer_rule(desc.rule);
    shaped.integer_weights.resize(is_integer ? weights : 0);
    shaped.float_weights.resize(is_integer ? 0 : weights);
    const reference::HostView view =
        is_integer ? reference::HostView(shaped.integer_weights) : reference::HostView(shaped.float_weights);
    reference::twin_of(desc, {returns, {}, view, shaped.summary});
    return shaped;
}

std::vector<float> gradient_by_twin(std::uint32_t generation, const ParameterTable& table,
                                    const EvolutionOptions& options, const ShapedGeneration& given) {
    const EsUpdateDesc desc{
        .parameters = table, .population = options.population, .rank = options.rank, .antithetic = options.antithetic};
    return reference::twin_result<float>(desc, {given.integer_weights, given.summary},
                                         Schedule(options, generation).noise_time());
}

EvolutionState updated_by_twin(EvolutionState state, const ParameterTable& table, const EvolutionOptions& options,
                               const ShapedGeneration& given, std::span<const float> gradient,
                               std::uint32_t* skipped_elements) {
    const OptimizerDesc optimizer{.rule = options.optimizer,
                                  .element_count = table.element_count(),
                                  .beta1 = options.beta1,
                                  .beta2 = options.beta2};
    std::vector<float> own;
    if (gradient.empty()) {
        own = gradient_by_twin(state.generation, table, options, given);
        gradient = own;
    }
    std::ranges::copy(given.tail, state.parameters.end() - static_cast<std::ptrdiff_t>(given.tail.size()));
    state.optimizer.resize(std::size_t{optimizer_state_arrays(options.optimizer)} * table.element_count());
    std::uint32_t skipped = 0;
    reference::twin_of(optimizer, {gradient, state.parameters, state.optimizer, skipped},
                       Schedule(options, state.generation).learning_rate, state.generation);
    if (skipped_elements != nullptr) *skipped_elements = skipped;
    ++state.generation;
    return state;
}

bool same_bits(const EvolutionState& left, const EvolutionState& right) {
    return same_values(left.parameters, right.parameters) && same_values(left.optimizer, right.optimizer);
}

bool is_update_audited(double share, std::uint64_t seed, std::uint32_t generation) {
    const PhiloxKey key{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)};
    return static_cast<double>(philox4x32({generation, kUpdateAudits, 0, 0}, key)[0]) * 0x1p-32 < share;
}

}  // namespace yolk::evolve
