// SPDX-License-Identifier: Apache-2.0
#include "yolk/train/train.hpp"

#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "yolk/core/file.hpp"
#include "yolk/core/json.hpp"
#include "yolk/core/log.hpp"
#include "yolk/evolve/evolution.hpp"
#include "yolk/evolve/state_digest.hpp"
#include "yolk/train/policy_file.hpp"

#include "checkpoint.hpp"
#include "output_folder.hpp"
#include "policy_runner.hpp"
#include "process_clock.hpp"
#include "task_setup.hpp"

namespace yolk::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

Result<evolve::Evolution> create_evolution(const Device& device, Dispatcher& dispatcher, const TaskSetup& setup,
                                           const TrainOptions& options, const std::optional<Checkpoint>& from) {
    evolve::EvolutionParts parts{.parameters = setup.parameters,
                                 .initial = setup.initial,
                                 .evaluator = {},
                                 .policy_evaluator = {},
                                 .config = {},
                                 .digest = true};
    if (options.hash_every != 1) parts.host_elements.emplace();  // none: Run asks for the state where it is due
    if (from) {
        parts.initial = from->parameters;
        parts.optimizer_state = from->optimizer_state;
        parts.generation = from->generation;
    }
    if (options.pairs_per_slice) parts.config.es_update = EsUpdateConfig{.pairs_per_slice = *options.pairs_per_slice};
    YOLK_TRY(parts.evaluator, evolve::rollout_evaluator(device, setup.population, kTrainingEpisodes));
    YOLK_TRY(parts.policy_evaluator, evolve::rollout_evaluator(device, setup.checks, kCheckEpisodes));
    return evolve::Evolution::create(device, dispatcher, std::move(parts), options.evolution);
}

/// The checkpoint to go on from, and nothing where a run begins.
Result<std::optional<Checkpoint>> find_start(const TrainOptions& options, const TaskSetup& setup) {
    if (options.out.empty() && (options.resume || options.checkpoint_every != 0)) {
        return bad_input(
            "Checkpoints are kept in the output folder, but it is empty, so that nothing is written. Give a "
            "folder, or neither resume nor ask for checkpoints.");
    }
    if (!options.resume) return std::optional<Checkpoint>();
    const std::filesystem::path path = checkpoint_path(options.out);
    YOLK_TRY(Checkpoint checkpoint, load_checkpoint(path));
    YOLK_TRY_VOID(check_resumable(checkpoint, options, setup.environment, setup.parameters.element_count(),
                                  fmt::format("'{}'", path.string())));
    log_info(fmt::format("going on from '{}' after generation {}.", path.string(), checkpoint.generation));
    return std::optional<Checkpoint>(std::move(checkpoint));
}

/// Says what will be lost. Whether an old checkpoint is there.
bool note_replaced_checkpoint(const std::filesystem::path& path) {
    std::error_code code;
    if (!std::filesystem::exists(path, code)) return false;
    const Result<Checkpoint> old = load_checkpoint(path);
    if (!old) {
        log_info(fmt::format("'{}' cannot be resumed from; this run replaces it after its first generation.",
                             path.string()));
    } else if (!old->finished) {
        log_info(
            fmt::format("'{}' is of a run that was interrupted after generation {}; this run replaces it after its "
                        "first generation. Resuming would continue it.",
                        path.string(), old->generation));
    }
    return true;
}

/// What is written when a run ends: after a generation that went well, so always finite.
struct SavedState {
    std::vector<float> parameters, optimizer_state;
    std::uint32_t generations = 0;  ///< done
    bool solved = false;            ///< as of the last of them
    std::string state_hash{};       ///< empty where no generation of any process was done
};

/// A run under way: what its loop needs besides the evolution.
struct Run {
    const Device& device;
    const TrainOptions& options;
    const TaskSetup& setup;
    evolve::Evolution& evolution;
    MetricsFile metrics;
    std::optional<WriterLock> lock{};  ///< of the output folder
    SavedState last{};                 ///< that was on the host
    bool replaces_checkpoint = false;  ///< of another run
    bool ended_by_callback = false;
    Clock::time_point start = Clock::now();
    std::uint64_t evaluations = 0;
    std::uint32_t in_checkpoint = 0;  ///< generations of this run that the checkpoint in the folder has
    TrainOutcome outcome{};

