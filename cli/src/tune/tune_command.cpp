// SPDX-License-Identifier: Apache-2.0
#include "tune_command.hpp"

#include <utility>
#include <vector>

#include "tune_device.hpp"
#include "tune_kernel.hpp"
#include "tune_report.hpp"
#include "tune_surface.hpp"
#include "tune_table.hpp"

namespace yolk::cli {
namespace {

/// What were flags of `yolk tune` before it had subcommands.
constexpr std::pair<const char*, const char*> kMovedFlags[]{
    {"--surface", "yolk tune surface FILE"},
    {"--kernel", "yolk tune kernel FILE --space FILE"},
    {"--list", "yolk tune table list"},
    {"--show", "yolk tune table show SHAPE"},
    {"--explain", "yolk tune table explain SHAPE"},
    {"--export", "yolk tune table export FILE"},
    {"--import", "yolk tune table import FILE"},
    {"--pin", "yolk tune table pin SHAPE"},
    {"--forget", "yolk tune table forget WHAT"},
    {"--report", "yolk tune report FILE"},
};

}  // namespace

Command add_tune_command(App& app) {
    App* const tune = app.add_subcommand(
        "tune", "Tune Yolk's kernels on this device; or a kernel of your own, a recorded surface, the table");
    const std::vector<Command> commands{add_tune_device(*tune), add_tune_kernel(*tune), add_tune_surface(*tune),
                                        add_tune_table(*tune), add_tune_report(*tune)};
    std::function<Result<int>()> bare;
    tune->group(tune->without_subcommand(), [&] { bare = add_device_tuning(*tune); });
    for (const auto& [flag, instead] : kMovedFlags) tune->add_moved(flag, instead);
    return {tune, [commands, bare] {
                for (const Command& command : commands) {
                    if (command.app->parsed()) return command.run();
                }
                return bare();
            }};
}

}  // namespace yolk::cli
