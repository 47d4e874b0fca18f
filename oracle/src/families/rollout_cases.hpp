// SPDX-License-Identifier: Apache-2.0
// What the roll-out is checked on.
#pragma once

#include <cstdint>
#include <vector>

#include "yolk/internal/primitives/determinism.hpp"
#include "yolk/rollout.hpp"

namespace yolk::oracle {

struct RolloutCase {
    const char* what;
    std::vector<std::uint32_t> hidden;  // widths between the environment's
    std::uint32_t members = 1;
    std::uint32_t episodes = 1;
    std::uint32_t max_steps = 0;
    std::uint32_t rank = 1;
    std::uint32_t frozen = 0;  // bit p: parameter p
    bool mean_only = false;
    bool never_stop = false;
    bool antithetic = true;
    RolloutPart part{};
    Determinism determinism = Determinism::Exact;
    bool normalized = false;
    std::uint32_t recurrent = 0;  ///< units
};

/// Returns and evaluations.
[[nodiscard]] std::vector<RolloutCase> whole_rollouts();
/// States after each step: the default network, one with members of their own whose episodes start again, and that
/// with a recurrent layer.
[[nodiscard]] std::vector<RolloutCase> rollouts_by_steps();

}  // namespace yolk::oracle