    Result<void> begin(const std::optional<Checkpoint>& from);
    Result<GenerationReport> step();
    Result<void> write_metrics(const GenerationReport& report);
    void keep_state(std::string state_hash);
    Result<void> catch_up();
    Result<void> save_checkpoint(bool finished);
    [[nodiscard]] bool checkpoint_due(std::uint32_t generations) const;
    [[nodiscard]] bool hash_due(std::uint32_t generations) const;
    [[nodiscard]] bool at_its_end() const;
    Result<void> loop(const OnGeneration& on_generation);
    [[nodiscard]] Error save_what_is_good(Error error);
    [[nodiscard]] Error with_way_on(Error error) const;
};

/// The last that can be refused, and then the first change to the folder.
Result<void> Run::begin(const std::optional<Checkpoint>& from) {
    if (options.out.empty()) return {};
    YOLK_TRY_VOID(prepare_output_folder(options.out, lock));
    if (!from) {
        replaces_checkpoint = note_replaced_checkpoint(checkpoint_path(options.out));
        return {};
    }
    outcome.generations = from->generation;
    outcome.resumed_from = from->generation;
    in_checkpoint = from->generation;
    outcome.solved = from->solved;
    keep_state(from->state_hash);
    YOLK_TRY(const std::string digest, evolve::state_digest(from->parameters, from->optimizer_state, from->generation));
    YOLK_TRY(const std::string kept,
             kept_metrics(metrics_path(options.out), from->generation, {.hash = from->state_hash, .digest = digest}));
    return metrics.continue_from(settings_json(options, setup, device.info()), kept);
}

Result<GenerationReport> Run::step() {
    const Clock::time_point step_start = Clock::now();
    YOLK_TRY(const evolve::GenerationSummary summary, evolution.step());
    const double step_seconds = seconds_since(step_start);
    std::string hash;
    if (hash_due(evolution.generations())) {
        if (options.hash_every != 1) YOLK_TRY_VOID(evolution.refresh());
        YOLK_TRY(hash, evolution.state_hash());
    }
    YOLK_TRY(std::string digest, evolution.state_digest());
    GenerationReport report = report_of(summary, std::move(hash), std::move(digest));
    report.evaluations_per_second = static_cast<double>(report.evaluations) / step_seconds;
    report.seconds = seconds_since(start);
    if (report.generation == outcome.resumed_from) outcome.first_generation_seconds = process_seconds();
    evaluations += report.evaluations;
    return report;
}

Result<void> Run::write_metrics(const GenerationReport& report) {
    if (options.out.empty()) return {};
    if (report.generation == 0) YOLK_TRY_VOID(metrics.append(settings_json(options, setup, device.info())));
    return metrics.append(to_json(report));
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
    replaces_checkpoint = false;
    YOLK_TRY_VOID(write_file_atomically(checkpoint_path(options.out),
                                        encode_checkpoint({.settings = run_settings(options, setup.environment),
                                                           .generation = last.generations,
                                                           .solved = last.solved,
                                                           .finished = finished,
                                                           .state_hash = last.state_hash,
                                                           .parameters = last.parameters,
                                                           .optimizer_state = last.optimizer_state})));
    in_checkpoint = last.generations;
    return {};
}

/// What fails in a device may go better on another one, or later.
Error Run::with_way_on(Error error) const {
    const bool of_device =
        error.kind == ErrorKind::DeviceLost || error.kind == ErrorKind::Driver || error.kind == ErrorKind::OutOfMemory;
    if (of_device && in_checkpoint > 0) {
        error.message += fmt::format(" The checkpoint '{}' has the first {} generations; resume from it.",
                                     checkpoint_path(options.out).string(), in_checkpoint);
    }
    return error;
}

/// Another run's checkpoint goes as soon as its metrics are gone, so that the two in the folder are of one run.
bool Run::checkpoint_due(std::uint32_t generations) const {
    return replaces_checkpoint || (options.checkpoint_every != 0 && generations % options.checkpoint_every == 0);
}

/// Where a run is solved or ended by its callback, its last generation is hashed as well, but only its line is written
/// by then.
bool Run::hash_due(std::uint32_t generations) const {
    return (options.hash_every != 0 && generations % options.hash_every == 0) || checkpoint_due(generations) ||
           generations >= options.generations;
}

