// SPDX-License-Identifier: Apache-2.0
#include "replay_system.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "open_system.hpp"
#include "optimize_command.hpp"
#include "output.hpp"
#include "yolk/core/json.hpp"
#include "yolk/core/log.hpp"
#include "yolk/core/printable.hpp"
#include "yolk/hyper/optimize.hpp"
#include "yolk/hyper/state_file.hpp"

namespace yolk::cli {
namespace {

struct ReplaySystemFlags : SystemFlags {
    std::filesystem::path log;
    std::uint32_t generation = 0;
    const Option* generation_given = nullptr;
    std::string out;
};

Json replay_json(const ReplaySystemFlags& flags, const hyper::System& system, const hyper::SearchReplay& replay,
                 double reward) {
    Json json{{"log", flags.log.string()},
              {"system", system.name()},
              {"generations_in_log", replay.generations_in_log},
              {"torn_bytes", replay.torn_bytes},
              {"generation", replay.generation},
              {"state_hash", replay.state_hash},
              {"state_digest", replay.state_digest},
              {"reward", reward},
              {"file", flags.out}};
    if (replay.differs_from) json["differs_from"] = *replay.differs_from;
    return json;
}

Result<int> run_replay_system(const MakeSystemTask& make, const ReplaySystemFlags& flags) {
    YOLK_TRY(const std::unique_ptr<OpenSystem> open, open_system(make, flags));
    const SystemTask& task = open->task;
    std::optional<std::uint32_t> generation;
    if (flags.generation_given->count() > 0) generation = flags.generation;
    YOLK_TRY(const hyper::SearchReplay replay, hyper::replay(*task.system, task.examples, flags.log, generation));
    if (replay.torn_bytes != 0) {
        log_info(fmt::format("'{}' ends in {} bytes of a generation that was not finished; they were left out.",
                             shown(flags.log), replay.torn_bytes));
    }
    if (replay.differs_from) {
        log_warning(fmt::format(
            "From generation {} on the states are not quite those of the search: the update of its fitness rule is the "
            "same only within a tolerance on another device.",
            *replay.differs_from));
    }
    YOLK_TRY(const hyper::Evaluation evaluation, task.system->evaluate(task.examples, *task.metric));
    if (!flags.out.empty())
        YOLK_TRY_VOID(hyper::save_state(*task.system, flags.out, {.scores = {{"reward", evaluation.reward}}}));
    std::string text =
        fmt::format("{}: generation {} of {} has a reward of {}, state {}", task.system->name(), replay.generation,
                    replay.generations_in_log, reward_text(evaluation.reward), replay.state_hash);
    if (!flags.out.empty()) text += fmt::format("\nsaved {}", shown(flags.out));
    return print_outcome(flags.common.json, replay_json(flags, *task.system, replay, evaluation.reward), text);
}

}  // namespace

Command add_replay_system_command(App& app, const MakeSystemTask& make) {
    const auto flags = std::make_shared<ReplaySystemFlags>();
    App* const command =
        app.add_subcommand("replay", "Rebuild the parameters after any generation of a search from its log");
    command->add_option("log", flags->log, "The FILE.log.yolk of `optimize --out FILE`")->required()->type_name("LOG");
    flags->generation_given =
        add_number(*command, "--generation", flags->generation, "Generations to apply, 0 for the first parameters")
            ->default_str("all");
    command->add_option("--out", flags->out, "Save the system with these parameters here")->type_name("FILE");
    add_system_flags(*command, *flags);
    return {.app = command, .run = [flags, make] { return run_replay_system(make, *flags); }};
}

}  // namespace yolk::cli
