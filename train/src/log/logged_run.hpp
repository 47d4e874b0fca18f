// SPDX-License-Identifier: Apache-2.0
// From the settings in a log to what its generations are applied to. Nothing is evaluated, so neither the environment
// nor its file is needed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/evolve/options.hpp"
#include "yolk/result.hpp"
#include "yolk/rollout.hpp"
#include "yolk/run_log.hpp"

namespace yolk::train {

struct LoggedRun {
    std::string task;                ///< the environment's name
    std::string environment_source;  ///< hash of its text; empty: built in
    PolicyNetwork network;
    evolve::EvolutionOptions evolution;
    ParameterTable parameters;  ///< as trained: with frozen ones
    std::vector<float> initial;
};

/// The system whose search the log is of; nullptr: it is of a policy's training.
[[nodiscard]] const std::string* system_of(const evolve::RunLogHeader& header);

/// `what` names the log in errors. Errors, BadInput: a setting that is missing or outside its limits, a network with
/// other parameters than the log's, weights of another kind or number than its settings make, a search over a system.
[[nodiscard]] Result<LoggedRun> logged_run(const evolve::RunLogHeader& header, std::string_view what);

}  // namespace yolk::train
