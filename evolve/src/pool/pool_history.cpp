// SPDX-License-Identifier: Apache-2.0
// What a run over a pool remembers of earlier generations, so that it can go back to before a wrong device.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "pool_evolution.hpp"
#include "yolk/log.hpp"

namespace yolk::evolve {
namespace {

/// Generations between two states that an audit may go back to: a copy of the state each, so not too often; and going
/// back applies at most twice as many, where audits are frequent enough to verify the first of the two.
constexpr std::uint32_t kGenerationsPerBase = 64;

}  // namespace

/// No update before this generation can become suspect any more. With other ranks none can: their states were compared.
std::uint32_t PoolEvolution::updates_verified() const {
    return team || has_own_update() || !is_integer_rule(options.fitness) ? state.generation : lead_verified;
}

std::uint32_t PoolEvolution::settled() const noexcept {
    if (!history) return state.generation;
    return std::max(history->base.generation, std::min(verified, updates_verified()));
}

void PoolEvolution::remember(const ShapedGeneration& given) {
    if (!history) return;
    history->since.push_back(given);
    if (history->later_base && std::min(verified, updates_verified()) >= history->later_base->generation) {
        const std::uint32_t passed = history->later_base->generation - history->base.generation;
        history->base = *std::exchange(history->later_base, std::nullopt);
        history->since.erase(history->since.begin(), history->since.begin() + passed);
    }
    if (!history->later_base && state.generation - history->base.generation >= kGenerationsPerBase)
        history->later_base = state;
}

/// What came from outside cannot be made again: an audit goes back to here and no further.
void PoolEvolution::forget_history() {
    if (history) history = History{.base = state};
}

/// To before this generation, by what is remembered of those since the base.
Result<void> PoolEvolution::go_back(std::uint32_t generation) {
    if (!history) {
        return bad_input(
            "A device of another rank computed wrongly, and this rank, which has no audits, remembers nothing to go "
            "back to. Give all ranks the same audit share.");
    }
    const std::uint32_t from = state.generation;
    const std::uint32_t target = std::max(generation, history->base.generation);
    std::vector<ShapedGeneration> again = std::exchange(history->since, {});
    again.resize(target - history->base.generation);
    history->later_base.reset();
    pool->went_back(target);
    verified = std::min(verified, target);
    state = history->base;
    YOLK_TRY_VOID(make_lead());
    for (const ShapedGeneration& given : again) {
        YOLK_TRY_VOID(update(given, {}));
        remember(given);
    }
    log_warning(fmt::format("The run goes back from generation {} to generation {}: what came after it may be wrong.{}",
                            from, target,
                            generation >= target ? ""
                                                 : " So may generations before it, but values that were given from "
                                                   "outside cannot be made again."));
    return {};
}

Result<void> PoolEvolution::go_back_together(std::uint32_t generation) {
    Result<void> done = go_back(generation);
    return team ? agree(team->exchange(), done) : done;
}

}  // namespace yolk::evolve
