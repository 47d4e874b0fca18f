// SPDX-License-Identifier: Apache-2.0
// The steps of a roll-out, one by one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace yolk {
struct NoiseContext;
struct RolloutDesc;
}  // namespace yolk

namespace yolk::reference {

/// One step of the twin. States are the environment's words as floats.
struct RolloutStep {
    std::vector<float> state;
    std::vector<float> observation;
    std::vector<float> outputs;  ///< of the policy
    std::vector<float> action;   ///< its index, or the numbers of a continuous one
    std::vector<float> next_state;
    float reward = 0.0F;
    bool terminated = false;
};
/// The twin's steps of one member (0 where the description is of the mean) in one episode.
[[nodiscard]] std::vector<RolloutStep> rollout_trace(const RolloutDesc& desc, std::span<const float> parameters,
                                                     const NoiseContext& when, std::uint32_t member,
                                                     std::uint32_t episode);

}  // namespace yolk::reference
