// SPDX-License-Identifier: Apache-2.0
#include "replay_system.hpp"

#include <fmt/format.h>

#include <memory>

#include "optimize_command.hpp"
#include "output.hpp"
#include "select_device.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/hyper/state_file.hpp"
#include "yolk/json.hpp"
#include "yolk/log.hpp"
#include "yolk/optimize.hpp"

namespace yolk::cli {
namespace {

/// Which system's, and what it is worth.
struct ReplayedSystem {
    std::string name{};
    ReplayPlace place{};
    hyper::SearchReplay replay{};
    double reward = 0.0;
};

Json replayed_json(const ReplayFlags& flags, const ReplayedSystem& system) {
    const hyper::SearchReplay& replay = system.replay;
    Json json{{"log", flags.log.string()},
              {"system", system.name},
              {"device", system.place.device},
              {"driver", system.place.driver},
              {"seed", replay.seed},
              {"population", replay.population},
              {"generations_in_log", replay.generations_in_log},
              {"torn_bytes", replay.torn_bytes},
              {"generation", replay.generation},
              {"state_hash", replay.state_hash},
              {"state_digest", replay.state_digest},
              {"reward", system.reward},
              {"file", flags.out.string()}};
    if (replay.differs_from) json["differs_from"] = *replay.differs_from;
    return json;
}

void print_replayed(const ReplayFlags& flags, const ReplayedSystem& system) {
    const hyper::SearchReplay& replay = system.replay;
    print_line("{}, seed {}, population {}: the log has {} generation{}", system.name, replay.seed, replay.population,
               replay.generations_in_log, replay.generations_in_log == 1 ? "" : "s");
    print_line("generation {}: state {}, by {}; its reward is {}", replay.generation, replay.state_hash,
               system.place.device, reward_text(system.reward));
    if (!flags.out.empty()) print_line("saved {}", shown(flags.out));
}

}  // namespace

void add_replay_flags(App& app, ReplayFlags& flags, const ReplayHelp& help) {
    app.add_option("log", flags.log, help.log)->required()->type_name("LOG");
    flags.generation_given =
        add_number(app, "--generation", flags.generation, "Generations to apply, 0 for the first values")
            ->default_str("all");
    app.add_option("--out", flags.out, help.out)->type_name(help.out_type);
    const Option* const twin =
        app.add_flag("--twin", flags.on_host, "On the host, by the exact twin, with no device; for exact runs");
    app.group(without(twin), [&] { add_device_flag(app, flags.common); });
    add_output_flags(app, flags.common);
}

ReplayPlace place_of(const DeviceInfo& device) { return {.device = device.name, .driver = driver_text(device)}; }

void note_what_is_odd(const std::filesystem::path& log, std::uint64_t torn_bytes,
                      const std::optional<std::uint32_t>& differs_from) {
    if (torn_bytes != 0) {
        log_info(fmt::format("'{}' ends in {} bytes of a generation that was not finished; they were left out.",
                             shown(log), torn_bytes));
    }
    if (differs_from) {
        log_warning(
            fmt::format("From generation {} on the states are not quite those of the run: the update of its fitness "
                        "rule is the same only within a tolerance on another device.",
                        *differs_from));
    }
}

Result<int> replay_system(const MakeSystemTask& make, const ReplayFlags& flags) {
    YOLK_TRY(const std::unique_ptr<OpenSystem> open, open_system(make, flags));
    const SystemTask& task = open->task;
    ReplayedSystem system{.name = task.system->name()};
    // Without a driver the host makes it, too.
    if (const auto devices = task.system->devices().handles(); devices && !devices->empty())
        system.place = place_of(devices->front().info());
    YOLK_TRY(system.replay, hyper::replay(*task.system, task.examples, flags.log, flags.wanted()));
    note_what_is_odd(flags.log, system.replay.torn_bytes, system.replay.differs_from);
    YOLK_TRY(const hyper::Evaluation evaluation, task.system->evaluate(task.examples, *task.metric));
    system.reward = evaluation.reward;
    if (!flags.out.empty())
        YOLK_TRY_VOID(hyper::save_state(*task.system, flags.out, {.scores = {{"reward", system.reward}}}));
    return print_outcome(flags.common.json, replayed_json(flags, system), [&] { print_replayed(flags, system); });
}

Command add_replay_system_command(App& app, const MakeSystemTask& make) {
    const auto flags = std::make_shared<ReplayFlags>();
    App* const command =
        app.add_subcommand("replay", "Rebuild the parameters after any generation of a search from its log");
    add_replay_flags(*command, *flags,
                     {.log = "The FILE.log.yolk of `optimize --out FILE`",
                      .out = "Save the system with these parameters here",
                      .out_type = "FILE"});
    add_load_flag(*command, *flags);
    return {.app = command, .run = [flags, make] { return replay_system(make, *flags); }};
}

}  // namespace yolk::cli
