// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/grid.hpp"

#include <algorithm>
#include <limits>

namespace yolk {
namespace {

constexpr std::uint64_t ceil_divide(std::uint64_t a, std::uint64_t b) noexcept { return a == 0 ? 0 : (a - 1) / b + 1; }

constexpr std::uint64_t saturating_multiply(std::uint64_t a, std::uint64_t b) noexcept {
    return b != 0 && a > std::numeric_limits<std::uint64_t>::max() / b ? std::numeric_limits<std::uint64_t>::max()
                                                                       : a * b;
}

constexpr std::uint32_t clamp_to_32_bits(std::uint64_t value) noexcept {
    return value > UINT32_MAX ? UINT32_MAX : static_cast<std::uint32_t>(value);
}

}  // namespace

GroupCount fold_groups(std::uint64_t groups) noexcept {
    if (groups <= kMaxGroupsPerDimension) return {static_cast<std::uint32_t>(groups), 1, 1};
    // As few rows as hold them, then as even as can be: at most `y - 1` groups are idle.
    const std::uint64_t y = ceil_divide(groups, kMaxGroupsPerDimension);
    const std::uint64_t x = ceil_divide(groups, y);
    return {static_cast<std::uint32_t>(x), clamp_to_32_bits(y), 1};
}

std::uint64_t GridPieces::cost_of(std::uint32_t rows) const noexcept { return saturating_multiply(cost_per_row, rows); }

GridPieces cut_grid(const LinearGrid& grid, std::uint64_t max_cost) noexcept {
    if (grid.groups == 0) return {};
    if (saturating_multiply(grid.groups, grid.cost_per_group) <= max_cost) {
        const GroupCount whole = fold_groups(grid.groups);
        return {.x = whole.x,
                .y = whole.y,
                .rows_per_piece = whole.y,
                .cost_per_row = saturating_multiply(whole.x, grid.cost_per_group)};
    }
    const std::uint64_t wanted = std::max<std::uint64_t>(max_cost / grid.cost_per_group, 1);
    const std::uint64_t narrowest =
        std::min<std::uint64_t>(ceil_divide(grid.groups, kMaxGroupsPerDimension), kMaxGroupsPerDimension);
    const std::uint64_t widest = std::clamp<std::uint64_t>(wanted, narrowest, kMaxGroupsPerDimension);
    const std::uint64_t y = ceil_divide(grid.groups, widest);
    const std::uint64_t x = ceil_divide(grid.groups, y);
    const std::uint64_t most_rows = std::clamp<std::uint64_t>(wanted / x, 1, y);
    const std::uint64_t pieces = ceil_divide(y, most_rows);
    return {.x = static_cast<std::uint32_t>(x),
            .y = clamp_to_32_bits(y),
            .rows_per_piece = clamp_to_32_bits(ceil_divide(y, pieces)),
            .cost_per_row = saturating_multiply(x, grid.cost_per_group)};
}

}  // namespace yolk
