// SPDX-License-Identifier: Apache-2.0
#include "train_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bytes_command.hpp"
#include "compile_notice.hpp"
#include "environment_flag.hpp"
#include "interrupt.hpp"
#include "last_run.hpp"
#include "learn_run.hpp"
#include "output.hpp"
#include "program_flags.hpp"
#include "progress.hpp"
#include "ranks.hpp"
#include "select_device.hpp"
#include "task_kind.hpp"
#include "train_flags.hpp"
#include "yolk/internal/evolve/ranks.hpp"
#include "yolk/json.hpp"
#include "yolk/log.hpp"

namespace yolk::cli {
namespace {

struct TrainCommandFlags {
    TrainFlags train;
    std::string environment;  ///< of --env
    ProgramFlags program;
    std::string devices;  ///< of --devices
    CommonFlags common;
    bool keep_going = false;
    std::vector<std::string> sets;  ///< of --set
    DataFlags data;
    const App* app = nullptr;
};

/// Resident memory of the process, and a discrete GPU's own memory, which is not in it.
std::uint64_t peak_memory_bytes(const train::TrainOutcome& outcome) {
    return peak_resident_bytes() + outcome.counts.peak_device_memory_bytes;
}

/// In fast mode members of several devices are evaluated by whichever is free, and the last bits depend on which.
bool depends_on_placement(const train::TrainOptions& options, const train::TrainOutcome& outcome) {
    return options.evolution.determinism == Determinism::Fast && !outcome.devices.empty();
}

/// Bytes per generation of this process.
std::uint64_t per_generation(std::uint64_t bytes, const train::TrainOutcome& outcome) {
    return bytes / std::max<std::uint64_t>(1, outcome.generations - outcome.resumed_from);
}

void add_ranks(Json& json, const train::TrainOutcome& outcome) {
    for (const evolve::RankShare& share : outcome.ranks)
        json["ranks"].push_back({{"members", share.members}, {"seconds", share.seconds}});
    json["sent_bytes_per_generation"] = per_generation(outcome.traffic.sent_bytes, outcome);
    json["received_bytes_per_generation"] = per_generation(outcome.traffic.received_bytes, outcome);
}

void print_ranks(const train::TrainOutcome& outcome) {
    if (outcome.ranks.empty()) return;
    std::uint64_t members = 0;
    for (const evolve::RankShare& share : outcome.ranks) members += share.members;
    for (std::size_t rank = 0; rank < outcome.ranks.size(); ++rank) {
        const evolve::RankShare& share = outcome.ranks[rank];
        print_line("rank {}: {:.1f} % of the members, evaluating for {:.1f} s", rank,
                   100.0 * static_cast<double>(share.members) / static_cast<double>(members), share.seconds);
    }
    print_line("rank 0 sent {} and received {} per generation",
               bytes_text(per_generation(outcome.traffic.sent_bytes, outcome)),
               bytes_text(per_generation(outcome.traffic.received_bytes, outcome)));
}

Json train_outcome_json(const train::TrainOptions& options, std::span<const Device> devices,
                        const train::TrainOutcome& outcome) {
    Json json{{"task", options.task}, {"device", names_of(devices)}, {"driver", drivers_of(devices)}};
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
    json["interrupted"] = outcome.interrupted;
    json["policy"] = outcome.policy.string();
    if (!outcome.previous.empty()) json["previous"] = outcome.previous.string();
    json["resumed_from"] = outcome.resumed_from;
    json["not_finite"] = outcome.not_finite;
    json["skipped_elements"] = outcome.skipped_elements;
    for (const evolve::WorkerShare& share : outcome.devices) json["devices"].push_back(train::to_json(share));
    if (!outcome.devices.empty()) json["depends_on_placement"] = depends_on_placement(options, outcome);
    if (!outcome.losses.empty()) json["dropped"] = outcome.losses;
    if (!outcome.ranks.empty()) add_ranks(json, outcome);
    return json;
}

/// What each of several devices did.
void print_shares(const train::TrainOptions& options, const train::TrainOutcome& outcome) {
    std::uint64_t members = 0;
    for (const evolve::WorkerShare& share : outcome.devices) members += share.members;
    for (const evolve::WorkerShare& share : outcome.devices) {
        print_line(
            "{}: {:.1f} % of the members, busy for {:.1f} s{}", share.name,
            100.0 * static_cast<double>(share.members) / static_cast<double>(std::max<std::uint64_t>(1, members)),
            share.busy_seconds, share.dropped ? ", dropped" : "");
    }
    if (depends_on_placement(options, outcome))
        print_line("fast mode: the last bits depend on which device evaluated which member");
}

void print_not_finite(const train::TrainOutcome& outcome) {
    if (outcome.not_finite > 0) {
        print_line("{} scores of members were not finite; in {} generation{} none was", outcome.not_finite,
                   outcome.generations_without_finite, outcome.generations_without_finite == 1 ? "" : "s");
    }
    if (outcome.skipped_elements > 0) {
        print_line("{} times a step left a parameter as it was, because it would not have been finite",
                   outcome.skipped_elements);
    }
}

/// `given_task` is what the user wrote: the environment's file, where it has one.
void print_train_outcome(const train::TrainOptions& options, const std::string& given_task,
                         const train::TrainOutcome& outcome) {
    const std::string end = outcome.interrupted ? "interrupted" : outcome.solved ? "solved" : "not solved";
    print_line(
        "{} after {} generation{} and {:.1f} s; the unperturbed policy's mean return over {} fresh episodes is {:.1f}",
        end, outcome.generations, outcome.generations == 1 ? "" : "s", outcome.seconds, options.evaluation_episodes,
        outcome.eval_mean_return);
    print_line("{} evaluations/s, first generation {:.2f} s after the start, peak memory {}, state {}",
               rate_text(outcome.evaluations_per_second), outcome.first_generation_seconds,
               bytes_text(peak_memory_bytes(outcome)), outcome.state_hash);
    print_not_finite(outcome);
    print_shares(options, outcome);
    print_ranks(outcome);
    if (outcome.policy.empty()) return;
    const std::string policy = outcome.policy.string();
    print_line("saved {}", policy);
    const std::string file = !options.host_environments.empty() ? " --program " + shell_quoted(given_task)
                             : options.own_environment          ? " --env " + shell_quoted(given_task)
                                                                : std::string();
    print_line("look at it: {} eval {}{}", command_name(), shell_quoted(policy), file);
    if (outcome.interrupted) print_line("to continue, run the same command with --resume");
}

/// The task is given in one of three ways, or in a file that describes the run.
Result<train::TrainOptions> resolve_task(const TrainCommandFlags& flags,
                                         const std::optional<Result<tasks::Configuration>>& described) {
    if (described) {
        YOLK_TRY(const tasks::Configuration configuration, *described);
        return resolve_described(configuration, flags.train.options);
    }
    TrainFlags found = flags.train;
    std::string& task = found.options.task;
    if ((task.empty() ? 0 : 1) + (flags.environment.empty() ? 0 : 1) + (flags.program.command.empty() ? 0 : 1) != 1) {
        return bad_input(
            "train needs one environment: `train cartpole`, or `train --env FILE` for one of your own, or `train "
            "--program COMMAND` for one that the host steps (see yolk train --help).");
    }
    if (!flags.program.command.empty()) return found.options;  // start_task() knows more
    if (task.empty()) task = flags.environment;
    return resolve(found);
}

/// This process's, after all ranks know that the settings of each are good.
Result<std::vector<Device>> devices_of_run(const TrainCommandFlags& flags, const Result<train::TrainOptions>& options) {
    const Result<void> good = options ? Result<void>() : Result<void>(options.error());
    if (ranks() == nullptr) {
        YOLK_TRY_VOID(good);
        return open_devices(flags.devices, flags.common);
    }
    YOLK_TRY_VOID(evolve::agree(*ranks(), good));
    return open_devices_of_rank(flags.devices, flags.common, *ranks());
}

/// A program is started once the devices are known, and on every rank or on none.
Result<train::TrainOptions> start_task(const TrainCommandFlags& flags, Result<train::TrainOptions> resolved,
                                       std::size_t devices) {
    if (flags.program.command.empty()) return resolved;
    const std::uint32_t members = flags.train.options.evolution.population;
    Result<train::HostEnvironments> started = start_program(flags.program, members, devices);
    Result<train::TrainOptions> made =
        started ? resolve(flags.train, std::move(started).value()) : Result<train::TrainOptions>(started.error());
    if (ranks() != nullptr) YOLK_TRY_VOID(evolve::agree(*ranks(), made ? Result<void>() : Result<void>(made.error())));
    return made;
}

Result<int> run_train(const TrainCommandFlags& given_flags) {
    YOLK_TRY_VOID(join_ranks(given_flags.common));
    TrainCommandFlags flags = given_flags;
    if (!speaks_for_ranks()) flags.common.quiet = true;
    const auto described = describe_run(flags.train.options, *flags.app, flags.sets);
    if (described && (!*described || (*described)->kind == tasks::RunKind::Data)) {
        return run_learning(*described,
                            {.devices = flags.devices, .audit = flags.train.options.audit, .common = flags.common});
    }
    Result<train::TrainOptions> resolved = resolve_task(flags, described);
    YOLK_TRY(const std::vector<Device> devices, devices_of_run(flags, resolved));
    YOLK_TRY(train::TrainOptions options, start_task(flags, std::move(resolved), devices.size()));
    if (!described) options.stop_when_solved = !flags.keep_going;
    options.audits_alone = flags.devices == "all";  // however many of them could be opened
    const RememberShapes remember(speaks_for_ranks() ? std::span(devices) : std::span<const Device>());

    const bool human = !flags.common.json && !flags.common.quiet;
    if (human) print_line("training {} on {}", options.task, names_of(devices, true));
    Progress progress(options.generations);
    InterruptGuard interrupt(InterruptGuard::Early::GivesUp);
    const std::shared_ptr<CompileNotice> notice = watch_compilation(devices.front(), flags.common);
    notice->await_first_result("The first generation");
    const auto on_generation = [&](const train::GenerationReport& report) {
        notice->first_result();
        interrupt.has_results();
        if (human) progress.show(report);
        if (flags.common.json && !flags.common.quiet) print_json(train::to_json(report));
        return !InterruptGuard::requested();
    };
    const evolve::Devices on(devices);
    const Result<train::TrainOutcome> outcome =
        train::train(ranks() == nullptr ? on : on.with(*ranks()), options, on_generation);
    notice->first_result();
    progress.finish();
    if (!outcome && outcome.error().kind == ErrorKind::Cancelled)
        return cancelled("Ended by a signal before the first generation; nothing was saved.");
    if (!outcome) return outcome.error();
    if (InterruptGuard::ended_by_closed_output())
        log_info(fmt::format("Nothing reads standard output any more, so that training ended after {} generations{}.",
                             outcome->generations, outcome->policy.empty() ? "" : " and was saved as after Ctrl-C"));

    if (!speaks_for_ranks()) return 0;
    if (described) YOLK_TRY_VOID(keep_configuration(**described));
    const std::string& given = described                        ? (*described)->environment
                               : !flags.program.command.empty() ? flags.program.command
                               : flags.environment.empty()      ? flags.train.options.task
                                                                : flags.environment;
    return print_outcome(flags.common.json, train_outcome_json(options, devices, *outcome),
                         [&] { print_train_outcome(options, given, *outcome); });
}

}  // namespace

Command add_train_command(App& app) {
    const auto flags = std::make_shared<TrainCommandFlags>();
    App* command =
        app.add_subcommand("train", "Train a policy for an environment, or a network for a data set, and save it");
    flags->app = command;
    flags->train.options.task.clear();
    command
        ->add_option("task", flags->train.options.task,
                     "cartpole or as --env; a data set: digits, fashion-mnist, a .csv, .npy, .npz or IDX file, a "
                     "folder of images; or a yolk.toml that describes the run (see init)")
        ->type_name("TASK");
    command->add_option("--env", flags->environment, kEnvironmentHelp)->type_name("NAME|FILE");
    add_program_flags(*command, flags->program);
    add_device_flag(*command, flags->common);
    const Option* const devices = add_devices_flag(*command, flags->devices);
    add_rank_flag(*command, flags->common);
    add_train_flags(*command, flags->train);
    add_data_flags(*command, flags->data, flags->train.options.task, flags->sets);
    add_number(*command, "--audit", flags->train.options.audit,
               "Share of the members, 0 to 1, that a second device evaluates again; one that computes wrongly is "
               "dropped")
        ->default_str("0")
        ->only(with(devices));
    command->add_flag("--keep-going", flags->keep_going, "Do not stop when the task is solved");
    command
        ->add_option("--out", flags->train.options.out,
                     "Folder for policy.safetensors, metrics.jsonl, checkpoint.yolk and log.yolk, made if missing; '' "
                     "writes nothing")
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
                      "Continue from the checkpoint in the folder, or its log where that goes further, with the same "
                      "settings");
    command
        ->add_flag("--log,!--no-log", flags->train.options.log,
                   "Append each generation to log.yolk, from which `replay` rebuilds it (the default), or write and "
                   "read no log")
        ->only({"goes with an output folder", [flags] { return !flags->train.options.out.empty(); }});
    add_output_flags(*command, flags->common);
    const Command bytes = add_train_bytes_command(*command);
    return {command, [flags, bytes] { return bytes.app->parsed() ? bytes.run() : run_train(*flags); }};
}

}  // namespace yolk::cli
