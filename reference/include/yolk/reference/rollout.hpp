// SPDX-License-Identifier: Apache-2.0
// Exact twin of rollout (docs/kernels/rollout.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/primitives/rollout.hpp"

namespace yolk::reference {

struct RolloutTwin {
    std::vector<float> returns;     ///< [episodes, members of the part]
    std::uint64_t evaluations = 0;  ///< live steps
};
/// Exact twin: fp32 in the kernel's order, the environment from the kernel's own source. Uses all processors. `desc` is
/// one that plan_rollout accepts; `parameters` has its element_count elements.
[[nodiscard]] RolloutTwin rollout_twin(const RolloutDesc& desc, std::span<const float> parameters,
                                       const NoiseContext& when, const RolloutPart& part = {});

/// One step of the twin. States are the environment's words as floats.
struct RolloutStep {
    std::vector<float> state;
    std::vector<float> observation;
    std::vector<float> outputs;  ///< of the policy
    std::uint32_t action = 0;
    std::vector<float> next_state;
    float reward = 0.0F;
    bool terminated = false;
};
/// The twin's steps of one member (0 where the description is of the mean) in one episode.
[[nodiscard]] std::vector<RolloutStep> rollout_trace(const RolloutDesc& desc, std::span<const float> parameters,
                                                     const NoiseContext& when, std::uint32_t member,
                                                     std::uint32_t episode);

}  // namespace yolk::reference
