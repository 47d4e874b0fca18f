// SPDX-License-Identifier: Apache-2.0
// How es_update lays out the parameters in tiles, and cuts the tiles into windows whose partial sums fit the scratch:
// pure functions, so that sizes beyond the memory at hand can be tested.
#pragma once

#include <cstdint>
#include <vector>

#include "yolk/abi/es_update.h"
#include "yolk/primitives/parameters.hpp"

namespace yolk {

/// Of the partial sums of one unit, in each slice.
inline constexpr std::uint64_t kUnitBytes = std::uint64_t{4} * abi::es_update::kTileEdge;

struct TileLayout {
    std::vector<abi::es_update::ParameterEntry> entries;
    std::vector<std::uint32_t> first_strips;  ///< of each entry (yolk/primitives/es_update_strips.hpp)
    std::uint32_t tile_blocks = 1;
    std::uint32_t tile_count = 0;
    std::uint32_t unit_count = 0;
    std::uint32_t group_count = 0;
    std::uint32_t largest_tile = 0;  ///< in units; 0 where all is frozen
    std::uint32_t frozen_count = 0;  ///< elements
    std::uint32_t strip_count = 0;
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
[[nodiscard]] TileLayout lay_out_tiles(const ParameterTable& table, std::uint32_t tile_blocks);

/// Windows of at most `most_units` units, at least the largest tile; together all tiles, in order.
[[nodiscard]] std::vector<TileWindow> cut_tiles(const TileLayout& layout, std::uint64_t most_units);

/// Strips [first, first + count), of at most layout.strip_count: whole rows of tiles.
[[nodiscard]] TileRange tiles_of_strips(const TileLayout& layout, std::uint32_t first, std::uint32_t count) noexcept;

/// The tiles of a window that are in `tiles`; no tiles where it has none of them.
[[nodiscard]] TileWindow part_of(const TileLayout& layout, const TileWindow& window, const TileRange& tiles) noexcept;

}  // namespace yolk
