// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/train/replay.hpp"

#include <fmt/format.h>

#include <cerrno>

#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/train/policy_file.hpp"

#include "checkpoint.hpp"
#include "logged_run.hpp"
#include "output_folder.hpp"
#include "run_log_replay.hpp"
#include "yolk/internal/evolve/setting_reader.hpp"

namespace yolk::train {
namespace {

using evolve::RunLogReader;

/// A log with what its settings make, and how far it is to be replayed.
struct Replay {
    RunLogReader log;
    LoggedRun run;
    std::uint32_t generations = 0;
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

Result<RunLogReader> open_log_of(const std::filesystem::path& given) {
    std::error_code code;
    const bool is_folder = std::filesystem::is_directory(given, code);
    const std::filesystem::path path = is_folder ? log_path(given) : given;
    Result<RunLogReader> log = RunLogReader::open(path);
    if (log || log.error().native != ENOENT) return log;
    return io_error(fmt::format("There is no log '{}'. Give the log.yolk of a run or its folder, or the FILE.log.yolk "
                                "of a search; a run with --no-log has none.",
                                shown(path)),
                    ENOENT);
}

Result<Replay> begin_replay(const std::filesystem::path& given, const ReplayOptions& options) {
    YOLK_TRY(RunLogReader log, open_log_of(given));
    const std::string what = fmt::format("'{}'", shown(log.path()));
    YOLK_TRY(LoggedRun run, logged_run(log.header(), what));
    if (const std::uint32_t first = log.header().first_generation; first != 0) {
        return bad_input(
            "{} begins after generation {}, since the run went on from a checkpoint there without its log, so that its "
            "weights cannot be rebuilt from it alone. `train --resume` uses it together with the checkpoint.",
            what, first);
    }
    const std::uint32_t generations = options.generation.value_or(log.generations());
    if (generations > log.generations()) {
        return bad_input("{} ends after generation {}; generation {} was asked for. Ask for {} at most.", what,
                         log.generations(), generations, log.generations());
    }
    return Replay{.log = std::move(log), .run = std::move(run), .generations = generations};
}

/// What a run would find there must be of one run.
Result<void> prepare_replay_folder(const std::filesystem::path& folder, const RunLogReader& log,
                                   std::optional<WriterLock>& lock) {
    std::error_code code;
    if (std::filesystem::equivalent(log.path(), log_path(folder), code)) {
        return bad_input("'{}' is the folder of the log itself, which would be cut. Give another folder.",
                         shown(folder));
    }
    if (std::filesystem::exists(metrics_path(folder), code)) {
        return bad_input(
            "A run has trained in '{}' (its metrics.jsonl is there), and what a replay writes would not fit it. Give "
            "another folder.",
            shown(folder));
    }
    return prepare_output_folder(folder, lock);
}

/// The log as it was after so many generations.
Result<void> copy_log(const RunLogReader& from, const std::filesystem::path& to, std::uint32_t generations) {
    evolve::RunLogWriter log = evolve::RunLogWriter::replace(to, from.header());
    for (std::uint32_t g = 0; g < generations; ++g) {
        YOLK_TRY(const evolve::LoggedGeneration logged, from.read(g));
        YOLK_TRY_VOID(log.append(logged));
    }
    return log.sync();
}

Result<void> write_replayed(const Replay& replay, const ReplayedState& state, const std::filesystem::path& folder,
                            ReplayOutcome& outcome) {
    // Of an earlier replay: they would stay beside the new ones, or lead elsewhere until these are complete.
    YOLK_TRY_VOID(remove_file(checkpoint_path(folder)));
    YOLK_TRY_VOID(remove_file(log_path(folder)));
    if (state.generation > 0) {
        YOLK_TRY_VOID(copy_log(replay.log, log_path(folder), state.generation));
        YOLK_TRY_VOID(write_checkpoint(checkpoint_path(folder), {.settings = replay.log.header().settings,
                                                                 .generation = state.generation,
                                                                 .solved = state.solved,
                                                                 .finished = false,
                                                                 .state_hash = state.state_hash,
                                                                 .parameters = state.parameters,
                                                                 .optimizer_state = state.optimizer_state}));
        outcome.checkpoint = checkpoint_path(folder);
    }
    YOLK_TRY_VOID(save_policy(policy_path(folder), {.task = replay.run.task,
                                                    .environment_source = replay.run.environment_source,
                                                    .network = replay.run.network,
                                                    .generations = state.generation,
                                                    .seed = replay.run.evolution.seed,
                                                    .parameters = state.parameters}));
    outcome.policy = policy_path(folder);
    return {};
}

}  // namespace

Result<ReplayOutcome> replay(const evolve::Devices& devices, const std::filesystem::path& given,
                             const ReplayOptions& options, const OnReplayProgress& progress) {
    YOLK_TRY(const Replay replay, begin_replay(given, options));
    std::optional<WriterLock> lock;
    if (!options.out.empty()) YOLK_TRY_VOID(prepare_replay_folder(options.out, replay.log, lock));
    const std::vector<float> none;
    const ReplayStart start{.table = replay.run.parameters,
                            .options = replay.run.evolution,
                            .parameters = replay.run.initial,
                            .optimizer_state = none,
                            .hang_limit = options.hang_limit};
    evolve::OnReplayed on_replayed;
    if (progress) on_replayed = [&](std::uint32_t done) { return progress(done, replay.generations); };
    YOLK_TRY(const std::vector<Device> handles, devices.handles());
    YOLK_TRY(const ReplayedState state,
             handles.empty() ? replay_on_host(start, replay.log, replay.generations, on_replayed)
                             : replay_on_device(handles.front(), start, replay.log, replay.generations, on_replayed));
    ReplayOutcome outcome{.task = replay.run.task,
                          .seed = replay.run.evolution.seed,
                          .population = replay.run.evolution.population,
                          .generations_in_log = replay.log.generations(),
                          .torn_bytes = replay.log.torn_bytes(),
                          .generation = state.generation,
                          .state_hash = state.state_hash,
                          .state_digest = state.state_digest,
                          .differs_from = state.differs_from};
    if (!options.out.empty()) YOLK_TRY_VOID(write_replayed(replay, state, options.out, outcome));
    outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - replay.start).count();
    return outcome;
}

Result<FoundLog> find_log(const std::filesystem::path& given) {
    YOLK_TRY(const RunLogReader log, open_log_of(given));
    FoundLog found{.file = log.path()};
    if (const std::string* const system = system_of(log.header())) found.system = *system;
    const std::string* const task = evolve::SettingReader(log.header().settings, "the log").find("task");
    found.is_bytes = task != nullptr && *task == "bytes";
    return found;
}

}  // namespace yolk::train
