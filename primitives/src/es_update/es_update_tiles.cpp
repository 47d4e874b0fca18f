// SPDX-License-Identifier: Apache-2.0
#include "es_update_tiles.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "yolk/internal/core/shape.hpp"

namespace yolk {
namespace {

using abi::es_update::kTileEdge;
using abi::es_update::ParameterEntry;

std::uint32_t kind_of(Perturbation perturbation) {
    if (perturbation == Perturbation::Frozen) return abi::es_update::kKindFrozen;
    return perturbation == Perturbation::Vector ? abi::es_update::kKindVector : abi::es_update::kKindMatrix;
}

bool is_of(const RankPass& pass, const ParameterDesc& parameter) {
    if (parameter.perturbation == Perturbation::Vector) return pass.has_vectors;
    return rank_of(parameter, pass.run_rank) == pass.rank;
}

std::uint32_t tiles_of(const ParameterEntry& entry, std::uint32_t tile_blocks) {
    if (entry.kind == abi::es_update::kKindFrozen) return 0;
    const std::uint32_t down = ceil_div(entry.rows, kTileEdge);
    return entry.kind == abi::es_update::kKindVector ? down : down * ceil_div(entry.columns, kTileEdge * tile_blocks);
}

std::uint32_t tiles_across(const ParameterEntry& entry, std::uint32_t tile_blocks) {
    return entry.kind == abi::es_update::kKindVector ? 1 : ceil_div(entry.columns, kTileEdge * tile_blocks);
}

/// Groups side by side in a row of groups.
std::uint32_t groups_across(const ParameterEntry& entry, std::uint32_t tile_blocks) {
    return ceil_div(tiles_across(entry, tile_blocks), abi::es_update::kGroupEdge);
}

/// Tiles in a row of groups: what a row of them is cut from.
std::uint32_t tiles_of_group_row(const ParameterEntry& entry, std::uint32_t tile_blocks) {
    return entry.kind == abi::es_update::kKindVector ? kGroupTiles
                                                     : abi::es_update::kGroupEdge * tiles_across(entry, tile_blocks);
}

const ParameterEntry& entry_of(const TileLayout& layout, std::uint32_t tile) {
    return *std::prev(std::ranges::upper_bound(layout.entries, tile, {}, &ParameterEntry::first_tile));
}

/// Rows of groups, but of one row of tiles only the groups that have some of them.
void find_groups(const TileLayout& layout, TileWindow& window) {
    const std::uint32_t last_tile = window.first_tile + window.tile_count - 1;
    const ParameterEntry& first = entry_of(layout, window.first_tile);
    const ParameterEntry& last = entry_of(layout, last_tile);
    const auto group_row = [&](const ParameterEntry& entry, std::uint32_t tile) {
        const std::uint32_t row = (tile - entry.first_tile) / tiles_of_group_row(entry, layout.tile_blocks);
        return entry.first_group + row * groups_across(entry, layout.tile_blocks);
    };
    const std::uint32_t across = tiles_across(first, layout.tile_blocks);
    const std::uint32_t column = (window.first_tile - first.first_tile) % across;
    window.first_group = group_row(first, window.first_tile);
    if (window.tile_count <= across - column && first.kind == abi::es_update::kKindMatrix) {
        window.first_group += column / abi::es_update::kGroupEdge;
        const std::uint32_t end = ceil_div(column + window.tile_count, abi::es_update::kGroupEdge);
        window.group_count = end - column / abi::es_update::kGroupEdge;
        return;
    }
    window.group_count = group_row(last, last_tile) + groups_across(last, layout.tile_blocks) - window.first_group;
}

std::uint32_t units_of_tile(const ParameterEntry& entry, std::uint32_t tile_blocks) {
    return entry.kind == abi::es_update::kKindMatrix ? kTileEdge * tile_blocks : 1;
}

/// Of a strip, or of the end of them.
std::uint32_t first_tile_of(const TileLayout& layout, std::uint32_t strip) noexcept {
    const auto after = std::ranges::upper_bound(layout.first_strips, strip);
    const auto at = static_cast<std::size_t>(after - layout.first_strips.begin()) - 1;
    const ParameterEntry& entry = layout.entries[at];
    if (entry.kind == abi::es_update::kKindFrozen) return entry.first_tile;  // of another pass
    return entry.first_tile + (strip - layout.first_strips[at]) * tiles_across(entry, layout.tile_blocks);
}

std::uint32_t first_unit_of(const TileLayout& layout, std::uint32_t tile) noexcept {
    const ParameterEntry& entry = entry_of(layout, tile);
    return entry.first_unit + (tile - entry.first_tile) * units_of_tile(entry, layout.tile_blocks);
}

}  // namespace

std::vector<RankPass> rank_passes(const ParameterTable& table, std::uint32_t run_rank) {
    std::set<std::uint32_t> ranks;
    for (const ParameterDesc& parameter : table.parameters())
        if (parameter.perturbation == Perturbation::LowRank) ranks.insert(rank_of(parameter, run_rank));
    if (ranks.empty()) ranks.insert(run_rank);
    std::vector<RankPass> passes;
    for (const std::uint32_t rank : ranks)
        passes.push_back({.rank = rank, .run_rank = run_rank, .has_vectors = passes.empty()});
    return passes;
}

TileLayout lay_out_tiles(const ParameterTable& table, std::uint32_t tile_blocks, const RankPass& pass) {
    TileLayout layout{.entries = {}, .first_strips = {}, .tile_blocks = tile_blocks};
    for (std::uint32_t id = 0; id < table.parameters().size(); ++id) {
        const ParameterDesc& parameter = table.parameters()[id];
        const std::uint32_t elements = parameter.rows * parameter.columns;
        const bool is_vector = parameter.perturbation == Perturbation::Vector;
        const bool is_here = is_of(pass, parameter);
        // What other passes sum is as frozen here, but no element of it is zeroed.
        const std::uint32_t kind = is_here ? kind_of(parameter.perturbation) : abi::es_update::kKindFrozen;
        const ParameterEntry& entry =
            layout.entries.emplace_back(ParameterEntry{.kind = kind,
                                                       .rows = is_vector ? elements : parameter.rows,
                                                       .columns = is_vector ? 1 : parameter.columns,
                                                       .offset = table.offset(ParameterId{id}),
                                                       .first_tile = layout.tile_count,
                                                       .first_group = layout.group_count,
                                                       .first_unit = layout.unit_count,
                                                       .first_frozen = layout.frozen_count});
        layout.first_strips.push_back(layout.strip_count);
        if (parameter.perturbation == Perturbation::Frozen) {
            layout.frozen_count += elements;
            continue;
        }
        layout.strip_count += ceil_div(entry.rows, kTileEdge);
        if (!is_here) continue;
        const std::uint32_t tiles = tiles_of(entry, tile_blocks);
        const std::uint32_t units = units_of_tile(entry, tile_blocks);
        layout.tile_count += tiles;
        layout.unit_count += tiles * units;
        layout.group_count +=
            ceil_div(tiles, tiles_of_group_row(entry, tile_blocks)) * groups_across(entry, tile_blocks);
        layout.largest_tile = std::max(layout.largest_tile, units);
    }
    return layout;
}

std::vector<TileWindow> cut_tiles(const TileLayout& layout, std::uint64_t most_units) {
    std::vector<TileWindow> windows;
    TileWindow window;
    const auto close = [&] {
        if (window.tile_count == 0) return;
        find_groups(layout, window);
        windows.push_back(window);
        window = {.first_tile = window.first_tile + window.tile_count,
                  .first_unit = window.first_unit + window.unit_count};
    };
    for (const ParameterEntry& entry : layout.entries) {
        const std::uint32_t units = units_of_tile(entry, layout.tile_blocks);
        std::uint32_t tiles = tiles_of(entry, layout.tile_blocks);
        while (tiles > 0) {
            const std::uint64_t room = (most_units - window.unit_count) / units;
            const auto taken = static_cast<std::uint32_t>(std::min<std::uint64_t>(tiles, room));
            window.tile_count += taken;
            window.unit_count += taken * units;
            tiles -= taken;
            if (tiles > 0) close();
        }
    }
    close();
    return windows;
}

TileRange tiles_of_strips(const TileLayout& layout, std::uint32_t first, std::uint32_t count) noexcept {
    return {.first = first_tile_of(layout, first), .end = first_tile_of(layout, first + count)};
}

TileWindow part_of(const TileLayout& layout, const TileWindow& window, const TileRange& tiles) noexcept {
    const std::uint32_t first = std::max(window.first_tile, tiles.first);
    const std::uint32_t end = std::min(window.first_tile + window.tile_count, tiles.end);
    if (first >= end) return {};
    if (first == window.first_tile && end == first + window.tile_count) return window;
    TileWindow part{.first_tile = first, .tile_count = end - first, .first_unit = first_unit_of(layout, first)};
    part.unit_count = first_unit_of(layout, end) - part.first_unit;
    find_groups(layout, part);
    return part;
}

}  // namespace yolk
