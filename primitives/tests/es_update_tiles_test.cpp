// SPDX-License-Identifier: Apache-2.0
#include "es_update_tiles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

ParameterTable tall_table() {
    auto table =
        ParameterTable::create({{.name = "w", .rows = 9, .columns = 17},
                                {.name = "frozen", .rows = 5, .columns = 3, .perturbation = Perturbation::Frozen},
                                {.name = "v", .rows = 17, .perturbation = Perturbation::Vector},
                                {.name = "embedding", .rows = 100, .columns = 3},
                                {.name = "last", .rows = 2, .perturbation = Perturbation::Frozen}});
    EXPECT_OK(table);
    return *std::move(table);
}

TEST(es_update_tiles, lays_out_all_kinds) {
    const TileLayout narrow = lay_out_tiles(tall_table(), 1);
    EXPECT_EQ(narrow.tile_count, 6U + 3 + 13);
    EXPECT_EQ(narrow.unit_count, 6U * 8 + 3 + 13 * 8);
    EXPECT_EQ(narrow.largest_tile, 8U);
    EXPECT_EQ(narrow.frozen_count, 17U);
    const TileLayout wide = lay_out_tiles(tall_table(), 2);
    EXPECT_EQ(wide.tile_count, 4U + 3 + 13);
    EXPECT_EQ(wide.unit_count, 4U * 16 + 3 + 13 * 16);
    EXPECT_EQ(wide.largest_tile, 16U);
    EXPECT_EQ(wide.entries[3].first_tile, 7U);
    EXPECT_EQ(wide.entries[3].first_unit, 67U);
    EXPECT_EQ(wide.entries[4].first_frozen, 15U);
}

TEST(es_update_tiles, cuts_all_tiles_in_order_into_windows_that_fit) {
    for (const std::uint32_t blocks : {1U, 2U}) {
        const TileLayout layout = lay_out_tiles(tall_table(), blocks);
        for (std::uint64_t most = layout.largest_tile; most <= layout.unit_count + 8; ++most) {
            std::uint32_t tiles = 0;
            std::uint32_t units = 0;
            for (const TileWindow& window : cut_tiles(layout, most)) {
                EXPECT_EQ(window.first_tile, tiles);
                EXPECT_EQ(window.first_unit, units);
                EXPECT_GT(window.tile_count, 0U);
                EXPECT_LE(window.unit_count, most);
                tiles += window.tile_count;
                units += window.unit_count;
            }
            EXPECT_EQ(tiles, layout.tile_count);
            EXPECT_EQ(units, layout.unit_count);
        }
        EXPECT_EQ(cut_tiles(layout, layout.unit_count).size(), 1U);
    }
}

/// The group of each tile, in the order of tiles.
std::vector<std::uint32_t> groups_of_tiles(const TileLayout& layout) {
    constexpr std::uint32_t kEdge = abi::es_update::kGroupEdge;
    std::vector<std::uint32_t> groups;
    for (const abi::es_update::ParameterEntry& entry : layout.entries) {
        if (entry.kind == abi::es_update::kKindFrozen) continue;
        const bool is_vector = entry.kind == abi::es_update::kKindVector;
        const std::uint32_t across = is_vector ? 1 : (entry.columns + 7) / 8;
        for (std::uint32_t tile = 0; tile < (entry.rows + 7) / 8 * across; ++tile) {
            const std::uint32_t row = tile / across / (is_vector ? kEdge * kEdge : kEdge);
            groups.push_back(entry.first_group + row * ((across + kEdge - 1) / kEdge) + tile % across / kEdge);
        }
    }
    return groups;
}

TEST(es_update_tiles, windows_have_the_groups_of_their_tiles) {
    ASSERT_OK_AND_ASSIGN(
        const ParameterTable table,
        ParameterTable::create({{.name = "first", .rows = 2, .perturbation = Perturbation::Frozen},
                                {.name = "w", .rows = 133, .columns = 135},
                                {.name = "v", .rows = 1100, .perturbation = Perturbation::Vector},
                                {.name = "frozen", .rows = 5, .columns = 3, .perturbation = Perturbation::Frozen},
                                {.name = "flat", .rows = 7, .columns = 600},
                                {.name = "tall", .rows = 600, .columns = 1}}));
    const TileLayout layout = lay_out_tiles(table, 1);
    const std::vector<std::uint32_t> groups = groups_of_tiles(layout);
    ASSERT_EQ(groups.size(), layout.tile_count);
    EXPECT_EQ(layout.group_count, 9U + 3 + 10 + 10);
    EXPECT_EQ(groups.back() + 1, layout.group_count);
    for (const std::uint64_t most : {8U, 16U, 40U, 136U, 700U, 1000U, 10000U}) {
        for (const TileWindow& window : cut_tiles(layout, most)) {
            const auto first = groups.begin() + window.first_tile;
            const auto [least, greatest] = std::minmax_element(first, first + window.tile_count);
            EXPECT_LE(window.first_group, *least) << most;
            EXPECT_GT(window.first_group + window.group_count, *greatest) << most;
            // Others only in the rows of groups, of 10 at most, where it begins and ends.
            EXPECT_LE(window.group_count, *greatest - *least + 1 + 2 * 9) << most;
        }
    }
    EXPECT_EQ(cut_tiles(layout, layout.unit_count)[0].group_count, layout.group_count);
}

// The largest gradient of a binding of 4 GiB, one column wide, which has the most units for its elements.
TEST(es_update_tiles, counts_fit_the_largest_tables) {
    ASSERT_OK_AND_ASSIGN(const ParameterTable table,
                         ParameterTable::create({{.name = "tall", .rows = (1U << 30U) - 1, .columns = 1}}));
    const TileLayout layout = lay_out_tiles(table, 2);
    EXPECT_EQ(layout.tile_count, 1U << 27U);
    EXPECT_EQ(layout.unit_count, 1U << 31U);
    const auto windows = cut_tiles(layout, 1U << 22U);
    EXPECT_EQ(windows.size(), 1U << 9U);
    EXPECT_EQ(windows.back().first_unit, (1U << 31U) - (1U << 22U));
}

}  // namespace
}  // namespace yolk
