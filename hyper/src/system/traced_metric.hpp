// SPDX-License-Identifier: Apache-2.0
// Rewards over traced values.
#pragma once

#include "yolk/internal/hyper/traced.hpp"

namespace yolk::hyper {

/// numeric_distance()'s.
[[nodiscard]] Traced traced_numeric_distance(const Traced& prediction, const Traced& expected);
/// cross_entropy()'s. Expected numbers that name no class, which its host's form refuses, give 0.
[[nodiscard]] Traced traced_cross_entropy(const Traced& prediction, const Traced& expected);

}  // namespace yolk::hyper
