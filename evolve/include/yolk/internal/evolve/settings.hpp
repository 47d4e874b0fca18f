// SPDX-License-Identifier: Apache-2.0
// The settings of a run as names and text, for what compares or keeps them: logs, checkpoints, ranks.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "yolk/internal/evolve/options.hpp"
#include "yolk/internal/primitives/parameters.hpp"

namespace yolk::evolve {

/// Everything in `options` that the bits of a run depend on, as text from which the value comes back.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> settings_of(const EvolutionOptions& options);

/// The ranks of a run's perturbed matrices, which its bits depend on as well: "2" where they all have one, by name
/// where not, "a 1, b 4".
[[nodiscard]] std::string matrix_ranks(const ParameterTable& table, std::uint32_t run_rank);

}  // namespace yolk::evolve
