// SPDX-License-Identifier: Apache-2.0
// From what members count to the elements of the parameters that follow from it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/internal/evolve/member_evaluator.hpp"
#include "yolk/result.hpp"

namespace yolk::evolve {

/// What the members of the evaluator's last evaluate() counted: `words` of each. Error: another number of words.
[[nodiscard]] Result<std::span<const std::uint32_t>> counted_by(const MemberEvaluator& evaluator,
                                                                const MemberRange& members, std::size_t words);
/// Adds `counts` [any number of members, sums.size()] word by word: 2^32 members fit.
void add_counts(std::span<const std::uint32_t> counts, std::span<std::uint64_t> sums) noexcept;
/// ShapedGeneration::tail of a generation whose population counted `sums`, before whose update these were the
/// parameters.
[[nodiscard]] std::vector<float> tail_after(const MemberCounts& counts, std::span<const float> parameters,
                                            std::span<const std::uint64_t> sums);

}  // namespace yolk::evolve
