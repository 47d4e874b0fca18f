// SPDX-License-Identifier: Apache-2.0
// Audits of the update: the same generation made on a second device, with the exact twin to judge.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "pool_evolution.hpp"
#include "yolk/internal/evolve/state_digest.hpp"
#include "yolk/internal/evolve/update_twin.hpp"

namespace yolk::evolve {

std::optional<std::size_t> PoolEvolution::second_device() const {
    for (std::size_t i = 0; i < pool->device_count(); ++i) {
        if (i != lead_index && pool->is_used(i)) return i;
    }
    return std::nullopt;
}

Result<PoolEvolution::State> PoolEvolution::updated_on(std::size_t worker, const ShapedGeneration& given) {
    EvolutionParts again{.parameters = parts.parameters,
                         .initial = before.parameters,
                         .config = parts.config,
                         .optimizer_state = before.optimizer,
                         .generation = before.generation};
    YOLK_TRY(const auto run,
             DeviceEvolution::create(pool->device(worker), pool->dispatcher(worker), std::move(again), options));
    run->not_finite_named = true;  // the lead did
    YOLK_TRY_VOID(run->apply(given, {}));
    return State{.parameters = {run->parameters().begin(), run->parameters().end()},
                 .optimizer = {run->optimizer_state().begin(), run->optimizer_state().end()},
                 .generation = run->generations()};
}

Result<std::uint32_t> PoolEvolution::audit_update(const ShapedGeneration& given) {
    // Functions of the caller's are not a device's, and sums of floats have no twin to the bit.
    const DevicePoolOptions& pooled = pool->options();
    if (!history || has_own_update() || !is_integer_rule(options.fitness) ||
        !is_update_audited(pooled.audit, pooled.seed, before.generation))
        return kNothingSuspect;
    while (const std::optional<std::size_t> other = second_device()) {
        const Result<State> second = updated_on(*other, given);
        if (second) return judge_update(given, *second, *other);
        if (!is_of_device(second.error())) return second.error();
        pool->drop(*other, second.error().message);
    }
    return judge_lead(given);
}

/// Nobody else is left: the exact twin makes the update as well.
std::uint32_t PoolEvolution::judge_lead(const ShapedGeneration& given) {
    if (same_bits(state, updated_by_twin(before, parts.parameters, options, given))) {
        lead_verified = state.generation;
        return kNothingSuspect;
    }
    const std::uint32_t doubtful = doubtful_since(lead_index);
    distrust_update(lead_index);
    return std::min({doubtful, before.generation, team ? before.generation : lead_verified});
}

void PoolEvolution::distrust_update(std::size_t worker) {
    pool->drop(worker, fmt::format("It computes wrongly: its update of generation {} is not the exact twin's.",
                                   before.generation));
}

std::uint32_t PoolEvolution::doubtful_since(std::size_t worker) const {
    return begun[worker] == 0 ? kNothingSuspect : pool->verified(worker);
}

/// A device that makes wrong updates may have scored members wrongly as well. With other ranks the states before this
/// update were compared, so that no earlier update of the lead is in doubt.
Result<std::uint32_t> PoolEvolution::judge_update(const ShapedGeneration& given, const State& second,
                                                  std::size_t other) {
    if (same_bits(state, second)) {
        lead_verified = state.generation;
        return kNothingSuspect;
    }
    const State right = updated_by_twin(before, parts.parameters, options, given);
    std::uint32_t suspect = kNothingSuspect;
    const auto distrust = [&](std::size_t worker) {
        suspect = std::min(suspect, doubtful_since(worker));
        distrust_update(worker);
    };
    if (!same_bits(second, right)) distrust(other);
    if (same_bits(state, right)) {
        lead_verified = state.generation;
        return suspect;
    }
    distrust(lead_index);
    return std::min({suspect, before.generation, team ? before.generation : lead_verified});
}

Result<std::string> PoolEvolution::right_digest(const ShapedGeneration& given) const {
    const State right = updated_by_twin(before, parts.parameters, options, given);
    return evolve::state_digest(right.parameters, right.optimizer, right.generation);
}

}  // namespace yolk::evolve
