// SPDX-License-Identifier: Apache-2.0
// The subcommands of a system of hyperfunctions, shared by a user's own program and `yolk system`.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "options.hpp"
#include "yolk/internal/hyper/metric.hpp"
#include "yolk/optimize.hpp"
#include "yolk/system.hpp"

namespace yolk::cli {

/// What the subcommands work on. What it points to must outlive the command.
struct SystemTask {
    hyper::System* system = nullptr;
    std::span<const hyper::Example> examples{};
    const hyper::Metric* metric = nullptr;
    std::span<const hyper::Example> held_out{};
};
/// Made when a subcommand runs, after parsing.
using MakeSystemTask = std::function<Result<SystemTask>()>;

/// evaluate, optimize, graph, ablate, save, parameters. Flags of a search begin with `settings`.
[[nodiscard]] std::vector<Command> add_system_commands(App& app, const MakeSystemTask& make,
                                                       const hyper::OptimizeOptions& settings);

}  // namespace yolk::cli
