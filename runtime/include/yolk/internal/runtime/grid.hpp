// SPDX-License-Identifier: Apache-2.0
// Grids of workgroups: folding a long one within the devices' limits, and cutting an expensive one into pieces.
#pragma once

#include <cstdint>

namespace yolk {

struct GroupCount {
    std::uint32_t x = 1, y = 1, z = 1;
};

/// Workgroups along a dimension that every device takes. Larger grids are folded into y (fold_groups, LinearGrid).
inline constexpr std::uint32_t kMaxGroupsPerDimension = 65535;

/// Spreads `groups` workgroups over x and y so that neither passes kMaxGroupsPerDimension; the kernel recovers the
/// linear index as x + y * gl_NumWorkGroups.x and ignores indices past the end.
[[nodiscard]] GroupCount fold_groups(std::uint64_t groups) noexcept;

/// A line of workgroups that a recorder folds, and cuts over several submissions where it is long work. The kernel
/// takes its linear index as fold_groups says.
struct LinearGrid {
    std::uint64_t groups = 0;
    /// About what one workgroup computes: multiply-adds of all its invocations, loops included. 0: too little to count.
    std::uint64_t cost_per_group = 0;
};

/// How a LinearGrid is dispatched: rows of `x` workgroups, `rows_per_piece` of them at a time, `y` in all.
struct GridPieces {
    std::uint32_t x = 0, y = 0;
    std::uint32_t rows_per_piece = 0;
    std::uint64_t cost_per_row = 0;

    [[nodiscard]] std::uint64_t cost_of(std::uint32_t rows) const noexcept;  ///< saturates
};

/// Pieces that cost at most `max_cost` each where the grid can be cut so far: never below one workgroup, nor above
/// kMaxGroupsPerDimension rows. Evened out, so that the last piece is about as large as the others. `y` passes
/// kMaxGroupsPerDimension only where no folding helps.
[[nodiscard]] GridPieces cut_grid(const LinearGrid& grid, std::uint64_t max_cost) noexcept;

}  // namespace yolk