bool Run::at_its_end() const {
    return outcome.generations >= options.generations || (outcome.solved && options.stop_when_solved);
}

Result<void> Run::loop(const OnGeneration& on_generation) {
    while (!at_its_end() && !ended_by_callback) {
        YOLK_TRY(const GenerationReport report, step());
        YOLK_TRY_VOID(write_metrics(report));
        ++outcome.generations;
        outcome.solved = report.policy_return >= setup.solved_at;
        if (!report.state_hash.empty()) keep_state(report.state_hash);
        if (checkpoint_due(outcome.generations)) YOLK_TRY_VOID(save_checkpoint(at_its_end()));
        ended_by_callback = on_generation && !on_generation(report);
    }
    outcome.evaluations_per_second = static_cast<double>(evaluations) / seconds_since(start);
    YOLK_TRY_VOID(catch_up());
    outcome.state_hash = last.state_hash;
    return save_checkpoint(at_its_end());
}

Result<std::filesystem::path> save(const Run& run) {
    if (run.options.out.empty()) return std::filesystem::path{};
    const LoadedEnvironment* const own = run.options.own_environment.get();
    std::filesystem::path path = policy_path(run.options.out);
    YOLK_TRY_VOID(save_policy(path, {.task = std::string(run.setup.environment.name),
                                     .environment_source = own ? own->source_hash() : std::string(),
                                     .network = run.options.network,
                                     .generations = run.last.generations,
                                     .seed = run.options.evolution.seed,
                                     .parameters = run.last.parameters}));
    return path;
}

/// The generations before one that failed are not lost with it, whatever its reason was, as far as their state was on
/// the host. The error, saying so.
Error Run::save_what_is_good(Error error) {
    if (options.out.empty()) return error;
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
    if (const Result<std::filesystem::path> policy = save(*this); policy && error.kind == ErrorKind::Failed) {
        error.message +=
            fmt::format(" The last {} state, after {} generation{}, was saved in '{}' and '{}'.",
                        last.generations == outcome.generations ? "good" : "hashed", last.generations,
                        last.generations == 1 ? "" : "s", policy->string(), checkpoint_path(options.out).string());
    }
    return with_way_on(std::move(error));
}

}  // namespace

Result<TrainOutcome> train(const Device& device, const TrainOptions& options, const OnGeneration& on_generation) {
    YOLK_TRY(const TaskSetup setup, set_up_task(options));
    // Before the checkpoint is read, which the run that holds the folder may be about to replace.
    YOLK_TRY(std::optional<WriterLock> lock, lock_output_folder(options.out));
    YOLK_TRY(const std::optional<Checkpoint> from, find_start(options, setup));
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device, {.hang_limit = options.hang_limit}));
    YOLK_TRY(evolve::Evolution evolution, create_evolution(device, dispatcher, setup, options, from));
    YOLK_TRY(PolicyRunner final_runner, PolicyRunner::create(device, dispatcher, setup.final));
    Run run{.device = device,
            .options = options,
            .setup = setup,
            .evolution = evolution,
            .metrics = MetricsFile(metrics_path(options.out)),
            .lock = std::move(lock)};
    run.keep_state({});
    YOLK_TRY_VOID(run.begin(from));
    if (auto ended = run.loop(on_generation); !ended) return run.save_what_is_good(std::move(ended).error());
    YOLK_TRY(run.outcome.policy, save(run));  // before the evaluation, so that a failure there loses nothing
    YOLK_TRY(const std::vector<float> returns,
             final_runner.run(run.last.parameters, options.evolution.seed, run.outcome.generations, kFinalEpisodes));
    run.outcome.eval_mean_return = statistics_of(returns).mean;
    // Training may stop at a stricter mark (TaskSetup::solved_at), so that this holds when it did.
    run.outcome.solved = run.outcome.eval_mean_return >= static_cast<double>(setup.environment.solved_return);
    run.outcome.seconds = seconds_since(run.start);
    run.outcome.counts = device.counts();
    return run.outcome;
}

Result<TrainOutcome> train(const Context& context, const TrainOptions& options, const OnGeneration& on_generation) {
    return train(context.device(), options, on_generation);
}

}  // namespace yolk::train
