// SPDX-License-Identifier: Apache-2.0
// The normalizer of a policy's observations: what its elements are, and what follows for them from what members counted
// (docs/adr/0054-observations-are-counted-in-integers.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "yolk/internal/evolve/member_evaluator.hpp"
#include "yolk/rollout.hpp"

namespace yolk::train {

/// Exact integers.
__extension__ using ObservationSum = unsigned __int128;

/// What a run has counted of one value of its observations.
struct ObservationSums {
    std::uint64_t count = 0;     ///< below 2^48
    ObservationSum steps = 0;    ///< of their steps of 2^-16 above -2^15
    ObservationSum squares = 0;  ///< of the squares of the steps
    friend bool operator==(const ObservationSums&, const ObservationSums&) = default;
};

/// What a value is normalized by.
struct ObservationScale {
    float shift = 0.0F, scale = 1.0F;
    friend bool operator==(const ObservationScale&, const ObservationScale&) = default;
};
/// The mean, and one divided by the standard deviation about the mean's whole steps. Integers up to the last conversion
/// of each, so the same bits on every host. A value that was never counted, or deviates by less than a step, keeps its
/// scale.
[[nodiscard]] ObservationScale scale_of(const ObservationSums& sums) noexcept;

/// The normalizer's elements, as the parameters have them (PolicyNetwork::parameters).
[[nodiscard]] std::vector<float> normalizer_of(std::span<const ObservationSums> sums);
/// Nothing where digits are not whole, too large, or count what cannot be.
[[nodiscard]] std::optional<std::vector<ObservationSums>> sums_of(std::span<const float> normalizer);

/// After a generation whose members counted `words` [values, kObservationCounts], summed word by word. A value that was
/// counted 2^47 times is known well enough: nothing is added to it any more.
[[nodiscard]] std::vector<float> normalizer_after(std::span<const float> before, std::span<const std::uint64_t> words);

/// Adds the counts of one of a member's episodes to those of the others: numbers of 1, 2 and 3 words.
void add_observations(std::span<std::uint32_t> to, std::span<const std::uint32_t> from) noexcept;

/// What a run of this network counts; nothing where it is not normalized.
[[nodiscard]] evolve::MemberCounts observation_counts(const PolicyNetwork& network);

}  // namespace yolk::train
