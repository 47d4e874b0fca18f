// SPDX-License-Identifier: Apache-2.0
#include "es_update_slices.hpp"

#include <algorithm>
#include <bit>

#include "yolk/core/shape.hpp"
#include "yolk/runtime/loop_budget.hpp"

namespace yolk {
namespace {

/// The search among up to 2^24 parameters, as written.
constexpr std::uint64_t kSearch = loop_cost(32);

/// What is left of the budget when `other` is spent.
constexpr std::uint64_t without(std::uint64_t budget, std::uint64_t other) { return budget - std::min(budget, other); }

}  // namespace

Result<Slices> choose_slices(const SliceProblem& problem) {
    // es_update_sum: search, zeroing the sums, and per pair: draw its noise block by block, multiply column by column.
    const std::uint64_t summing =
        without(problem.loop_budget, kSearch + loop_cost(std::uint64_t{16} * problem.tile_blocks));
    const std::uint64_t exact_pairs = kExactProductsPerSlice / std::bit_ceil(problem.rank);
    const std::uint64_t most_pairs = std::min(exact_pairs, iterations_within(summing, 2 * loop_cost(problem.rank)));
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
