// SPDX-License-Identifier: Apache-2.0
// What `yolk train TASK` is over. This is the one place where a task's kind is chosen.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app.hpp"
#include "yolk/configuration.hpp"
#include "yolk/train.hpp"

namespace yolk::cli {

/// Settings of runs over data sets; they are read from the call (overrides_of), and are here to be known and explained.
struct DataFlags {
    std::string label, labels, test, activation, gradient;
    double held_out = 0.0;
    float gradient_lr = 0.0F;
    std::uint32_t batch = 0, held_out_every = 0;
    bool header = true, standardize = true, balance = false;
};
/// Those, and --set. `task` is TASK, which is known after parsing.
void add_data_flags(App& train, DataFlags& flags, const std::string& task, std::vector<std::string>& sets);

/// The configuration of a run over a data set, or of one that a .toml describes, with the call's flags applied. Nothing
/// for an environment.
[[nodiscard]] std::optional<Result<tasks::Configuration>> describe_run(const train::TrainOptions& given,
                                                                       const App& train,
                                                                       const std::vector<std::string>& sets);
/// The options that a .toml over an environment gives; --resume and --audit come from the call.
[[nodiscard]] Result<train::TrainOptions> resolve_described(const tasks::Configuration& configuration,
                                                            const train::TrainOptions& given);
/// As yolk.toml in the run's folder.
[[nodiscard]] Result<void> keep_configuration(const tasks::Configuration& configuration);

}  // namespace yolk::cli
