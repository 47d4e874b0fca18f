// SPDX-License-Identifier: Apache-2.0
// Whether a search can change anything at all.
#pragma once

#include <span>
#include <string>

#include "yolk/internal/hyper/population.hpp"
#include "yolk/result.hpp"

namespace yolk::hyper {

/// Error: no example's output depends on any of the optimized `groups`; it says where the dependence was cut.
[[nodiscard]] Result<void> check_learnable(const std::string& system, std::span<const TracedExample> examples,
                                           std::span<const std::string> groups);

}  // namespace yolk::hyper
