// SPDX-License-Identifier: Apache-2.0
// What an interrupted search left, as a state file (yolk/internal/core/state_file.hpp) with the tensors "centre",
// "optimizer" and "best". Reading trusts nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "yolk/internal/evolve/ranks.hpp"
#include "yolk/internal/evolve/update_twin.hpp"
#include "yolk/optimize.hpp"
#include "yolk/result.hpp"

namespace yolk::hyper {

struct SearchCheckpoint {
    evolve::NamedValues settings{};  ///< that the search depends on; those that may change when it goes on are not here
    evolve::EvolutionState mean{};
    double start_reward = 0.0;
    std::optional<double> held_out_start{};
    double best_reward = 0.0;
    std::optional<std::vector<float>> best{};  ///< nothing: the start
    OptimizeCost cost{};                       ///< spent so far
    std::uint64_t failed_candidates = 0;
};

[[nodiscard]] Result<std::vector<std::byte>> encode_checkpoint(const SearchCheckpoint& checkpoint);
/// `what` names the bytes in errors. Errors: those of decode_state.
[[nodiscard]] Result<SearchCheckpoint> decode_checkpoint(std::span<const std::byte> bytes, std::string_view what);

}  // namespace yolk::hyper
