// SPDX-License-Identifier: Apache-2.0
// Audits of the update: the same generation made on a second device, with the exact twin to judge.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "pool_evolution.hpp"
#include "yolk/core/philox.hpp"
#include "yolk/reference/es_update.hpp"
#include "yolk/reference/optimizer.hpp"

namespace yolk::evolve {
namespace {

constexpr std::uint32_t kUpdateAudits = 0x75706461U;  // apart from the members' draws

bool is_drawn(const DevicePoolOptions& options, std::uint32_t generation) {
    const PhiloxKey key{static_cast<std::uint32_t>(options.seed), static_cast<std::uint32_t>(options.seed >> 32U)};
    return static_cast<double>(philox4x32({generation, kUpdateAudits, 0, 0}, key)[0]) * 0x1p-32 < options.audit;
}

bool same_bits(std::span<const float> left, std::span<const float> right) {
    return left.size() == right.size() && std::memcmp(left.data(), right.data(), left.size_bytes()) == 0;
}

/// What the exact twin makes of a state.
PoolEvolution::State updated_by_twin(PoolEvolution::State state, const ParameterTable& table,
                                     const EvolutionOptions& options, const ShapedGeneration& given) {
    const Schedule schedule(options, state.generation);
    const std::vector<float> gradient = reference::es_update_twin(
        {.parameters = table, .population = options.population, .rank = options.rank, .antithetic = options.antithetic},
        given.integer_weights, given.summary, schedule.noise_time());
    reference::optimizer_twin({.rule = options.optimizer,
                               .element_count = table.element_count(),
                               .beta1 = options.beta1,
                               .beta2 = options.beta2},
                              gradient, state.parameters, state.optimizer, schedule.learning_rate, state.generation);
    ++state.generation;
    return state;
}

}  // namespace

std::optional<std::size_t> PoolEvolution::second_device() const {
    for (std::size_t i = 0; i < pool->device_count(); ++i) {
        if (i != lead_index && pool->is_used(i)) return i;
    }
    return std::nullopt;
}

Result<bool> PoolEvolution::update_passes(const State& before, const ShapedGeneration& given) {
    const bool has_stages = parts.stages.update || parts.stages.optimize;  // the caller's functions, not a device's
    if (!history || has_stages || !is_drawn(pool->options(), before.generation)) return true;
    while (const std::optional<std::size_t> other = second_device()) {
        const auto make = [&]() -> Result<State> {
            EvolutionParts again{.parameters = parts.parameters,
                                 .initial = before.parameters,
                                 .config = parts.config,
                                 .optimizer_state = before.optimizer,
                                 .generation = before.generation};
            YOLK_TRY(const auto run, DeviceEvolution::create(pool->device(*other), pool->dispatcher(*other),
                                                             std::move(again), options));
            YOLK_TRY_VOID(run->apply(given, {}));
            return State{.parameters = {run->parameters().begin(), run->parameters().end()},
                         .optimizer = {run->optimizer_state().begin(), run->optimizer_state().end()},
                         .generation = run->generations()};
        };
        const Result<State> second = make();
        if (!second && !is_of_device(second.error())) return second.error();
        if (!second) {
            pool->drop(*other, second.error().message);
            continue;
        }
        return judge_update(before, given, *second, *other);
    }
    return true;
}

Result<bool> PoolEvolution::judge_update(const State& before, const ShapedGeneration& given, const State& second,
                                         std::size_t other) {
    const auto same = [](const State& a, const State& b) {
        return same_bits(a.parameters, b.parameters) && same_bits(a.optimizer, b.optimizer);
    };
    if (same(state, second)) {
        lead_verified = state.generation;
        return true;
    }
    const State right = updated_by_twin(before, parts.parameters, options, given);
    const std::string reason =
        fmt::format("It computes wrongly: its update of generation {} is not the exact twin's.", before.generation);
    if (!same(second, right)) pool->drop(other, reason);
    if (same(state, right)) return true;
    pool->drop(lead_index, reason);
    return false;
}

}  // namespace yolk::evolve
