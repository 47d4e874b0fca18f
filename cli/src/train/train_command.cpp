// SPDX-License-Identifier: Apache-2.0
#include "train_command.hpp"

#include <fmt/format.h>

#include <memory>

#include "compile_notice.hpp"
#include "environment_flag.hpp"
#include "interrupt.hpp"
#include "last_run.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "select_device.hpp"
#include "train_flags.hpp"
#include "yolk/core/json.hpp"
#include "yolk/core/log.hpp"

namespace yolk::cli {
namespace {

struct TrainCommandFlags {
    TrainFlags train;
    std::string environment;  ///< of --env
    CommonFlags common;
    bool keep_going = false;
};

/// Resident memory of the process, and a discrete GPU's own memory, which is not in it.
std::uint64_t peak_memory_bytes(const train::TrainOutcome& outcome) {
    return peak_resident_bytes() + outcome.counts.peak_device_memory_bytes;
}

Json train_outcome_json(const train::TrainOptions& options, const DeviceInfo& device,
                        const train::TrainOutcome& outcome, bool interrupted) {
    Json json{{"task", options.task}, {"device", device.name}, {"driver", driver_text(device)}};
    json["seed"] = options.evolution.seed;
    json["population"] = options.evolution.population;
    json["generations"] = outcome.generations;
    json["evaluations_per_second"] = outcome.evaluations_per_second;
    json["eval_mean_return"] = outcome.eval_mean_return;
    json["state_hash"] = outcome.state_hash;
    json["peak_memory_bytes"] = peak_memory_bytes(outcome);
    json["seconds"] = outcome.seconds;
    json["first_generation_seconds"] = outcome.first_generation_seconds;
    json["solved"] = outcome.solved;
    json["interrupted"] = interrupted;
    json["policy"] = outcome.policy.string();
    json["resumed_from"] = outcome.resumed_from;
    return json;
}

/// `given_task` is what the user wrote: the environment's file, where it has one.
void print_train_outcome(const train::TrainOptions& options, const std::string& given_task,
                         const train::TrainOutcome& outcome, bool interrupted) {
    const std::string end = interrupted ? "interrupted" : outcome.solved ? "solved" : "not solved";
    print_line(
        "{} after {} generation{} and {:.1f} s; the unperturbed policy's mean return over {} fresh episodes is {:.1f}",
        end, outcome.generations, outcome.generations == 1 ? "" : "s", outcome.seconds, options.evaluation_episodes,
        outcome.eval_mean_return);
    print_line("{} evaluations/s, first generation {:.2f} s after the start, peak memory {}, state {}",
               rate_text(outcome.evaluations_per_second), outcome.first_generation_seconds,
               bytes_text(peak_memory_bytes(outcome)), outcome.state_hash);
    if (outcome.policy.empty()) return;
    const std::string policy = outcome.policy.string();
    print_line("saved {}", policy);
    const std::string file = options.own_environment ? " --env " + shell_quoted(given_task) : std::string();
    print_line("look at it: {} eval {}{}", command_name(), shell_quoted(policy), file);
    if (interrupted) print_line("to continue, run the same command with --resume");
}

/// The task is given in one of two ways.
Result<train::TrainOptions> resolve_task(const TrainCommandFlags& flags) {
    TrainFlags found = flags.train;
    std::string& task = found.options.task;
    if (task.empty() == flags.environment.empty()) {
        return bad_input(
            "train needs one environment: `train cartpole`, or `train --env FILE` for one of your own (see yolk train "
            "--help).");
    }
    if (task.empty()) task = flags.environment;
    return resolve(found);
}

Result<int> run_train(const TrainCommandFlags& flags) {
    YOLK_TRY(train::TrainOptions options, resolve_task(flags));
    options.stop_when_solved = !flags.keep_going;
    YOLK_TRY(const Context context, open_context(flags.common));
    const RememberShapes remember(context.device());
    const DeviceInfo& info = context.device().info();

    const bool human = !flags.common.json && !flags.common.quiet;
    if (human) print_line("training {} on {} ({})", options.task, info.name, driver_text(info));
    Progress progress(options.generations);
    InterruptGuard interrupt(InterruptGuard::Early::GivesUp);
    const std::shared_ptr<CompileNotice> notice = watch_compilation(context.device(), flags.common);
    notice->await_first_result("The first generation");
    const auto on_generation = [&](const train::GenerationReport& report) {
        notice->first_result();
        interrupt.has_results();
        if (human) progress.show(report);
        if (flags.common.json && !flags.common.quiet) print_json(train::to_json(report));
        return !InterruptGuard::requested();
    };
    const Result<train::TrainOutcome> outcome = train::train(context, options, on_generation);
    notice->first_result();
    progress.finish();
    if (!outcome && outcome.error().kind == ErrorKind::Cancelled)
        return cancelled("Ended by a signal before the first generation; nothing was saved.");
    if (!outcome) return outcome.error();
    if (InterruptGuard::ended_by_closed_output())
        log_info(fmt::format("Nothing reads standard output any more, so that training ended after {} generations{}.",
                             outcome->generations, outcome->policy.empty() ? "" : " and was saved as after Ctrl-C"));

    const std::string& given = flags.environment.empty() ? flags.train.options.task : flags.environment;
    const bool interrupted = InterruptGuard::requested();
    return print_outcome(flags.common.json, train_outcome_json(options, info, *outcome, interrupted),
                         [&] { print_train_outcome(options, given, *outcome, interrupted); });
}

}  // namespace

Command add_train_command(App& app) {
    const auto flags = std::make_shared<TrainCommandFlags>();
    App* command = app.add_subcommand("train", "Train a policy for a task and save it");
    flags->train.options.task.clear();
    command->add_option("task", flags->train.options.task, "Task: cartpole, or as --env")->type_name("TASK");
    command->add_option("--env", flags->environment, kEnvironmentHelp)->type_name("NAME|FILE");
    add_device_flag(*command, flags->common);
    add_train_flags(*command, flags->train);
    command->add_flag("--keep-going", flags->keep_going, "Do not stop when the task is solved");
    command
        ->add_option("--out", flags->train.options.out,
                     "Folder for policy.safetensors, metrics.jsonl and checkpoint.yolk, made if missing; '' writes "
                     "nothing")
        ->type_name("FOLDER")
        ->default_str("yolk-out");
    add_number(*command, "--checkpoint-every", flags->train.options.checkpoint_every,
               "Generations between two checkpoints; 0: one at the end, interrupted or not")
        ->default_str("0");
    add_number(*command, "--hash-every", flags->train.options.hash_every,
               "Generations between two state hashes; 0: only with checkpoints and at the end. Every generation has a "
               "digest")
        ->default_str("1");
    command->add_flag("--resume", flags->train.options.resume,
                      "Continue from the checkpoint in the folder, with the same settings");
    add_output_flags(*command, flags->common);
    return {command, [flags] { return run_train(*flags); }};
}

}  // namespace yolk::cli
