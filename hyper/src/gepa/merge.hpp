// SPDX-License-Identifier: Apache-2.0
// A candidate made of two: what each changed since their common ancestor.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "gepa_state.hpp"

namespace yolk::hyper::prompts {

/// Of a candidate, itself not among them.
[[nodiscard]] std::set<std::uint32_t> ancestors_of(std::span<const Candidate> candidates, std::uint32_t candidate);

/// Common ancestors of two candidates that they may be merged over: no better in the mean than either, and at least one
/// component has its text in exactly one of the two.
[[nodiscard]] std::vector<std::uint32_t> merge_ancestors(std::span<const Candidate> candidates, std::uint32_t first,
                                                         std::uint32_t second);

struct MergeProposal {
    Merged merged{};
    Texts texts{};
};
/// Component by component: what only one of the two changed since the ancestor; where both did, the text of the one
/// with the higher mean, drawn where they are equal.
[[nodiscard]] MergeProposal merge_of(std::span<const Candidate> candidates, std::uint32_t first, std::uint32_t second,
                                     std::uint32_t ancestor, std::uint64_t seed, std::uint32_t iteration);

/// Draws two that are not dominated, neither an ancestor of the other, and an ancestor by its mean: at most ten times,
/// until a merge is found that was not made before and whose texts no candidate has. Nothing: none was found.
[[nodiscard]] std::optional<MergeProposal> propose_merge(const GepaState& state, std::uint64_t seed,
                                                         std::uint32_t iteration);

/// Five validation examples on which a merge is judged: at most two that the first is better at, two that the second is
/// better at, two of the rest, then any; fewer where there are fewer.
[[nodiscard]] std::vector<std::uint32_t> merge_examples(std::span<const double> first, std::span<const double> second,
                                                        std::uint64_t seed, std::uint32_t iteration);
inline constexpr std::uint32_t kMergeExamples = 5;

}  // namespace yolk::hyper::prompts
