// SPDX-License-Identifier: Apache-2.0
#include "yolk/run_system.hpp"

#include <vector>

#include "command_line.hpp"
#include "replay_system.hpp"
#include "system_commands.hpp"

namespace yolk::cli {

int run_system(int argc, const char* const* argv, hyper::System& system, std::span<const hyper::Example> examples,
               const hyper::Metric& metric, const hyper::OptimizeOptions& settings) {
    App app("A system of hyperfunctions, made better without gradients.", system.name());
    prepare(app);
    const SystemTask task{.system = &system, .examples = examples, .metric = &metric, .held_out = settings.held_out};
    const auto make = [&task]() -> Result<SystemTask> { return task; };
    std::vector<Command> commands = add_system_commands(app, make, settings);
    commands.push_back(add_replay_system_command(app, make));  // of a shipped system `yolk replay` does it
    return parse_and_run(app, argc, argv, commands);
}

int run_system(int argc, const char* const* argv, hyper::System& system, std::span<const hyper::Example> examples,
               const hyper::Metric& metric, std::span<const hyper::Example> held_out) {
    hyper::OptimizeOptions settings;
    settings.held_out = held_out;
    return run_system(argc, argv, system, examples, metric, settings);
}

}  // namespace yolk::cli
