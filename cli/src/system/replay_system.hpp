// SPDX-License-Identifier: Apache-2.0
// `system NAME replay`: the parameters after any generation of a search.
#pragma once

#include "options.hpp"
#include "system_commands.hpp"

namespace yolk::cli {

[[nodiscard]] Command add_replay_system_command(App& app, const MakeSystemTask& make);

}  // namespace yolk::cli
