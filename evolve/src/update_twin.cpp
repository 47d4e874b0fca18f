// SPDX-License-Identifier: Apache-2.0
#include "yolk/evolve/update_twin.hpp"

#include <cstring>
#include <span>

#include "yolk/core/philox.hpp"
#include "yolk/evolve/schedule.hpp"
#include "yolk/reference/es_update.hpp"
#include "yolk/reference/optimizer.hpp"

namespace yolk::evolve {
namespace {

constexpr std::uint32_t kUpdateAudits = 0x75706461U;  // apart from the members' draws

bool same_values(std::span<const float> left, std::span<const float> right) {
    return left.size() == right.size() && std::memcmp(left.data(), right.data(), left.size_bytes()) == 0;
}

}  // namespace

std::vector<float> gradient_by_twin(std::uint32_t generation, const ParameterTable& table,
                                    const EvolutionOptions& options, const ShapedGeneration& given) {
    return reference::es_update_twin(
        {.parameters = table, .population = options.population, .rank = options.rank, .antithetic = options.antithetic},
        given.integer_weights, given.summary, Schedule(options, generation).noise_time());
}

EvolutionState updated_by_twin(EvolutionState state, const ParameterTable& table, const EvolutionOptions& options,
                               const ShapedGeneration& given, std::span<const float> gradient) {
    const OptimizerDesc optimizer{.rule = options.optimizer,
                                  .element_count = table.element_count(),
                                  .beta1 = options.beta1,
                                  .beta2 = options.beta2};
    std::vector<float> own;
    if (gradient.empty()) {
        own = gradient_by_twin(state.generation, table, options, given);
        gradient = own;
    }
    state.optimizer.resize(std::size_t{optimizer_state_arrays(options.optimizer)} * table.element_count());
    reference::optimizer_twin(optimizer, gradient, state.parameters, state.optimizer,
                              Schedule(options, state.generation).learning_rate, state.generation);
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
