// SPDX-License-Identifier: Apache-2.0
// How es_update cuts the pairs of a population into slices: a pure function, so that limits of devices not at hand can
// be tested.
#pragma once

#include <cstdint>

#include "yolk/result.hpp"

namespace yolk {

/// Products that one int32 sum can take: 16,384 * 127 * 30 * 30 < 2^31.
inline constexpr std::uint32_t kExactProductsPerSlice = 16384;
/// And one float sum: 128 * 127 * 30 * 30 < 2^24.
inline constexpr std::uint32_t kExactProductsPerStagedSlice = 128;
/// Shorter slices than so many need are lengthened: even one tile has then enough to do at once, and its partial sums
/// stay small (4,096 slices of an 8x16 tile: 2 MiB).
inline constexpr std::uint32_t kEnoughSlices = 4096;

struct SliceProblem {
    std::uint32_t pair_count = 0;
    std::uint32_t rank = 1;
    std::uint32_t wanted_pairs_per_slice = 1;  ///< the configuration's; the answer is the nearest that is allowed
    std::uint32_t tile_blocks = 1;
    bool staged = false;                  ///< es_update_sum_staged
    bool integer_weights = true;          ///< sums must be exact
    std::uint64_t tile_bytes = 0;         ///< of the partial sums of the largest tile, in each slice
    std::uint64_t max_scratch_bytes = 0;  ///< the device's binding limit
    std::uint64_t loop_budget = 0;        ///< what the loops of an invocation may cost in all (plan_checks.hpp)
};

struct Slices {
    std::uint32_t pairs_per_slice = 1;
    std::uint32_t slice_count = 0;
};

/// Error (Unsupported): no slicing keeps sums exact, loops within the device's limit, and the partial sums of one tile
/// within one binding.
[[nodiscard]] Result<Slices> choose_slices(const SliceProblem& problem);

}  // namespace yolk
