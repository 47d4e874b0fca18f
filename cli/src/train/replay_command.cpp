// SPDX-License-Identifier: Apache-2.0
#include "replay_command.hpp"

#include <fmt/format.h>

#include <memory>

#include "output.hpp"
#include "select_device.hpp"
#include "yolk/core/json.hpp"
#include "yolk/core/log.hpp"
#include "yolk/core/printable.hpp"
#include "yolk/train/replay.hpp"

namespace yolk::cli {
namespace {

struct ReplayFlags {
    std::filesystem::path log;
    std::uint32_t generation = 0;
    const Option* generation_given = nullptr;
    std::filesystem::path out;
    bool twin = false;
    CommonFlags common;
};

/// What the generations are applied on, as it is shown.
struct Place {
    std::string device = "the host's exact twin";
    std::string driver{};
};

Json outcome_json(const ReplayFlags& flags, const Place& place, const train::ReplayOutcome& outcome) {
    Json json{{"log", flags.log.string()},
              {"task", outcome.task},
              {"device", place.device},
              {"driver", place.driver},
              {"seed", outcome.seed},
              {"population", outcome.population},
              {"generations_in_log", outcome.generations_in_log},
              {"torn_bytes", outcome.torn_bytes},
              {"generation", outcome.generation},
              {"state_hash", outcome.state_hash},
              {"state_digest", outcome.state_digest},
              {"seconds", outcome.seconds},
              {"policy", outcome.policy.string()},
              {"checkpoint", outcome.checkpoint.string()}};
    if (outcome.differs_from) json["differs_from"] = *outcome.differs_from;
    return json;
}

void print_outcome_text(const Place& place, const train::ReplayOutcome& outcome) {
    print_line("{}, seed {}, population {}: the log has {} generation{}", outcome.task, outcome.seed,
               outcome.population, outcome.generations_in_log, outcome.generations_in_log == 1 ? "" : "s");
    print_line("generation {}: state {}, by {} in {:.1f} s", outcome.generation, outcome.state_hash, place.device,
               outcome.seconds);
    if (outcome.policy.empty()) return;
    print_line("saved {}", shown(outcome.policy));
    if (outcome.checkpoint.empty()) return;
    print_line("to go on from there: {} train with the run's settings, --out {} and --resume", command_name(),
               shell_quoted(outcome.checkpoint.parent_path().string()));
}

void note_what_is_odd(const ReplayFlags& flags, const train::ReplayOutcome& outcome) {
    if (outcome.torn_bytes != 0) {
        log_info(fmt::format("'{}' ends in {} bytes of a generation that was not finished; they were left out.",
                             shown(flags.log), outcome.torn_bytes));
    }
    if (outcome.differs_from) {
        log_warning(
            fmt::format("From generation {} on the states are not quite those of the run: the update of its fitness "
                        "rule is the same only within a tolerance on another device.",
                        *outcome.differs_from));
    }
}

Result<int> run_replay(const ReplayFlags& flags) {
    train::ReplayOptions options{.out = flags.out};
    if (flags.generation_given->count() > 0) options.generation = flags.generation;
    const StatusLine status(!flags.common.json && !flags.common.quiet);
    const auto progress = [&status](std::uint32_t done, std::uint32_t all) {
        if (done % 64 == 0) status.show(fmt::format("generation {}/{}", done, all));
        return true;
    };
    Place place;
    const auto replay = [&]() -> Result<train::ReplayOutcome> {
        if (flags.twin) return train::replay(evolve::Devices::none(), flags.log, options, progress);
        YOLK_TRY(const Context context, open_context(flags.common));
        place = {.device = context.device().info().name, .driver = driver_text(context.device().info())};
        return train::replay(context, flags.log, options, progress);
    };
    const Result<train::ReplayOutcome> outcome = replay();
    status.finish();
    if (!outcome) return outcome.error();
    note_what_is_odd(flags, *outcome);
    return print_outcome(flags.common.json, outcome_json(flags, place, *outcome),
                         [&] { print_outcome_text(place, *outcome); });
}

}  // namespace

Command add_replay_command(App& app) {
    const auto flags = std::make_shared<ReplayFlags>();
    App* command = app.add_subcommand("replay", "Rebuild the weights after any generation of a run from its log");
    command->add_option("log", flags->log, "The log.yolk of a run of `train`, or its folder")
        ->required()
        ->type_name("LOG");
    flags->generation_given =
        add_number(*command, "--generation", flags->generation, "Generations to apply, 0 for the first values")
            ->default_str("all");
    command
        ->add_option("--out", flags->out,
                     "Folder for policy.safetensors, checkpoint.yolk and log.yolk of that generation, made if missing")
        ->type_name("FOLDER");
    const Option* const twin =
        command->add_flag("--twin", flags->twin, "On the host, by the exact twin, with no device; for exact runs");
    command->group(without(twin), [&] { add_device_flag(*command, flags->common); });
    add_output_flags(*command, flags->common);
    return {command, [flags] { return run_replay(*flags); }};
}

}  // namespace yolk::cli
