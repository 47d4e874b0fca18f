// SPDX-License-Identifier: Apache-2.0
// A system ready to work, from the flags of its subcommands: on its devices, its file loaded.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "last_run.hpp"
#include "options.hpp"
#include "system_commands.hpp"
#include "yolk/internal/evolve/options.hpp"

namespace yolk::cli {

struct SystemFlags {
    CommonFlags common;
    bool on_host = false;  ///< no device is opened
    std::string devices;   ///< of --devices; empty: the one device of `common`
    double audit = 0.0;
    std::string load;  ///< a file of save; empty: none
};
Option* add_load_flag(App& app, SystemFlags& flags);
/// --load, the device's and the output's.
void add_system_flags(App& app, SystemFlags& flags);

/// Of commands that evaluate populations.
struct PopulationFlags : SystemFlags {};
/// After the system's own.
void add_population_flags(App& app, PopulationFlags& flags);

/// Its hyperfunctions are registered, as a rule.
struct OpenSystem {
    SystemTask task;
    std::optional<RememberShapes> remember;
};
/// `options` of the search, where there may be one. In a process that has joined others (ranks.hpp) on the devices of
/// this rank; all ranks make the call. Without `calls` and a file to load, no hyperfunction is called, so none is
/// registered yet.
[[nodiscard]] Result<std::unique_ptr<OpenSystem>> open_system(const MakeSystemTask& make, const SystemFlags& flags,
                                                              const evolve::EvolutionOptions& options = {},
                                                              bool calls = true);

}  // namespace yolk::cli
