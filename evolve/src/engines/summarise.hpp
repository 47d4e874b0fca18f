// SPDX-License-Identifier: Apache-2.0
// From what a generation left behind to its summary; shared by the device's loop and the twin's, so that they cannot
// differ here.
#pragma once

#include <cstdint>
#include <span>

#include "yolk/internal/abi/fitness.h"
#include "yolk/internal/evolve/generation.hpp"
#include "yolk/internal/evolve/schedule.hpp"

namespace yolk::evolve {

/// `policy_returns`: empty without a policy evaluator.
[[nodiscard]] GenerationSummary summarise(const abi::fitness::Summary& raw,
                                          std::span<const std::uint32_t> evaluation_counters,
                                          std::span<const float> policy_returns, const Schedule& schedule);

}  // namespace yolk::evolve
