// SPDX-License-Identifier: Apache-2.0
#include "replay_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "example_systems.hpp"
#include "finetune_command.hpp"
#include "learn_run.hpp"
#include "output.hpp"
#include "replay_system.hpp"
#include "select_device.hpp"
#include "yolk/bytes.hpp"
#include "yolk/finetune.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/train/replay.hpp"
#include "yolk/json.hpp"

namespace yolk::cli {
namespace {

Json outcome_json(const ReplayFlags& flags, const ReplayPlace& place, const train::ReplayOutcome& outcome) {
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

void print_outcome_text(const ReplayPlace& place, const train::ReplayOutcome& outcome) {
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

Result<int> replay_policy(const ReplayFlags& flags) {
    const train::ReplayOptions options{.generation = flags.wanted(), .out = flags.out};
    const StatusLine status(!flags.common.json && !flags.common.quiet);
    const auto progress = [&status](std::uint32_t done, std::uint32_t all) {
        if (done % 64 == 0) status.show(fmt::format("generation {}/{}", done, all));
        return true;
    };
    ReplayPlace place;
    const auto replay = [&]() -> Result<train::ReplayOutcome> {
        if (flags.on_host) return train::replay(evolve::Devices::none(), flags.log, options, progress);
        YOLK_TRY(const Context context, open_context(flags.common));
        place = place_of(context.device().info());
        return train::replay(context, flags.log, options, progress);
    };
    const Result<train::ReplayOutcome> outcome = replay();
    status.finish();
    if (!outcome) return outcome.error();
    note_what_is_odd(flags.log, outcome->torn_bytes, outcome->differs_from);
    return print_outcome(flags.common.json, outcome_json(flags, place, *outcome),
                         [&] { print_outcome_text(place, *outcome); });
}

/// Its state alone: what a generation's model is, its own run saves.
Result<int> replay_byte_model(const ReplayFlags& flags) {
    if (!flags.out.empty() || flags.on_host || !flags.load.empty())
        return bad_input(
            "The log of a byte model is replayed without --out, --host and --load: it gives the state's hash.");
    YOLK_TRY(const Context context, open_context(flags.common));
    YOLK_TRY(const std::string hash, train::replay_bytes(context, flags.log, flags.wanted()));
    return print_outcome(flags.common.json, {{"log", flags.log.string()}, {"task", "bytes"}, {"state_hash", hash}},
                         [&] { print_line("bytes: state {}", hash); });
}

/// By its log alone; of a system that is not shipped only its own program knows the parameters.
Result<int> run_replay(ReplayFlags flags) {
    YOLK_TRY(const train::FoundLog found, train::find_log(flags.log));
    if (found.is_bytes) return replay_byte_model(flags);
    if (found.system.empty()) {
        if (!flags.load.empty()) {
            return bad_input("--load goes with the log of a search over a system; '{}' is of a policy's training.",
                             shown(found.file));
        }
        return replay_policy(flags);
    }
    flags.log = found.file;
    if (found.system == transformer::kTunedEncoder)
        return replay_tuned(
            {.log = flags.log, .out = flags.out, .generation = flags.wanted(), .on_host = flags.on_host}, flags.common);
    if (found.system == tasks::kLearnedSystem)
        return replay_learned(flags.log, flags.wanted(), flags.out, flags.common);
    const auto shipped = example_systems();
    const auto system = std::ranges::find(shipped, std::string_view(found.system), &ExampleSystemInfo::name);
    if (system != shipped.end()) return replay_system(task_of(*system), flags);
    std::vector<std::string_view> names;
    for (const ExampleSystemInfo& info : shipped) names.push_back(info.name);
    return bad_input(
        "'{}' is the log of a search over the system '{}', which is not a shipped one ({}). Replay it by the program "
        "whose system it is: PROGRAM replay {}.",
        shown(found.file), shown(found.system), fmt::join(names, ", "), shell_quoted(found.file.string()));
}

}  // namespace

Command add_replay_command(App& app) {
    const auto flags = std::make_shared<ReplayFlags>();
    App* command = app.add_subcommand("replay", "Rebuild the weights after any generation of a run from its log");
    add_replay_flags(*command, *flags,
                     {.log = "The log.yolk of a run of `train` or its folder, or the FILE.log.yolk of a search over a "
                             "shipped system",
                      .out = "Folder for policy.safetensors, checkpoint.yolk and log.yolk of that generation, made if "
                             "missing; of a system the file to save it in",
                      .out_type = "PATH"});
    add_load_flag(*command, *flags);
    return {command, [flags] { return run_replay(*flags); }};
}

}  // namespace yolk::cli
