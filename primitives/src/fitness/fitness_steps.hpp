// SPDX-License-Identifier: Apache-2.0
// The dispatches of one run of fitness as data: a pure function of the description and the device's loop budget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "yolk/fitness.hpp"
#include "yolk/internal/abi/fitness.h"
#include "yolk/result.hpp"

namespace yolk {

/// The kernels of the family, by what they do; which module does it depends on the rule.
enum class FitnessStage {
    Scores,
    Moments,
    Histogram,
    Select,
    Ranks,
    SortCount,
    SortOffsets,
    SortScatter,
    SortedRanks,
    RankMoments,
    Weights,
    Finish,
};
inline constexpr std::size_t kFitnessStages = 12;

/// Up to this many members, the one dispatch that compares each with each stands in for the 13 of the sort.
inline constexpr std::uint32_t kMaxCountedRanks = 512;

struct FitnessStep {
    FitnessStage stage{};
    abi::fitness::Params params{};
    std::uint64_t invocations = 0;
    std::uint64_t cost_per_invocation = 0;  ///< about, in multiply-adds
};

/// Whether statistics and tiles of the sort are a workgroup's.
[[nodiscard]] bool is_by_group(const FitnessDesc& desc) noexcept;

/// In order, a barrier between any two. Error (Unsupported): a number of episodes, or of members to sort, beyond what
/// loops allow.
[[nodiscard]] Result<std::vector<FitnessStep>> fitness_steps(const FitnessDesc& desc, std::uint64_t loop_budget);

/// Words of scratch, and how many of them, from the first on, must be zero before the first step.
[[nodiscard]] std::uint64_t fitness_state_words(const FitnessDesc& desc) noexcept;
[[nodiscard]] std::uint64_t fitness_zeroed_words(const FitnessDesc& desc) noexcept;

}  // namespace yolk
