// SPDX-License-Identifier: Apache-2.0
#include "run_log_start.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "output_folder.hpp"
#include "previous_run.hpp"
#include "run_log_replay.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/text_file.hpp"
#include "yolk/internal/evolve/state_digest.hpp"
#include "yolk/json.hpp"
#include "yolk/log.hpp"

namespace yolk::train {
namespace {

using evolve::RunLogReader;
using evolve::RunLogWriter;

bool is_there(const std::filesystem::path& path) {
    std::error_code code;
    return std::filesystem::exists(path, code);
}

Result<RunLogWriter> new_log(const TrainOptions& options, const TaskSetup& setup,
                             const std::optional<Checkpoint>& from) {
    const std::vector<float> zeros = initial_optimizer_state(options, setup);
    YOLK_TRY(evolve::RunLogHeader header,
             evolve::run_log_header(run_settings(options, setup.environment), options.evolution,
                                    from ? from->parameters : setup.initial, from ? from->optimizer_state : zeros,
                                    from ? from->generation : 0, options.network.normalizer_elements()));
    return RunLogWriter::replace(log_path(options.out), std::move(header));
}

/// Nothing where there is none, or where none is wanted.
Result<std::optional<RunLogReader>> open_log(const TrainOptions& options, const TaskSetup& setup) {
    const std::filesystem::path path = log_path(options.out);
    if (!options.log || !is_there(path)) return std::optional<RunLogReader>();
    Result<RunLogReader> log = RunLogReader::open(path);
    if (!log) {
        Error error = std::move(log).error();
        error.message += " Without it (--no-log) a run resumes from its checkpoint alone.";
        return error;
    }
    const std::string what = fmt::format("'{}'", shown(path));
    YOLK_TRY_VOID(check_settings(log->header().settings, options, setup.environment, what));
    if (log->header().element_count != setup.parameters.element_count()) {
        return bad_input("{} is of a network with {} parameters; this one has {}. Move the log away to resume without.",
                         what, log->header().element_count, setup.parameters.element_count());
    }
    return std::optional<RunLogReader>(std::move(log).value());
}

/// Generations in a metrics file, by its last whole line; nothing where there is no line of a generation, or no file.
Result<std::optional<std::uint32_t>> generations_in_metrics(const std::filesystem::path& path) {
    constexpr std::size_t kEnough = std::size_t{1} << 16U;  // a line has about 400 bytes
    if (!is_there(path)) return std::optional<std::uint32_t>();
    YOLK_TRY(std::string text, read_end(path, kEnough));
    while (!text.empty()) {
        const std::size_t end = text.find_last_of('\n');
        if (end == std::string::npos) break;
        text.resize(end);
        const std::size_t before = text.find_last_of('\n');
        const std::size_t begin = before == std::string::npos ? 0 : before + 1;
        const Json line = parse_json(std::string_view(text).substr(begin), "a line").value_or(nullptr);
        if (line.is_object() && line.contains("generation") && line["generation"].is_number_unsigned())
            return std::optional(static_cast<std::uint32_t>(line["generation"].get<std::uint64_t>()) + 1);
        text.resize(begin);
    }
    return std::optional<std::uint32_t>();
}

/// The checkpoint that the log goes on from; nothing where the log's beginning is the start.
Result<std::optional<Checkpoint>> find_checkpoint(const TrainOptions& options, const TaskSetup& setup,
                                                  const std::optional<RunLogReader>& log) {
    const std::filesystem::path path = checkpoint_path(options.out);
    Result<Checkpoint> found = load_checkpoint(path);
    Error error;
    bool is_foreign = false;
    if (found) {
        const std::string what = fmt::format("'{}'", shown(path));
        const Result<void> settings = check_settings(found->settings, options, setup.environment, what);
        const Result<void> fits =
            settings ? check_resumable(*found, options, setup.environment, setup.parameters.element_count(), what)
                     : settings;
        if (fits) return std::optional<Checkpoint>(std::move(found).value());
        error = fits.error();
        is_foreign = !settings;  // of another run, since the log is of this one
    } else {
        error = std::move(found).error();
    }
    const bool log_is_enough = log && log->header().first_generation == 0 && log->generations() > 0;
    if (!log_is_enough || !(is_foreign || may_do_without(path, error))) {
        error.message += note_of_previous(options.out);
        return error;
    }
    if (is_there(path)) {
        log_warning(fmt::format("The log alone is used: {}", error.message));
    } else {
        log_info(fmt::format("There is no checkpoint '{}'; the log alone is used.", shown(path)));
    }
    return std::optional<Checkpoint>();
}

/// The log may have generations that the metrics lack (after a power failure): these are made again.
Result<std::uint32_t> usable_generations(const RunLogReader& log, const TrainOptions& options, std::uint32_t saved) {
    YOLK_TRY(const std::optional<std::uint32_t> in_metrics, generations_in_metrics(metrics_path(options.out)));
    return std::max(saved, std::min(log.generations(), in_metrics.value_or(log.generations())));
}

/// The state after `generations` generations, from the checkpoint's or the beginning.
Result<ReplayedState> state_from_log(const Device& device, const TrainOptions& options, const TaskSetup& setup,
                                     const RunLogReader& log, const std::optional<Checkpoint>& from,
                                     std::uint32_t generations) {
    if (!from || generations > from->generation) {
        const std::vector<float> none;
        return replay_on_device(device,
                                {.table = setup.parameters,
                                 .options = options.evolution,
                                 .parameters = from ? from->parameters : setup.initial,
                                 .optimizer_state = from ? from->optimizer_state : none,
                                 .generation = from ? from->generation : 0,
                                 .pairs_per_slice = options.pairs_per_slice,
                                 .hang_limit = options.hang_limit},
                                log, generations);
    }
    YOLK_TRY(const std::string digest, evolve::state_digest(from->parameters, from->optimizer_state, generations));
    YOLK_TRY(const bool same, goes_on_from(log, generations, digest));
    ReplayedState state{.parameters = from->parameters,
                        .optimizer_state = from->optimizer_state,
                        .generation = generations,
                        .solved = from->solved,
                        .state_hash = from->state_hash,
                        .state_digest = digest};
    if (!same) state.differs_from = generations;
    return state;
}

/// `start` has the checkpoint, or nothing; afterwards the state to go on from, and the log to append to.
Result<void> go_on_by_log(const Device& device, const TrainOptions& options, const TaskSetup& setup,
                          const RunLogReader& log, Start& start) {
    const std::uint32_t saved = start.in_checkpoint;
    if (log.generations() < saved) {
        log_info(
            fmt::format("'{}' ends after generation {}, before the checkpoint; a log that begins there replaces it.",
                        shown(log.path()), log.generations()));
        return {};
    }
    YOLK_TRY(const std::uint32_t usable, usable_generations(log, options, saved));
    if (usable > options.generations) {
        return bad_input("'{}' has {} generations already, but at most {} were asked for. Ask for {} or more.",
                         shown(log.path()), usable, options.generations, usable);
    }
    YOLK_TRY(ReplayedState state, state_from_log(device, options, setup, log, start.from, usable));
    start.from = Checkpoint{.settings = run_settings(options, setup.environment),
                            .generation = state.generation,
                            .solved = state.solved,
                            .finished = false,
                            .state_hash = std::move(state.state_hash),
                            .parameters = std::move(state.parameters),
                            .optimizer_state = std::move(state.optimizer_state)};
    if (usable > saved) {
        log_info(fmt::format("going on from '{}' after generation {}; the checkpoint has {} of them.",
                             shown(log.path()), usable, saved));
    }
    if (state.differs_from) {
        log_warning(
            fmt::format("The state after generation {} is not quite what '{}' says: the update of this fitness rule is "
                        "the same only within a tolerance on another device. A log that begins after generation {} "
                        "replaces it.",
                        *state.differs_from, shown(log.path()), usable));
        return {};
    }
    YOLK_TRY(start.log, RunLogWriter::continue_after(log, usable));
    return {};
}

}  // namespace

std::vector<float> initial_optimizer_state(const TrainOptions& options, const TaskSetup& setup) {
    return std::vector<float>(optimizer_state_arrays(options.evolution.optimizer) * setup.initial.size(), 0.0F);
}

Result<Start> find_start(const Device& device, const TrainOptions& options, const TaskSetup& setup) {
    if (options.out.empty() && (options.resume || options.checkpoint_every != 0)) {
        return bad_input(
            "Checkpoints are kept in the output folder, but it is empty, so that nothing is written. Give a "
            "folder, or neither resume nor ask for checkpoints.");
    }
    const bool writes_log = options.log && !options.out.empty();
    Start start;
    if (options.resume) {
        YOLK_TRY(const std::optional<RunLogReader> log, open_log(options, setup));
        YOLK_TRY(start.from, find_checkpoint(options, setup, log));
        if (start.from) start.in_checkpoint = start.from->generation;
        if (log) YOLK_TRY_VOID(go_on_by_log(device, options, setup, *log, start));
        if (start.from->generation == start.in_checkpoint) {
            log_info(fmt::format("going on from '{}' after generation {}.", shown(checkpoint_path(options.out)),
                                 start.in_checkpoint));
        }
    }
    if (writes_log && !start.log) {
        YOLK_TRY(start.log, new_log(options, setup, start.from));
    }
    return start;
}

std::string describe_run(const std::filesystem::path& folder, const std::filesystem::path& name) {
    std::uint32_t done = 0;
    bool finished = false;
    if (const Result<Checkpoint> checkpoint = load_checkpoint(checkpoint_path(folder)); checkpoint) {
        done = checkpoint->generation;
        finished = checkpoint->finished;
    }
    if (const Result<RunLogReader> log = RunLogReader::open(log_path(folder)); log && log->generations() > done) {
        done = log->generations();
        finished = false;  // a run that ends leaves a checkpoint of its last generation
    }
    if (done == 0) return fmt::format("'{}' had files of an earlier run that cannot be resumed.", shown(name));
    return fmt::format("'{}' had a run that {} after generation {}.", shown(name),
                       finished ? "ended" : "was interrupted", done);
}

}  // namespace yolk::train
