// SPDX-License-Identifier: Apache-2.0
// The settings of a run, shared by `yolk train` and `yolk check --run`.
#pragma once

#include <cstdint>
#include <vector>

#include "app.hpp"
#include "yolk/train.hpp"

namespace yolk::cli {

struct TrainFlags {
    train::TrainOptions options;
    std::vector<std::uint32_t> hidden{64};  ///< widths of the layers between observation and action
};

/// Every setting of evolve::EvolutionOptions, the network and the episodes.
void add_train_flags(App& app, TrainFlags& flags);

/// The options with the task found (it is a name or a file, see environment_flag.hpp) and the network fitted to it.
/// Errors: choose_environment's, settings outside their limits.
[[nodiscard]] Result<train::TrainOptions> resolve(const TrainFlags& flags);

/// The same for environments that the host steps.
[[nodiscard]] Result<train::TrainOptions> resolve(const TrainFlags& flags, train::HostEnvironments on_host);

}  // namespace yolk::cli
