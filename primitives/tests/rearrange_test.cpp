// SPDX-License-Identifier: Apache-2.0
#include "yolk/rearrange.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "row_device.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/twin.hpp"

namespace yolk {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

using WordList = std::vector<std::uint32_t>;

class rearrange : public testing::DeviceTest {
   protected:
    Result<WordList> run(const RearrangeDesc& desc, const WordList& source) {
        std::size_t count = desc.members;
        for (const RearrangeDimension& dimension : desc.dimensions) count *= dimension.extent;
        const RowBuffers buffers{device(), dispatcher()};
        YOLK_TRY(const auto in, buffers.filled(source, "rearrange.source"));
        YOLK_TRY(const auto out, buffers.empty(sizeof(std::uint32_t) * count, "rearrange.out"));
        YOLK_TRY(const RearrangePlan plan, plan_rearrange(device(), desc));
        YOLK_TRY(const BoundRearrange bound, plan.bind({.source = in.view(), .out = out.view()}));
        YOLK_TRY_VOID(buffers.run(bound));
        return out.download<std::uint32_t>();
    }
};
YOLK_FOR_EACH_DEVICE(rearrange);

/// 0, 1, 2, ...
WordList count_up(std::size_t count) {
    WordList words(count);
    std::iota(words.begin(), words.end(), 0U);
    return words;
}

TEST_P(rearrange, results_by_hand) {
    std::vector<RearrangeDimension> dimensions = row_major_dimensions({2, 3});
    const RearrangeDesc copy{.dimensions = dimensions, .source_elements = 6};
    EXPECT_THAT(*run(copy, count_up(6)), ElementsAre(0, 1, 2, 3, 4, 5));

    RearrangeDesc changed = copy;
    std::swap(changed.dimensions[0], changed.dimensions[1]);
    EXPECT_THAT(*run(changed, count_up(6)), ElementsAre(0, 3, 1, 4, 2, 5));

    changed = copy;
    changed.dimensions[1].start = 2, changed.dimensions[1].step = -2, changed.dimensions[1].extent = 2;
    EXPECT_THAT(*run(changed, count_up(6)), ElementsAre(2, 0, 5, 3));

    changed = copy;
    changed.dimensions[0].start = -1, changed.dimensions[0].extent = 4, changed.fill = 1.0F;
    constexpr std::uint32_t kOne = 0x3F800000U;
    EXPECT_THAT(*run(changed, count_up(6)), ElementsAre(kOne, kOne, kOne, 0, 1, 2, 3, 4, 5, kOne, kOne, kOne));

    changed = {.dimensions = row_major_dimensions({3, 1}), .source_elements = 3};
    changed.dimensions[1].extent = 2, changed.dimensions[1].step = 0;
    EXPECT_THAT(*run(changed, count_up(3)), ElementsAre(0, 0, 1, 1, 2, 2));
}

/// Any order of dimensions, each of a source extent that it takes whole, by steps, in reverse, repeats, or pads.
RearrangeDesc drawn_description(std::mt19937& engine) {
    const auto below = [&](std::uint32_t count) { return static_cast<std::uint32_t>(engine() % count); };
    std::vector<std::uint32_t> extents(1 + below(5));
    for (std::uint32_t& extent : extents) extent = below(4) == 0 ? 4 : 1 + below(6);
    RearrangeDesc desc{.members = 1 + below(3), .dimensions = row_major_dimensions(extents), .source_elements = 1};
    for (const std::uint32_t extent : extents) desc.source_elements *= extent;
    desc.shared_source = below(2) == 0;
    desc.fill = 2.5F;
    for (RearrangeDimension& dimension : desc.dimensions) {
        const auto size = static_cast<std::int32_t>(dimension.source_extent);
        switch (below(7)) {
            case 0: dimension.extent = 1 + below(5), dimension.step = 0; break;
            case 1: dimension.start = size - 1, dimension.step = -1; break;
            case 2: dimension.start = -4, dimension.extent += 8; break;
            case 3: dimension.start = -1, dimension.extent += 3, dimension.step = 2; break;
            case 4: dimension.start = size / 2, dimension.extent = static_cast<std::uint32_t>(size - size / 2); break;
            default: break;
        }
    }
    if (below(2) == 0) std::ranges::shuffle(desc.dimensions, engine);
    return desc;
}

const RearrangeConfig kAcross{.workgroup_size = 16, .tile_rows = 8, .tile_columns = 16};
const RearrangeConfig kStaged{.tile_rows = 16, .tile_columns = 8, .staged = 1, .padding = 1};

// However dimensions merge, and in each way of loading.
TEST_P(rearrange, whatever_is_drawn_matches_the_twin) {
    std::mt19937 engine(20);
    int tiled = 0;
    for (int i = 0; i < 60; ++i) {
        RearrangeDesc desc = drawn_description(engine);
        const WordList source = count_up(std::size_t{desc.shared_source ? 1 : desc.members} * desc.source_elements);
        for (const RearrangeConfig& config :
             {RearrangeConfig{}, RearrangeConfig{.elements_per_load = 4}, kAcross, kStaged}) {
            desc.config = config;
            if (!space_of(device().info(), desc).check(config)) continue;
            tiled += config.tile_rows != 0 ? 1 : 0;
            ASSERT_OK_AND_ASSIGN(const WordList got, run(desc, source));
            ASSERT_EQ(got, reference::twin_result<std::uint32_t>(desc, {source}))
                << operation_of<RearrangeDesc>().fields.text(desc);
        }
    }
    EXPECT_GT(tiled, 0);
}

/// [members, rows, columns] to [members, columns, rows].
RearrangeDesc transposed(std::uint32_t members, std::uint32_t rows, std::uint32_t columns) {
    RearrangeDesc desc{
        .members = members, .dimensions = row_major_dimensions({rows, columns}), .source_elements = rows * columns};
    std::ranges::reverse(desc.dimensions);
    return desc;
}

// Vectors, around each side of the tiles (8, 16, 32, 64), primes.
TEST_P(rearrange, transposed_matrices_match_oracle_and_twin) {
    oracle::Problems problems;
    for (const auto& [members, rows, columns] : std::vector<std::array<std::uint32_t, 3>>{{1, 1, 1},
                                                                                          {2, 1, 67},
                                                                                          {2, 67, 1},
                                                                                          {3, 7, 9},
                                                                                          {2, 8, 8},
                                                                                          {1, 9, 7},
                                                                                          {1, 15, 17},
                                                                                          {2, 16, 16},
                                                                                          {1, 31, 33},
                                                                                          {1, 32, 32},
                                                                                          {1, 63, 65},
                                                                                          {1, 64, 64},
                                                                                          {2, 65, 63},
                                                                                          {5, 13, 29},
                                                                                          {1, 3, 131}}) {
        const std::string text = operation_of<RearrangeDesc>().fields.text(transposed(members, rows, columns));
        ASSERT_OK_AND_ASSIGN(auto problem, oracle::rearrange_family().operation->parse(text));
        problems.push_back(std::move(problem));
    }
    const oracle::CheckContext context{.device = device(), .dispatcher = dispatcher(), .configurations = 64};
    ASSERT_OK_AND_ASSIGN(const oracle::CheckReport report,
                         oracle::check_problems(context, oracle::rearrange_family(), problems));
    EXPECT_TRUE(report.passed());
    EXPECT_THAT(report.failures, ::testing::IsEmpty());
    EXPECT_EQ(report.worst_error, 0.0) << report.worst_case;
    EXPECT_GT(report.configurations, 32U);
}

// Parts of wider matrices, one source for all members, rows from the last to the first.
TEST_P(rearrange, tiles_follow_the_strides_of_the_source) {
    std::mt19937 engine(40);
    const auto below = [&](std::uint32_t count) { return static_cast<std::uint32_t>(engine() % count); };
    for (int i = 0; i < 24; ++i) {
        const std::uint32_t rows = 2 + below(40), columns = 3 + below(40);
        RearrangeDesc desc = transposed(1 + below(3), rows, columns);
        desc.shared_source = below(2) == 0;
        RearrangeDimension& along = desc.dimensions[0];
        if (below(2) == 0) along.start = 1, along.extent -= 1;
        RearrangeDimension& across = desc.dimensions[1];
        if (below(2) == 0) across.start = static_cast<std::int32_t>(across.extent) - 1, across.step = -1;
        const WordList source = count_up(std::size_t{desc.shared_source ? 1 : desc.members} * desc.source_elements);
        for (const RearrangeConfig& config : {kAcross, kStaged}) {
            desc.config = config;
            ASSERT_OK_AND_ASSIGN(const WordList got, run(desc, source));
            ASSERT_EQ(got, reference::twin_result<std::uint32_t>(desc, {source}))
                << operation_of<RearrangeDesc>().fields.text(desc);
        }
    }
}

// More tiles than one dimension of a grid takes.
TEST_P(rearrange, tiles_fill_grids_beyond_one_dimension) {
    RearrangeDesc desc = transposed(65537, 2, 2);
    desc.config = RearrangeConfig{.workgroup_size = 1, .tile_rows = 8, .tile_columns = 8};
    const WordList source = count_up(std::size_t{65537} * 4);
    ASSERT_OK_AND_ASSIGN(const WordList got, run(desc, source));
    EXPECT_EQ(got, reference::twin_result<std::uint32_t>(desc, {source}));
}

// By default, too; but not those of narrow matrices, whose tiles would be mostly empty.
TEST_P(rearrange, only_transposed_matrices_take_tiles) {
    const auto default_of = [&](const RearrangeDesc& desc) { return heuristic_of(device().info(), desc); };
    EXPECT_NE(default_of(transposed(2, 64, 64)).tile_rows, 0U);
    EXPECT_EQ(default_of(transposed(2, 3, 4096)).tile_rows, 0U);
    RearrangeDesc padded = transposed(2, 64, 64);
    padded.dimensions[0].extent = 65;
    RearrangeDesc repeated = transposed(2, 64, 64);
    repeated.dimensions[1].step = 0;
    const RearrangeDesc copy{.members = 2, .dimensions = row_major_dimensions({64, 64}), .source_elements = 4096};
    for (RearrangeDesc desc : {padded, repeated, copy, transposed(2, 64, 1), transposed(2, 64, 0)}) {
        EXPECT_EQ(default_of(desc).tile_rows, 0U) << operation_of<RearrangeDesc>().fields.text(desc);
        for (const RearrangeConfig& config : {kAcross, kStaged}) {
            desc.config = config;
            EXPECT_TRUE(
                testing::expect_error(plan_rearrange(device(), desc), ErrorKind::BadInput, "tile_rows of [rearrange]"));
        }
    }
}

TEST_P(rearrange, bad_tiles_are_refused) {
    RearrangeDesc desc = transposed(1, 16, 16);
    for (const RearrangeConfig& config :
         {RearrangeConfig{.tile_rows = 128, .tile_columns = 8}, RearrangeConfig{.tile_rows = 8, .tile_columns = 12},
          RearrangeConfig{.tile_rows = 8}, RearrangeConfig{.tile_columns = 8}, RearrangeConfig{.staged = 1},
          RearrangeConfig{.padding = 1}, RearrangeConfig{.tile_rows = 8, .tile_columns = 8, .staged = 2},
          RearrangeConfig{.tile_rows = 8, .tile_columns = 8, .padding = 1},
          RearrangeConfig{.tile_rows = 8, .tile_columns = 8, .staged = 1, .padding = 2},
          RearrangeConfig{.loads_per_invocation = 2, .tile_rows = 8, .tile_columns = 8},
          RearrangeConfig{.elements_per_load = 4, .tile_rows = 8, .tile_columns = 8}}) {
        desc.config = config;
        EXPECT_TRUE(testing::expect_error(plan_rearrange(device(), desc), ErrorKind::BadInput, "rearrange"));
    }
}

TEST_P(rearrange, nothing_is_dispatched_for_zero_elements) {
    for (const RearrangeDesc& desc : {transposed(0, 3, 5), transposed(3, 0, 5), transposed(3, 5, 0)}) {
        ASSERT_OK_AND_ASSIGN(const RearrangePlan plan, plan_rearrange(device(), desc));
        ASSERT_OK_AND_ASSIGN(const BoundRearrange bound, plan.bind({}));
        ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder);
        EXPECT_EQ(recorder.dispatch_count(), 0U);
    }
}

