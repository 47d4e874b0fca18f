// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace yolk::evolve {

/// Twice the rank of each finite score less the number of scores but one, ties averaged: from -(n-1) to n-1. Linear in
/// n: keys are sorted by three digits.
[[nodiscard]] std::vector<std::int32_t> centred_score_ranks(std::span<const float> scores);

}  // namespace yolk::evolve
