// SPDX-License-Identifier: Apache-2.0
// How es_update lays out the parameters in tiles, and cuts the tiles into windows whose partial sums fit the scratch:
// pure functions, so that sizes beyond the memory at hand can be tested.
#pragma once

#include <cstdint>
#include <vector>

#include "yolk/internal/abi/es_update.h"
#include "yolk/internal/primitives/parameters.hpp"

namespace yolk {

/// Of the partial sums of one unit, in each slice.
inline constexpr std::uint64_t kUnitBytes = std::uint64_t{4} * abi::es_update::kTileEdge;

/// The parameters whose noise has one rank; vectors, whose noise has none, are in one of a table's.
struct RankPass {
    std::uint32_t rank = 1;
    std::uint32_t run_rank = 1;  ///< of matrices that say nothing
    bool has_vectors = true;
};

/// By rank, ascending; the first has the vectors. One with the run's rank where no matrix is perturbed.
[[nodiscard]] std::vector<RankPass> rank_passes(const ParameterTable& table, std::uint32_t run_rank);

struct TileLayout {
    std::vector<abi::es_update::ParameterEntry> entries;  ///< of the whole table; those of other passes have no tiles
    std::vector<std::uint32_t> first_strips;  ///< of each entry (yolk/internal/primitives/es_update_strips.hpp)
    std::uint32_t tile_blocks = 1;
    std::uint32_t tile_count = 0;
    std::uint32_t unit_count = 0;
    std::uint32_t group_count = 0;
    std::uint32_t largest_tile = 0;  ///< in units; 0 where all is frozen
    std::uint32_t frozen_count = 0;  ///< elements
    std::uint32_t strip_count = 0;   ///< of the whole table
};

/// Tiles [first, end).
struct TileRange {
    std::uint32_t first = 0;
    std::uint32_t end = 0;
};

/// Of a group, which a workgroup of es_update_sum_staged takes.
inline constexpr std::uint32_t kGroupTiles = abi::es_update::kGroupEdge * abi::es_update::kGroupEdge;

/// Tiles that one pair of dispatches takes.
struct TileWindow {
    std::uint32_t first_tile = 0;
    std::uint32_t tile_count = 0;
    std::uint32_t first_unit = 0;
    std::uint32_t unit_count = 0;
    std::uint32_t first_group = 0;  ///< of groups that have all of the tiles; windows may share some
    std::uint32_t group_count = 0;
};

/// `tile_blocks`: 1 or 2. The table has fewer than 2^30 elements (4 GiB, the largest binding there is), so counts fit.
[[nodiscard]] TileLayout lay_out_tiles(const ParameterTable& table, std::uint32_t tile_blocks,
                                       const RankPass& pass = {});

/// Windows of at most `most_units` units, at least the largest tile; together all tiles, in order.
[[nodiscard]] std::vector<TileWindow> cut_tiles(const TileLayout& layout, std::uint64_t most_units);

/// Strips [first, first + count), of at most layout.strip_count: whole rows of tiles.
[[nodiscard]] TileRange tiles_of_strips(const TileLayout& layout, std::uint32_t first, std::uint32_t count) noexcept;

/// The tiles of a window that are in `tiles`; no tiles where it has none of them.
[[nodiscard]] TileWindow part_of(const TileLayout& layout, const TileWindow& window, const TileRange& tiles) noexcept;

}  // namespace yolk
