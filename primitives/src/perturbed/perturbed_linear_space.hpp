// SPDX-License-Identifier: Apache-2.0
// perturbed_linear's knobs, their rules and its heuristic.
#pragma once

#include <vector>

#include "yolk/perturbed_linear.hpp"
#include "yolk/result.hpp"

namespace yolk {

[[nodiscard]] std::vector<Knob<PerturbedLinearConfig>> perturbed_linear_knobs(const DeviceInfo& info,
                                                                              const PerturbedLinearDesc& desc);
[[nodiscard]] Result<void> legal_perturbed_linear(const DeviceInfo& info, const PerturbedLinearDesc& desc,
                                                  const PerturbedLinearConfig& config);
[[nodiscard]] PerturbedLinearConfig perturbed_linear_heuristic(const DeviceInfo& info, const PerturbedLinearDesc& desc);

}  // namespace yolk
