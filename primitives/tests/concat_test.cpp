// SPDX-License-Identifier: Apache-2.0
#include "yolk/concat.hpp"

#include <gmock/gmock.h>

#include <array>
#include <vector>

#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

class concat : public testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(concat);

TEST_P(concat, one_dispatch_for_each_part_that_is_not_empty) {
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, device().create_buffer({.size_bytes = 2048, .label = "all"}));
    ASSERT_OK_AND_ASSIGN(const ConcatPlan plan,
                         plan_concat(device(), {.members = 2, .inner = 4, .parts = {{1}, {0}, {2}}}));
    const std::array parts{BufferView(buffer, 0, 32), BufferView{}, BufferView(buffer, 256, 64)};
    ASSERT_OK_AND_ASSIGN(const BoundConcat bound, plan.bind({.whole = BufferView(buffer, 512, 96), .parts = parts}));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
    recorder.begin();
    bound.record(recorder);
    EXPECT_EQ(recorder.dispatch_count(), 2U);
}

TEST_P(concat, bad_descriptions_are_refused) {
    const auto refused = [](const auto& planned, const char* what) {
        return testing::expect_error(planned, ErrorKind::BadInput, what);
    };
    EXPECT_TRUE(refused(plan_concat(device(), {}), "[concat] was given no parts"));
    EXPECT_TRUE(refused(plan_split(device(), {.parts = {{1}, {1, true}}}), "[split] is shared"));
    for (const ConcatConfig& config : {ConcatConfig{.workgroup_size = 0}, ConcatConfig{.workgroup_size = 512},
                                       ConcatConfig{.loads_per_invocation = 3}, ConcatConfig{.elements_per_load = 2}}) {
        EXPECT_TRUE(refused(plan_concat(device(), {.parts = {{4}}, .config = config}), "concat"));
    }
    EXPECT_TRUE(refused(
        plan_concat(device(), {.inner = 2, .parts = {{2}, {1}}, .config = ConcatConfig{.elements_per_load = 4}}),
        "elements_per_load of [concat]"));
}

// 2^32 elements and more, by one extent and by their sum.
TEST_P(concat, sizes_beyond_a_binding_are_refused) {
    for (const std::uint32_t members : {1U, 0xFFFFFFFFU}) {
        const ConcatDesc desc{
            .members = members, .outer = members, .inner = members, .parts = {{0xFFFFFFFFU}, {0xFFFFFFFFU, false}}};
        EXPECT_TRUE(
            testing::expect_error(plan_concat(device(), desc), ErrorKind::BadInput, "the whole view of [concat]"));
        EXPECT_TRUE(
            testing::expect_error(plan_split(device(), desc), ErrorKind::BadInput, "the whole view of [split]"));
    }
}

TEST_P(concat, wrong_views_are_refused) {
    ASSERT_OK_AND_ASSIGN(const Buffer a, device().create_buffer({.size_bytes = 2048, .label = "a"}));
    const ConcatDesc desc{.members = 2, .inner = 8, .parts = {{4}, {4}}};
    ASSERT_OK_AND_ASSIGN(const ConcatPlan join, plan_concat(device(), desc));
    ASSERT_OK_AND_ASSIGN(const ConcatPlan split, plan_split(device(), desc));
    const BufferView left(a, 0, 256), right(a, 256, 256), whole(a, 512, 512);
    const auto refused = [](const ConcatPlan& plan, const BufferView& all, const std::vector<BufferView>& parts,
                            const char* what) {
        return testing::expect_error(plan.bind({.whole = all, .parts = parts}), ErrorKind::BadInput, what);
    };
    const std::vector<BufferView> both{left, right}, twice{left, left};
    EXPECT_OK(join.bind({.whole = whole, .parts = both}));
    EXPECT_OK(join.bind({.whole = whole, .parts = twice}));
    EXPECT_OK(split.bind({.whole = whole, .parts = both}));
    EXPECT_TRUE(refused(split, whole, twice, "[split]"));
    EXPECT_TRUE(refused(join, BufferView(a, 256, 512), both, "[concat]"));
    EXPECT_TRUE(refused(split, BufferView(a, 256, 512), both, "[split]"));
    EXPECT_TRUE(refused(join, whole, {left}, "[concat] was given 1 parts"));
    EXPECT_TRUE(refused(join, whole, {left, BufferView(a, 256, 252)}, "the parts[1] view of [concat]"));
    EXPECT_TRUE(refused(join, whole, {BufferView(a, 128, 256), right}, "the parts[0] view of [concat]"));
    EXPECT_TRUE(refused(join, BufferView(a, 1792, 512), both, "the whole view of [concat]"));
}

TEST_P(concat, nothing_is_dispatched_for_zero_elements) {
    ASSERT_OK_AND_ASSIGN(const ConcatPlan plan, plan_concat(device(), {.members = 0, .parts = {{3}, {2, true}}}));
    const std::array<BufferView, 2> parts{};
    ASSERT_OK_AND_ASSIGN(const BoundConcat bound, plan.bind({.whole = {}, .parts = parts}));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
    recorder.begin();
    bound.record(recorder);
    EXPECT_EQ(recorder.dispatch_count(), 0U);
}

}  // namespace
}  // namespace yolk
