// SPDX-License-Identifier: Apache-2.0
// What a run leaves behind: log, checkpoint, policy, and what is good of one that failed.
#include <fmt/format.h>

#include <cerrno>

#include "previous_run.hpp"
#include "run_log_replay.hpp"
#include "run_log_start.hpp"
#include "training_run.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/train/policy_file.hpp"
#include "yolk/json.hpp"
#include "yolk/log.hpp"

namespace yolk::train {

/// Others may write to a folder that is no longer the one that was locked.
Result<void> Run::check_folder() const {
    if (!lock || lock->is_in_place()) return {};
    return io_error(fmt::format("The output folder '{}' (or the lock file in it) was removed or replaced while the run "
                                "was writing there.",
                                shown(options.out)),
                    ENOENT);
}

/// With the first that is written, so that a run which comes to nothing before leaves everything as it was.
Result<void> Run::take_folder() {
    if (folder_is_taken) return {};
    YOLK_TRY(outcome.previous, set_aside(options.out));
    folder_is_taken = true;
    if (!outcome.previous.empty()) {
        log_info(fmt::format("{} It is now in '{}': resume it there, or remove it where it is not needed.",
                             describe_run(outcome.previous, options.out), shown(outcome.previous)));
    }
    return {};
}

/// Where somebody removed the folder, there is a new one for what is on the host. Into another that is there by now,
/// which is not this run's, nothing is written.
bool Run::has_folder_to_save_in() {
    if (check_folder()) return true;
    std::error_code ignored;
    if (std::filesystem::exists(options.out, ignored)) return false;
    lock.reset();
    if (!prepare_output_folder(options.out, lock)) return false;
    in_checkpoint = 0;
    folder_is_remade = true;
    return true;
}

/// After the metrics, so that those of a killed process lead up to anything in its log.
Result<void> Run::write_log(const GenerationReport& report) {
    if (!log) return {};
    evolve::LoggedGeneration logged{.generation = report.generation,
                                    .policy_mean = report.policy_return,
                                    .solved = report.solves,
                                    .digest = report.state_digest};
    YOLK_TRY(logged.shaped, evolution.shaped());
    return log->append(logged);
}

/// The state after the last good generation, where that did not come to the host: by the first device in use whose
/// states are the log's. What fails here leaves the last that did.
void Run::take_state_from_log(const Error& error) {
    if (!log || error.kind == ErrorKind::DeviceLost || last.generations == outcome.generations) return;
    const Result<evolve::RunLogReader> reader = evolve::RunLogReader::open(log->path());
    if (!reader) return;
    for (const Device& device : devices.in_use()) {
        Result<ReplayedState> state = replay_on_device(device,
                                                       {.table = setup.parameters,
                                                        .options = options.evolution,
                                                        .parameters = last.parameters,
                                                        .optimizer_state = last.optimizer_state,
                                                        .generation = last.generations,
                                                        .pairs_per_slice = options.pairs_per_slice,
                                                        .hang_limit = options.hang_limit},
                                                       *reader, outcome.generations);
        if (!state || state->differs_from) continue;
        last = {.parameters = std::move(state->parameters),
                .optimizer_state = std::move(state->optimizer_state),
                .generations = state->generation,
                .solved = state->solved,
                .state_hash = std::move(state->state_hash)};
        return;
    }
}

/// The state from which this process began, which no device of it can have spoiled.
void Run::keep_beginning() {
    last = from ? SavedState{.parameters = from->parameters,
                             .optimizer_state = from->optimizer_state,
                             .generations = from->generation,
                             .solved = from->solved,
                             .state_hash = from->state_hash}
                : SavedState{.parameters = setup.initial, .optimizer_state = initial_optimizer_state(options, setup)};
}

/// A copy: the evolution's own mirror is overwritten by a generation that fails.
void Run::keep_state(std::string state_hash) {
    const std::span<const float> parameters = evolution.parameters();
    const std::span<const float> state = evolution.optimizer_state();
    last.parameters.assign(parameters.begin(), parameters.end());
    last.optimizer_state.assign(state.begin(), state.end());
    last.generations = evolution.generations();
    last.solved = outcome.solved;
    last.state_hash = std::move(state_hash);
}

/// With a generation that ended the run without a hash being due.
Result<void> Run::catch_up() {
    if (last.generations == outcome.generations) return {};
    YOLK_TRY_VOID(evolution.refresh());
    YOLK_TRY(std::string hash, evolution.state_hash());
    keep_state(std::move(hash));
    return {};
}

/// After the metrics, so that these lead up to any checkpoint that a power failure may leave.
Result<void> Run::save_checkpoint(bool finished) {
    if (options.out.empty()) return {};
    YOLK_TRY_VOID(metrics.sync());
    if (log) YOLK_TRY_VOID(log->sync());
    checkpoint_is_due = false;
    YOLK_TRY_VOID(write_checkpoint(checkpoint_path(options.out), {.settings = run_settings(options, setup.environment),
                                                                  .generation = last.generations,
                                                                  .solved = last.solved,
                                                                  .finished = finished,
                                                                  .state_hash = last.state_hash,
                                                                  .parameters = last.parameters,
                                                                  .optimizer_state = last.optimizer_state}));
    in_checkpoint = last.generations;
    return {};
}

/// What fails in a device may go better on another one, or later.
Error Run::with_way_on(Error error) const {
    const bool of_device =
        error.kind == ErrorKind::DeviceLost || error.kind == ErrorKind::Driver || error.kind == ErrorKind::OutOfMemory;
    const bool by_log = log && log->generations() > in_checkpoint;
    const std::uint32_t kept = by_log ? log->generations() : in_checkpoint;
    if (of_device && kept > 0) {
        error.message +=
            fmt::format(" The {} '{}' has the first {} generations; resume from it.", by_log ? "log" : "checkpoint",
                        shown(by_log ? log->path() : checkpoint_path(options.out)), kept);
    }
    return error;
}

Result<void> Run::save_end() {
    outcome.evaluations_per_second = static_cast<double>(evaluations) / seconds_since(start);
    YOLK_TRY_VOID(catch_up());
    outcome.state_hash = last.state_hash;
    if (options.out.empty()) return {};
    YOLK_TRY_VOID(check_folder());
    YOLK_TRY_VOID(take_folder());
    return save_checkpoint(at_its_end());
}

Result<std::filesystem::path> save(const Run& run) {
    if (run.options.out.empty()) return std::filesystem::path{};
    const bool is_own = run.setup.host || run.options.own_environment;
    std::filesystem::path path = policy_path(run.options.out);
    YOLK_TRY_VOID(save_policy(path, {.task = std::string(run.setup.environment.name),
                                     .environment_source = is_own ? environment_source(run.options) : std::string(),
                                     .network = run.options.network,
                                     .generations = run.last.generations,
                                     .seed = run.options.evolution.seed,
                                     .parameters = run.last.parameters}));
    return path;
}

/// The generations before one that failed are not lost with it, whatever its reason was, as far as their state was on
/// the host or is in the log. The error, saying so.
Error Run::save_what_is_good(Error error) {
    // It may have failed on its way back: then what is later than its state may be spoilt.
    if (evolution.generations() < outcome.generations && !go_back(evolution.generations())) return error;
    if (options.out.empty() || !has_folder_to_save_in()) return error;
    take_state_from_log(error);
    return save_last(std::move(error));
}

Error Run::save_last(Error error) {
    if (last.generations == outcome.resumed_from) {
        if (error.kind == ErrorKind::Failed) {
            error.message += outcome.generations == outcome.resumed_from
                                 ? " No generation of this run went well, so that nothing was saved."
                                 : " No state of this run had been hashed (hash_every), so that nothing was saved.";
        }
        return with_way_on(std::move(error));
    }
    // The metrics may be what failed; without them the checkpoint could not be resumed from.
    if (in_checkpoint < last.generations && !save_checkpoint(false)) return with_way_on(std::move(error));
    if (const Result<std::filesystem::path> policy = save(*this);
        policy && (error.kind == ErrorKind::Failed || folder_is_remade)) {
        error.message +=
            fmt::format(" The last {} state, after {} generation{}, was saved in '{}' and '{}'.",
                        last.generations == outcome.generations ? "good" : "hashed", last.generations,
                        last.generations == 1 ? "" : "s", shown(*policy), shown(checkpoint_path(options.out)));
    }
    return with_way_on(std::move(error));
}

}  // namespace yolk::train
