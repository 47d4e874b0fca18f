// SPDX-License-Identifier: Apache-2.0
// What `yolk` and a user's own program do alike: parse, run one subcommand, tell errors, give an exit code.
#pragma once

#include <span>

#include "options.hpp"

namespace yolk::cli {

/// Version, footer, and that one subcommand is needed.
void prepare(App& app);

/// The exit code: 0 good, 1 failed work, 2 bad input.
[[nodiscard]] int parse_and_run(App& app, int argc, const char* const* argv, std::span<const Command> commands);

}  // namespace yolk::cli
