// SPDX-License-Identifier: Apache-2.0
#include "run_log_replay.hpp"

#include "yolk/evolution.hpp"

namespace yolk::train {
namespace {

Result<ReplayedState> replayed(const evolve::Evolution& run, const evolve::RunLogReader& log,
                               std::optional<std::uint32_t> differs) {
    ReplayedState state{.generation = run.generations(), .differs_from = differs};
    state.parameters.assign(run.parameters().begin(), run.parameters().end());
    state.optimizer_state.assign(run.optimizer_state().begin(), run.optimizer_state().end());
    YOLK_TRY(state.state_hash, run.state_hash());
    YOLK_TRY(state.state_digest, run.state_digest());
    if (state.generation > log.header().first_generation) {
        YOLK_TRY(const evolve::LoggedGeneration last, log.read(state.generation - 1));
        state.solved = last.solved;
    }
    return state;
}

}  // namespace

Result<ReplayedState> replay_on_device(const Device& device, const ReplayStart& start, const evolve::RunLogReader& log,
                                       std::uint32_t generations, const evolve::OnReplayed& on_replayed) {
    evolve::EvolutionParts parts{.parameters = start.table, .initial = start.parameters};
    parts.host_elements.emplace();  // none: only the last state is wanted
    parts.digest = true;
    parts.optimizer_state = start.optimizer_state;
    parts.generation = start.generation;
    if (start.pairs_per_slice) parts.config.es_update = EsUpdateConfig{.pairs_per_slice = *start.pairs_per_slice};
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device, {.hang_limit = start.hang_limit}));
    YOLK_TRY(evolve::Evolution run, evolve::Evolution::create(device, dispatcher, std::move(parts), start.options));
    YOLK_TRY(const std::optional<std::uint32_t> differs, replay_log(run, log, generations, on_replayed));
    YOLK_TRY_VOID(run.refresh());
    return replayed(run, log, differs);
}

Result<ReplayedState> replay_on_host(const ReplayStart& start, const evolve::RunLogReader& log,
                                     std::uint32_t generations, const evolve::OnReplayed& on_replayed) {
    evolve::PoolParts parts{.parameters = start.table, .initial = start.parameters};
    YOLK_TRY(evolve::Evolution run,
             evolve::Evolution::create(evolve::Devices::none(), std::move(parts), start.options));
    YOLK_TRY(const std::optional<std::uint32_t> differs, replay_log(run, log, generations, on_replayed));
    return replayed(run, log, differs);
}

}  // namespace yolk::train
