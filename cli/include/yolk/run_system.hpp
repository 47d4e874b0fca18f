// SPDX-License-Identifier: Apache-2.0
// The command line of a user's own system: `yolk`'s, for a system of hyperfunctions.
#pragma once

#include <span>

#include "yolk/internal/hyper/metric.hpp"
#include "yolk/optimize.hpp"
#include "yolk/system.hpp"

namespace yolk::cli {

/// The whole of a user's main: `return yolk::cli::run_system(argc, argv, system, examples, metric);`. Subcommands:
/// evaluate, optimize, graph, ablate, save, parameters, replay; each says its flags with --help. `held_out` examples
/// are scored beside the others. Returns the exit code: 0 good, 1 failed work, 2 bad input; errors go to standard
/// error, standard output holds results only.
[[nodiscard]] int run_system(int argc, const char* const* argv, hyper::System& system,
                             std::span<const hyper::Example> examples, const hyper::Metric& metric,
                             std::span<const hyper::Example> held_out = {});
/// The same with settings that suit the system: flags of `optimize`, and of `ablate --how freeze`, begin with them.
/// Their held-out examples are `held_out`.
[[nodiscard]] int run_system(int argc, const char* const* argv, hyper::System& system,
                             std::span<const hyper::Example> examples, const hyper::Metric& metric,
                             const hyper::OptimizeOptions& settings);

}  // namespace yolk::cli
