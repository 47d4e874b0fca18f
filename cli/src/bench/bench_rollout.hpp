// SPDX-License-Identifier: Apache-2.0
// `yolk bench rollout`: evaluations per second of the roll-out kernel.
#pragma once

#include <cstdint>
#include <string>

#include "options.hpp"
#include "timed_runs.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/internal/primitives/determinism.hpp"

namespace yolk::cli {

struct RolloutFlags {
    std::uint32_t population = 4096;
    std::uint32_t episodes = 1;
    std::string environment = "cartpole";
    Determinism determinism = Determinism::Exact;
    CommonFlags common;
};

struct RolloutRuns {
    double evaluations = 0.0;  ///< of one run
    TimedRuns runs;
};
/// One hidden layer of 64; every member stays live to the end. Error: the device counted other evaluations than were
/// asked for, besides those of the flags and of plans.
[[nodiscard]] Result<RolloutRuns> time_rollouts(Dispatcher& dispatcher, const RolloutFlags& flags,
                                                const RunBudget& budget);

[[nodiscard]] Command add_rollout_bench(App& bench);

}  // namespace yolk::cli
