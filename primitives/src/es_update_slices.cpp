// SPDX-License-Identifier: Apache-2.0
#include "es_update_slices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "yolk/core/shape.hpp"
#include "yolk/runtime/loop_budget.hpp"

namespace yolk {
namespace {

/// What the loops outside the main one cost: the search among up to 2^24 parameters, and zeroing 16 sums.
constexpr std::uint64_t kOtherLoops = loop_cost(32) + loop_cost(16);
/// Invocations of a dispatch, so that 32-bit indices do not overflow in the last, partly idle row of workgroups.
constexpr std::uint64_t kMaxInvocations = std::uint64_t{1} << 31U;

}  // namespace

Result<Slices> choose_slices(const SliceProblem& problem) {
    const std::uint64_t budget = problem.loop_budget - std::min(problem.loop_budget, kOtherLoops);
    const std::uint64_t exact_pairs = kExactProductsPerSlice / std::bit_ceil(problem.rank);
    // A pair draws its noise block by block, then multiplies it column by column.
    const std::uint64_t most_pairs = std::min(exact_pairs, iterations_within(budget, 2 * loop_cost(problem.rank)));
    const std::uint64_t tiles = std::max<std::uint64_t>(problem.tile_count, 1);
    const std::uint64_t slice_bytes = 4 * std::max<std::uint64_t>(problem.partial_count, 1);
    const std::uint64_t most_slices =
        std::min({iterations_within(budget), problem.max_scratch_bytes / slice_bytes, kMaxInvocations / tiles});
    const std::uint64_t fewest_slices =
        most_pairs == 0 ? UINT64_MAX : ceil_div<std::uint64_t>(problem.pair_count, most_pairs);
    if (fewest_slices > most_slices) {
        return unsupported(
            fmt::format("[es_update] cannot sum {} pairs of rank {} over {} elements on this device: a slice may have "
                        "{} pairs, and {} "
                        "slices of partial sums fit into one binding of {} bytes. Use a smaller population or rank, or "
                        "fewer parameters.",
                        problem.pair_count, problem.rank, problem.partial_count, most_pairs, most_slices,
                        problem.max_scratch_bytes));
    }
    const auto fewest_pairs = ceil_div<std::uint64_t>(problem.pair_count, most_slices);
    const auto pairs = std::clamp<std::uint64_t>(problem.wanted_pairs_per_slice, fewest_pairs, most_pairs);
    return Slices{.pairs_per_slice = static_cast<std::uint32_t>(pairs),
                  .slice_count = static_cast<std::uint32_t>(ceil_div<std::uint64_t>(problem.pair_count, pairs)),
                  .fewest_slices = static_cast<std::uint32_t>(fewest_slices)};
}

}  // namespace yolk
