// SPDX-License-Identifier: Apache-2.0
// Members that are one perturbed layer over a batch: a task that two CPU drivers are about equally good at.
#pragma once

#include <memory>

#include "yolk/internal/evolve/member_evaluator.hpp"

namespace yolk::bench {

inline constexpr std::uint32_t kLayerRows = 16;
inline constexpr std::uint32_t kLayerWidth = 64;
/// Members of one dispatch; chunks are multiples of it.
inline constexpr std::uint32_t kLayerBlock = 128;

/// A member's return is the sum of x (W + E)^T over 16 rows of 64, x fixed.
[[nodiscard]] Result<std::unique_ptr<evolve::MemberEvaluator>> layer_members(const Device& device,
                                                                             Dispatcher& dispatcher,
                                                                             std::uint32_t most_members);

}  // namespace yolk::bench
