// SPDX-License-Identifier: Apache-2.0
// `system NAME optimize`: a search by this process, or by the ranks that a launcher started.
#pragma once

#include <fmt/format.h>

#include <string>

#include "options.hpp"
#include "system_commands.hpp"
#include "yolk/optimize.hpp"

namespace yolk::cli {

[[nodiscard]] inline std::string reward_text(double reward) { return fmt::format("{:.6g}", reward); }

/// Of a search, wherever a command makes one.
void add_optimize_flags(App& app, hyper::OptimizeOptions& options);
[[nodiscard]] Command add_optimize_command(App& app, const MakeSystemTask& make,
                                           const hyper::OptimizeOptions& settings);

}  // namespace yolk::cli
