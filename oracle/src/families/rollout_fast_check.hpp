// SPDX-License-Identifier: Apache-2.0
// What a roll-out of fast determinism must give. Its environment is exact, so it follows the twin bit by bit as long as
// both take the same actions; and an action is the twin's wherever the policy's outputs are further apart than the
// tolerances of class T. So each step is held on its own, and an episode up to its first decision on a knife's edge.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rollout_oracle.hpp"
#include "yolk/internal/oracle/family.hpp"

namespace yolk::oracle {

struct FastRollout {
    /// [episodes, members]: the twin's returns, exact where every decision of the episode is out of reach of the
    /// tolerances; any number of steps is right elsewhere.
    std::vector<Bounded> returns;
    std::uint32_t open = 0;               ///< episodes with a decision on a knife's edge
    std::uint64_t least_evaluations = 0;  ///< live steps in all, from ... to
    std::uint64_t most_evaluations = 0;
};
[[nodiscard]] FastRollout fast_rollout(const RolloutDesc& desc, std::span<const float> parameters,
                                       const NoiseContext& when, const RolloutPart& part);

/// Holds the sum of the evaluation counters; fails, too, where most episodes are open, which would hold nothing.
void verify_fast_rollout(CheckReport& report, const std::string& name, const FastRollout& expected,
                         std::uint64_t evaluations);

}  // namespace yolk::oracle
