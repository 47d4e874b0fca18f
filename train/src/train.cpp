// SPDX-License-Identifier: Apache-2.0
#include "yolk/train/train.hpp"

#include <chrono>

#include "yolk/evolve/evolution.hpp"
#include "yolk/train/policy_file.hpp"

#include "output_folder.hpp"
#include "policy_runner.hpp"
#include "process_clock.hpp"
#include "task_setup.hpp"

namespace yolk::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

Result<evolve::Evolution> create_evolution(const Device& device, Dispatcher& dispatcher, const TaskSetup& setup,
                                           const TrainOptions& options) {
    evolve::EvolutionParts parts{.parameters = setup.parameters,
                                 .initial = setup.initial,
                                 .evaluator = {},
                                 .policy_evaluator = {},
                                 .config = {}};
    if (options.pairs_per_slice) parts.config.es_update.pairs_per_slice = *options.pairs_per_slice;
    YOLK_TRY(parts.evaluator, evolve::rollout_evaluator(device, setup.population, kTrainingEpisodes));
    YOLK_TRY(parts.policy_evaluator, evolve::rollout_evaluator(device, setup.checks, kCheckEpisodes));
    return evolve::Evolution::create(device, dispatcher, std::move(parts), options.evolution);
}

/// A run under way: what its loop needs besides the evolution.
struct Run {
    const Device& device;
    const TrainOptions& options;
    const TaskSetup& setup;
    evolve::Evolution& evolution;
    MetricsFile metrics;
    Clock::time_point start = Clock::now();
    std::uint64_t evaluations = 0;
    TrainOutcome outcome{};

    Result<GenerationReport> step();
    Result<void> write_metrics(const GenerationReport& report);
    Result<void> loop(const OnGeneration& on_generation);
};

Result<GenerationReport> Run::step() {
    const Clock::time_point step_start = Clock::now();
    YOLK_TRY(const evolve::GenerationSummary summary, evolution.step());
    const double step_seconds = seconds_since(step_start);
    YOLK_TRY(std::string hash, evolution.state_hash());
    GenerationReport report = report_of(summary, std::move(hash));
    report.evaluations_per_second = static_cast<double>(report.evaluations) / step_seconds;
    report.seconds = seconds_since(start);
    if (report.generation == 0) outcome.first_generation_seconds = process_seconds();
    evaluations += report.evaluations;
    return report;
}

Result<void> Run::write_metrics(const GenerationReport& report) {
    if (options.out.empty()) return {};
    if (report.generation == 0) YOLK_TRY_VOID(metrics.append(settings_json(options, device.info())));
    return metrics.append(to_json(report));
}

Result<void> Run::loop(const OnGeneration& on_generation) {
    while (outcome.generations < options.generations) {
        YOLK_TRY(const GenerationReport report, step());
        YOLK_TRY_VOID(write_metrics(report));
        ++outcome.generations;
        outcome.state_hash = report.state_hash;
        outcome.solved = report.policy_return >= setup.solved_at;
        if (on_generation && !on_generation(report)) break;
        if (outcome.solved && options.stop_when_solved) break;
    }
    outcome.evaluations_per_second = static_cast<double>(evaluations) / seconds_since(start);
    return {};
}

Result<std::filesystem::path> save(const Run& run) {
    if (run.options.out.empty()) return std::filesystem::path{};
    const std::span<const float> values = run.evolution.parameters();
    std::filesystem::path path = policy_path(run.options.out);
    YOLK_TRY_VOID(save_policy(path, {.task = run.options.task,
                                     .network = run.options.network,
                                     .generations = run.outcome.generations,
                                     .seed = run.options.evolution.seed,
                                     .parameters = {values.begin(), values.end()}}));
    return path;
}

}  // namespace

Result<TrainOutcome> train(const Device& device, const TrainOptions& options, const OnGeneration& on_generation) {
    YOLK_TRY(const TaskSetup setup, set_up_task(options));
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    YOLK_TRY(evolve::Evolution evolution, create_evolution(device, dispatcher, setup, options));
    YOLK_TRY(PolicyRunner final_runner, PolicyRunner::create(device, dispatcher, setup.final));
    if (!options.out.empty()) YOLK_TRY_VOID(prepare_output_folder(options.out));
    Run run{.device = device,
            .options = options,
            .setup = setup,
            .evolution = evolution,
            .metrics = MetricsFile(metrics_path(options.out))};
    YOLK_TRY_VOID(run.loop(on_generation));
    YOLK_TRY(run.outcome.policy, save(run));  // before the evaluation, so that a failure there loses nothing
    YOLK_TRY(const std::vector<float> returns,
             final_runner.run(evolution.parameters(), options.evolution.seed, run.outcome.generations, kFinalEpisodes));
    run.outcome.eval_mean_return = statistics_of(returns).mean;
    run.outcome.seconds = seconds_since(run.start);
    run.outcome.counts = device.counts();
    return run.outcome;
}

}  // namespace yolk::train
