// SPDX-License-Identifier: Apache-2.0
#include "yolk/train.hpp"

#include <fmt/format.h>

#include <cmath>

#include <memory>
#include <optional>

#include "run_log_start.hpp"
#include "training_run.hpp"
#include "yolk/log.hpp"

namespace yolk::train {
namespace {

/// By the first device that can: resuming may apply a log, and one that computes wrongly comes to other states than the
/// log has. Where all do, the log is what is wrong.
Result<Start> find_start_on_any(std::span<const Device> devices, const TrainOptions& options, const TaskSetup& setup) {
    if (devices.empty()) return bad_input("Training needs at least one device; it was given none.");
    Result<Start> start = find_start(devices.front(), options, setup);
    for (std::size_t i = 1; i < devices.size() && !start; ++i) {
        const bool is_of_states = start.error().kind == ErrorKind::Failed;
        if (!is_of_states && !evolve::is_of_device(start.error())) break;
        Result<Start> other = find_start(devices[i], options, setup);
        if (other) {
            log_warning(fmt::format("'{}' could not resume the run, so another device was asked, '{}', which could. {}",
                                    devices.front().info().name, devices[i].info().name, start.error().message));
        }
        if (other || !is_of_states) start = std::move(other);
    }
    return start;
}

/// What a run needs from its devices.
struct OnDevices {
    RunDevices devices;
    evolve::Evolution evolution;
    std::optional<PolicyRunner> final_runner;  // without environments on the host
};

Result<std::unique_ptr<OnDevices>> prepare_devices(std::span<const Device> devices, const RunRanks& ranks,
                                                   const TaskSetup& setup, const TrainOptions& options,
                                                   const std::optional<Checkpoint>& from) {
    YOLK_TRY(RunDevices run_devices, RunDevices::create(devices, ranks.exchange(), options));
    YOLK_TRY(evolve::Evolution evolution, run_devices.create_evolution(setup, options, from));
    auto on = std::make_unique<OnDevices>(
        OnDevices{.devices = std::move(run_devices), .evolution = std::move(evolution), .final_runner = {}});
    if (!setup.host) {
        YOLK_TRY(on->final_runner, on->devices.create_runner(setup.final));
    }
    return on;
}

/// After the last generation: the files, and the evaluation of the finished policy, which are rank 0's.
Result<void> finish_run(Run& run, std::optional<PolicyRunner>& final_runner) {
    if (auto saved = run.save_end(); !saved) return run.save_what_is_good(std::move(saved).error());
    YOLK_TRY(run.outcome.policy, save(run));  // before the evaluation, so that a failure there loses nothing
    if (!run.ranks.writes()) return {};
    YOLK_TRY(const std::vector<float> returns,
             final_runner
                 ? run.devices.run_policy(*final_runner, run.setup.final, run.last.parameters,
                                          run.options.evolution.seed, run.outcome.generations)
                 : run.devices.run_policy_on_host(run.setup, run.options, run.last.parameters, run.outcome.generations,
                                                  kFinalEpisodes, run.options.evaluation_episodes));
    run.outcome.eval_mean_return = statistics_of(returns).mean;
    // Training may stop at a stricter mark (TaskSetup::solved_at), so that this holds when it did.
    run.outcome.solved = std::isfinite(run.outcome.eval_mean_return) &&
                         run.outcome.eval_mean_return >= static_cast<double>(run.setup.environment.solved_return);
    return {};
}

}  // namespace

Result<TrainOutcome> train(const evolve::Devices& devices, const TrainOptions& given,
                           const OnGeneration& on_generation) {
    const RunRanks ranks(devices.exchange());
    const TrainOptions options = ranks.options_here(given);
    const Result<TaskSetup> made = set_up_task(options);
    YOLK_TRY_VOID(ranks.compare(options, made));
    const TaskSetup& setup = *made;
    // Before the checkpoint is read, which the run that holds the folder may be about to replace.
    Result<std::optional<WriterLock>> lock = lock_output_folder(options.out);
    const Result<std::vector<Device>> handles = devices.handles();
    Result<Start> start = !lock      ? Result<Start>(lock.error())
                          : !handles ? Result<Start>(handles.error())
                                     : find_start_on_any(*handles, options, setup);
    using From = Result<std::optional<Checkpoint>>;
    YOLK_TRY(const std::optional<Checkpoint> from, ranks.share(start ? From(start->from) : From(start.error())));
    using On = Result<std::unique_ptr<OnDevices>>;
    const On on = handles ? prepare_devices(*handles, ranks, setup, options, from) : On(handles.error());
    YOLK_TRY_VOID(ranks.agree(on ? Result<void>() : Result<void>(on.error())));
    OnDevices& prepared = **on;
    Run run{.devices = prepared.devices,
            .ranks = ranks,
            .options = options,
            .setup = setup,
            .evolution = prepared.evolution,
            .from = from,
            .metrics = MetricsFile(metrics_path(options.out)),
            .lock = std::move(*lock),
            .log = std::move(start->log),
            .in_checkpoint = start->in_checkpoint};
    YOLK_TRY_VOID(ranks.agree(run.begin()));
    if (auto ended = run.loop(on_generation); !ended) return run.save_what_is_good(std::move(ended).error());
    YOLK_TRY_VOID(ranks.agree(finish_run(run, prepared.final_runner)));
    run.outcome.seconds = seconds_since(run.start);
    run.outcome.counts = prepared.devices.counts();
    run.outcome.losses = prepared.devices.losses();
    return run.outcome;
}

}  // namespace yolk::train
