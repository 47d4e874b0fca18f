// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/primitives/es_update_strips.hpp"

#include <gtest/gtest.h>

#include "es_update_tiles.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

/// Strips: 3 of w, 2 of v, none of what is frozen, 2 of flat; work 3 * 8 * 2, 2, 2 * 8 * 5.
ParameterTable table_of_strips() {
    auto table = ParameterTable::create({{.name = "first", .rows = 2, .perturbation = Perturbation::Frozen},
                                         {.name = "w", .rows = 17, .columns = 9},
                                         {.name = "v", .rows = 11, .perturbation = Perturbation::Vector},
                                         {.name = "f", .rows = 3, .columns = 5, .perturbation = Perturbation::Frozen},
                                         {.name = "flat", .rows = 9, .columns = 35},
                                         {.name = "last", .rows = 4, .perturbation = Perturbation::Frozen}});
    EXPECT_OK(table);
    return *std::move(table);
}

TEST(es_update_strips, are_eight_rows_or_eight_elements) {
    const UpdateStrips strips(table_of_strips());
    ASSERT_EQ(strips.count(), 7U);
    const auto expect = [&](std::uint32_t first, std::uint32_t count, std::uint32_t element, std::uint32_t elements) {
        const ElementSpan span = strips.elements(first, count);
        EXPECT_EQ(span.first, element) << first << ", " << count;
        EXPECT_EQ(span.count, elements) << first << ", " << count;
    };
    expect(0, 1, 2, 72);
    expect(2, 1, 2 + 144, 9);
    expect(1, 2, 2 + 72, 81);
    expect(3, 1, 155, 8);
    expect(4, 1, 163, 3);
    expect(4, 2, 163, 3 + 15 + 8 * 35);  // over a frozen one
    expect(6, 1, 181 + 280, 35);
    expect(0, 7, 2, 153 + 11 + 15 + 315);
    expect(3, 0, 0, 0);
    for (const auto& [strip, work] : std::initializer_list<std::pair<std::uint32_t, std::uint64_t>>{
             {0, 0}, {1, 16}, {3, 48}, {4, 49}, {5, 50}, {6, 90}, {7, 130}})
        EXPECT_EQ(strips.work_before(strip), work) << strip;
}

// From 2^29 columns on eight rows have more elements than 32 bits count, and from 2^31 / 8 on than a table may have.
TEST(es_update_strips, may_be_longer_than_any_table) {
    constexpr std::uint32_t kColumns = 1U << 29U;
    ASSERT_OK_AND_ASSIGN(const ParameterTable table,
                         ParameterTable::create({{.name = "wide", .rows = 3, .columns = kColumns},
                                                 {.name = "v", .rows = 11, .perturbation = Perturbation::Vector}}));
    const UpdateStrips strips(table);
    ASSERT_EQ(strips.count(), 3U);
    EXPECT_EQ(strips.elements(0, 1).first, 0U);
    EXPECT_EQ(strips.elements(0, 1).count, 3 * kColumns);
    EXPECT_EQ(strips.elements(1, 1).first, 3 * kColumns);
    EXPECT_EQ(strips.elements(1, 1).count, 8U);
    EXPECT_EQ(strips.elements(0, 3).count, 3 * kColumns + 11);
    EXPECT_EQ(strips.work_before(1), kColumns);
}

TEST(es_update_strips, of_frozen_parameters_are_none) {
    ASSERT_OK_AND_ASSIGN(const ParameterTable table,
                         ParameterTable::create({{.name = "f", .rows = 9, .perturbation = Perturbation::Frozen}}));
    const UpdateStrips strips(table);
    EXPECT_EQ(strips.count(), 0U);
    EXPECT_EQ(strips.elements(0, 0).count, 0U);
    EXPECT_EQ(strips.work_before(0), 0U);
}

// Any windows, cut at any two strips, have all tiles once, with the units and the groups of these tiles.
TEST(es_update_strips, cut_windows_into_their_tiles) {
    for (const std::uint32_t blocks : {1U, 2U}) {
        const TileLayout layout = lay_out_tiles(table_of_strips(), blocks);
        ASSERT_EQ(layout.strip_count, 7U);
        for (const std::uint64_t most : {std::uint64_t{16}, std::uint64_t{40}, std::uint64_t{layout.unit_count}}) {
            const std::vector<TileWindow> windows = cut_tiles(layout, most);
            for (std::uint32_t cut = 0; cut <= 7; ++cut) {
                std::uint32_t tiles = 0;
                std::uint32_t units = 0;
                for (const auto& [first, count] : {std::pair(0U, cut), std::pair(cut, 7 - cut)}) {
                    for (const TileWindow& window : windows) {
                        const TileWindow part = part_of(layout, window, tiles_of_strips(layout, first, count));
                        if (part.tile_count == 0) continue;
                        EXPECT_EQ(part.first_tile, tiles);
                        EXPECT_EQ(part.first_unit, units);
                        EXPECT_LE(part.unit_count, window.unit_count);
                        EXPECT_GE(part.first_group, window.first_group);
                        EXPECT_GT(part.group_count, 0U);
                        EXPECT_LE(part.first_group + part.group_count, window.first_group + window.group_count);
                        tiles += part.tile_count;
                        units += part.unit_count;
                    }
                }
                EXPECT_EQ(tiles, layout.tile_count) << cut;
                EXPECT_EQ(units, layout.unit_count) << cut;
            }
        }
    }
}

TEST(es_update_strips, of_larger_ranks_have_more_work) {
    ASSERT_OK_AND_ASSIGN(const ParameterTable table,
                         ParameterTable::create({{.name = "a", .rows = 9, .columns = 9, .rank = 4},
                                                 {.name = "v", .rows = 9, .perturbation = Perturbation::Vector},
                                                 {.name = "b", .rows = 8, .columns = 8}}));
    const UpdateStrips strips(table, 2);
    EXPECT_EQ(strips.count(), 5U);
    EXPECT_EQ(strips.work_before(1), 16U * 4);
    EXPECT_EQ(strips.work_before(2), 2 * 16U * 4);
    EXPECT_EQ(strips.work_before(4), 2 * 16U * 4 + 2);
    EXPECT_EQ(strips.work_before(5), 2 * 16U * 4 + 2 + 8 * 2);
}

}  // namespace
}  // namespace yolk
