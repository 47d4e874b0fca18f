// SPDX-License-Identifier: Apache-2.0
#include "system_command.hpp"

#include <memory>
#include <string>
#include <vector>

#include "example_systems.hpp"
#include "system_commands.hpp"

namespace yolk::cli {

Command add_system_command(App& app) {
    App* const command = app.add_subcommand(
        "system",
        "Evaluate, optimize, draw, ablate or save a shipped system of hyperfunctions; a program of your own "
        "does the same with yolk::cli::run_system");
    const auto commands = std::make_shared<std::vector<Command>>();
    for (const ExampleSystemInfo& info : example_systems()) {
        App* const named = command->add_subcommand(std::string(info.name), std::string(info.what));
        for (Command& each : add_system_commands(*named, task_of(info), info.settings))
            commands->push_back(std::move(each));
    }
    return {.app = command,
            .run = [commands] { return run_named(*commands, "The command is missing; see yolk system --help."); }};
}

}  // namespace yolk::cli
