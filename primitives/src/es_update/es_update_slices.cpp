// SPDX-License-Identifier: Apache-2.0
#include "es_update_slices.hpp"

#include <algorithm>
#include <bit>

#include "yolk/internal/abi/es_update.h"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/runtime/loop_budget.hpp"

namespace yolk {
namespace {

/// The search among up to 2^24 parameters, as written.
constexpr std::uint64_t kSearch = loop_cost(32);

/// What is left of the budget when `other` is spent.
constexpr std::uint64_t without(std::uint64_t budget, std::uint64_t other) { return budget - std::min(budget, other); }

/// Pairs whose noise es_update_sum_staged draws at a time, and what their loops cost, as written.
struct Stage {
    std::uint64_t pairs = 1, loops = 0;
};
constexpr Stage stage_of(std::uint64_t rank) {
    constexpr std::uint64_t kSteps = 8;  // the kernel's kMostSteps
    const std::uint64_t pairs = std::max<std::uint64_t>(kSteps / rank, 1);
    const std::uint64_t draws = ceil_div<std::uint64_t>(2 * abi::es_update::kGroupEdge * rank * pairs, kGroupTiles);
    return {.pairs = pairs, .loops = loop_cost(draws, loop_cost(kSteps)) + loop_cost(rank * pairs)};
}

/// Pairs of a slice for which the loops of the first kernel stay within the budget.
std::uint64_t pairs_within_loops(const SliceProblem& problem) {
    // Search, zeroing the sums, and per pair: draw its noise block by block, multiply column by column.
    const std::uint64_t summing =
        without(problem.loop_budget, kSearch + loop_cost(std::uint64_t{16} * problem.tile_blocks));
    if (!problem.staged) return iterations_within(summing, 2 * loop_cost(problem.rank));
    const Stage stage = stage_of(problem.rank);
    return stage.pairs * iterations_within(summing, stage.loops);
}

/// Pairs of a slice whose sums are exact; those of float weights need not be.
std::uint64_t exact_pairs(const SliceProblem& problem) {
    const bool floats = problem.staged && problem.integer_weights;
    return (floats ? kExactProductsPerStagedSlice : kExactProductsPerSlice) / std::bit_ceil(problem.rank);
}

}  // namespace

Result<Slices> choose_slices(const SliceProblem& problem) {
    const std::uint64_t most_pairs = std::min(exact_pairs(problem), pairs_within_loops(problem));
    // es_update_combine: one search or the other, and the slices.
    const std::uint64_t combining = without(problem.loop_budget, 2 * kSearch);
    const std::uint64_t tile_bytes = std::max<std::uint64_t>(problem.tile_bytes, 1);
    const std::uint64_t most_slices = std::min(iterations_within(combining), problem.max_scratch_bytes / tile_bytes);
    const std::uint64_t fewest_slices =
        most_pairs == 0 ? UINT64_MAX : ceil_div<std::uint64_t>(problem.pair_count, most_pairs);
    if (fewest_slices > most_slices) {
        return unsupported(
            "[es_update] cannot sum {} pairs of rank {} on this device: a slice may have {} pairs, and {} slices of "
            "one tile fit into a binding of {} bytes and a loop. Use a smaller population or rank.",
            problem.pair_count, problem.rank, most_pairs, most_slices, problem.max_scratch_bytes);
    }
    const std::uint64_t slices = std::min(most_slices, std::max<std::uint64_t>(fewest_slices, kEnoughSlices));
    const auto fewest_pairs = ceil_div<std::uint64_t>(problem.pair_count, slices);
    const auto pairs = std::clamp<std::uint64_t>(problem.wanted_pairs_per_slice, fewest_pairs, most_pairs);
    return Slices{.pairs_per_slice = static_cast<std::uint32_t>(pairs),
                  .slice_count = static_cast<std::uint32_t>(ceil_div<std::uint64_t>(problem.pair_count, pairs))};
}

}  // namespace yolk
