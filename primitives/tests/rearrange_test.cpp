// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/rearrange.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "row_device.hpp"
#include "yolk/reference/twin.hpp"
#include "yolk/testing/device_test.hpp"

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

// However dimensions merge, and in each way of loading.
TEST_P(rearrange, whatever_is_drawn_matches_the_twin) {
    std::mt19937 engine(20);
    for (int i = 0; i < 60; ++i) {
        RearrangeDesc desc = drawn_description(engine);
        const WordList source = count_up(std::size_t{desc.shared_source ? 1 : desc.members} * desc.source_elements);
        for (const std::uint32_t width : {1U, 4U}) {
            desc.config = RearrangeConfig{.elements_per_load = width};
            if (!space_of(device().info(), desc).check(*desc.config)) continue;
            ASSERT_OK_AND_ASSIGN(const WordList got, run(desc, source));
            ASSERT_EQ(got, reference::twin_result<std::uint32_t>(desc, {source}))
                << operation_of<RearrangeDesc>().fields.text(desc);
        }
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
