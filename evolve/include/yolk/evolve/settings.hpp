// SPDX-License-Identifier: Apache-2.0
// The settings of a run as names and text, for what compares or keeps them: logs, checkpoints, ranks.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "yolk/evolve/options.hpp"

namespace yolk::evolve {

/// Everything in `options` that the bits of a run depend on, as text from which the value comes back.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> settings_of(const EvolutionOptions& options);

}  // namespace yolk::evolve
