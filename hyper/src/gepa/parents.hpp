// SPDX-License-Identifier: Apache-2.0
// Which candidate a mutation starts from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/prompts.hpp"

namespace yolk::hyper::prompts {

/// `scores` [candidates][validation examples]; at least one candidate.
[[nodiscard]] std::uint32_t choose_parent(const GepaOptions& options, std::uint32_t iteration,
                                          std::span<const std::vector<double>> scores);

}  // namespace yolk::hyper::prompts