// Six dimensions remain where none merges: the members are the sixth.
TEST_P(rearrange, members_stay_apart_where_five_dimensions_do) {
    RearrangeDesc desc{.members = 3, .dimensions = row_major_dimensions({2, 3, 2, 3, 2}), .source_elements = 72};
    std::ranges::reverse(desc.dimensions);
    const WordList source = count_up(216);
    ASSERT_OK_AND_ASSIGN(const WordList got, run(desc, source));
    EXPECT_EQ(got, reference::twin_result<std::uint32_t>(desc, {source}));
}

TEST_P(rearrange, nothing_but_fill_needs_no_source) {
    RearrangeDesc desc{.members = 2, .dimensions = row_major_dimensions({0, 4}), .fill = 1.0F};
    desc.dimensions[0].start = -3, desc.dimensions[0].extent = 3;
    EXPECT_THAT(*run(desc, {}), Each(0x3F800000U));
}

TEST_P(rearrange, bad_descriptions_are_refused) {
    const auto refused = [&](const RearrangeDesc& desc, const char* what) {
        return testing::expect_error(plan_rearrange(device(), desc), ErrorKind::BadInput, what);
    };
    const RearrangeDesc good{.dimensions = row_major_dimensions({2, 3}), .source_elements = 6};
    EXPECT_OK(plan_rearrange(device(), good));
    EXPECT_TRUE(refused({.source_elements = 6}, "[rearrange] was given 0 dimensions; 1 to 5 are allowed"));
    EXPECT_TRUE(
        refused({.dimensions = row_major_dimensions({1, 1, 1, 1, 1, 1}), .source_elements = 1}, "6 dimensions"));
    RearrangeDesc bad = good;
    bad.source_elements = 5;
    EXPECT_TRUE(refused(bad, "reads element 5 of its source, which has 5"));
    bad = good;
    bad.dimensions[0].stride = 4;
    EXPECT_TRUE(refused(bad, "reads element 6 of its source"));
    bad = good;
    bad.dimensions[1].source_extent = 0x80000000U;
    EXPECT_TRUE(refused(bad, "Dimension 1 of [rearrange]"));
    bad = good;
    bad.dimensions[0].step = std::numeric_limits<std::int32_t>::min();
    bad.dimensions[0].start = -1;
    EXPECT_TRUE(refused(bad, "Dimension 0 of [rearrange] goes from -1"));
    for (const RearrangeConfig& config :
         {RearrangeConfig{.workgroup_size = 0}, RearrangeConfig{.loads_per_invocation = 16},
          RearrangeConfig{.elements_per_load = 4}}) {
        bad = good;
        bad.config = config;
        EXPECT_TRUE(refused(bad, "rearrange"));
    }
}

