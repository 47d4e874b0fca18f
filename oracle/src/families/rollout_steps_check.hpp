// SPDX-License-Identifier: Apache-2.0
// What the checks of roll-outs share: single steps held against the oracle, and the problem that reads a device's
// states after each step.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "check_tools.hpp"
#include "rollout_oracle.hpp"

namespace yolk::oracle {

void verify_rollout_values(CheckReport& report, const std::string& name, std::span<const float> got,
                           std::span<const RolloutValue> oracle);

/// An action may differ from the oracle's largest output only within the outputs' tolerances.
void verify_rollout_action(CheckReport& report, const std::string& name, std::uint32_t action,
                           std::span<const RolloutValue> outputs);

/// Rolls out 1, 2, ... desc.max_steps steps of every member and reads each time what the kernel keeps of an episode:
/// its state, its return and whether it has ended. All of it must be the twin's bits; every state must follow within
/// tolerance from the device's own state before, by an action that the oracle's policy could take there. For
/// environments whose observation is the state; one episode a member, members a multiple of 64.
[[nodiscard]] std::unique_ptr<Problem> make_rollout_steps_problem(std::string name, const RolloutDesc& desc,
                                                                  std::vector<float> parameters,
                                                                  const NoiseContext& when);

}  // namespace yolk::oracle