TEST_P(rearrange, sizes_beyond_a_binding_are_refused) {
    constexpr std::uint32_t kMany = 0x7FFFFFFFU;
    RearrangeDesc desc{
        .members = kMany, .dimensions = row_major_dimensions({1, 1}), .source_elements = 1, .shared_source = true};
    for (RearrangeDimension& dimension : desc.dimensions) dimension.extent = kMany, dimension.step = 0;
    EXPECT_TRUE(
        testing::expect_error(plan_rearrange(device(), desc), ErrorKind::BadInput, "the out view of [rearrange]"));
}

TEST_P(rearrange, wrong_views_are_refused) {
    ASSERT_OK_AND_ASSIGN(const Buffer a, device().create_buffer({.size_bytes = 1024, .label = "a"}));
    ASSERT_OK_AND_ASSIGN(const RearrangePlan plan,
                         plan_rearrange(device(), {.dimensions = row_major_dimensions({8, 8}), .source_elements = 64}));
    const BufferView source(a, 0, 256), out(a, 256, 256);
    EXPECT_OK(plan.bind({.source = source, .out = out}));
    EXPECT_TRUE(
        testing::expect_error(plan.bind({.source = source, .out = source}), ErrorKind::BadInput, "[rearrange]"));
    EXPECT_TRUE(testing::expect_error(plan.bind({.source = BufferView(a, 0, 252), .out = out}), ErrorKind::BadInput,
                                      "the source view of [rearrange]"));
}

}  // namespace
}  // namespace yolk
