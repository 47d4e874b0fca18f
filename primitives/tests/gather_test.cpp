// SPDX-License-Identifier: Apache-2.0
#include "yolk/gather.hpp"

#include <gmock/gmock.h>

#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

class gather : public testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(gather);

TEST_P(gather, bad_configurations_are_refused) {
    for (const GatherConfig& config :
         {GatherConfig{.workgroup_size = 0}, GatherConfig{.workgroup_size = 512},
          GatherConfig{.loads_per_invocation = 16}, GatherConfig{.elements_per_load = 4}}) {
        EXPECT_TRUE(testing::expect_error(
            plan_gather(device(), {.table_rows = 2, .columns = 6, .id_count = 1, .config = config}),
            ErrorKind::BadInput, "gather"));
    }
}

TEST_P(gather, sizes_beyond_a_binding_are_refused) {
    const auto refused = [&](const GatherDesc& desc, const char* what) {
        return testing::expect_error(plan_gather(device(), desc), ErrorKind::BadInput, what);
    };
    constexpr std::uint32_t kMany = 0xFFFFFFFFU;
    EXPECT_TRUE(refused({.table_rows = kMany, .columns = kMany, .id_count = 1}, "the table view of [gather]"));
    EXPECT_TRUE(refused({.members = kMany, .table_rows = kMany, .columns = kMany}, "the table view of [gather]"));
    EXPECT_TRUE(refused({.members = kMany, .table_rows = 1, .columns = 1, .id_count = kMany, .shared_table = true},
                        "the ids view of [gather]"));
    EXPECT_TRUE(refused({.members = kMany,
                         .table_rows = 1,
                         .columns = 1,
                         .id_count = 1U << 20U,
                         .shared_table = true,
                         .shared_ids = true},
                        "the out view of [gather]"));
}

TEST_P(gather, wrong_views_are_refused) {
    ASSERT_OK_AND_ASSIGN(const Buffer a, device().create_buffer({.size_bytes = 2048, .label = "a"}));
    ASSERT_OK_AND_ASSIGN(const GatherPlan plan, plan_gather(device(), {.table_rows = 8, .columns = 8, .id_count = 8}));
    const GatherViews good{.table = BufferView(a, 0, 256),
                           .ids = BufferView(a, 256, 32),
                           .out = BufferView(a, 512, 256),
                           .status = BufferView(a, 768, 4)};
    const auto refused = [&](auto change, const char* what) {
        GatherViews views = good;
        change(views);
        return testing::expect_error(plan.bind(views), ErrorKind::BadInput, what);
    };
    EXPECT_OK(plan.bind(good));
    EXPECT_TRUE(refused([&](GatherViews& v) { v.table.size_bytes = 252; }, "the table view of [gather]"));
    EXPECT_TRUE(refused([&](GatherViews& v) { v.ids.size_bytes = 28; }, "the ids view of [gather]"));
    EXPECT_TRUE(refused([&](GatherViews& v) { v.out.offset_bytes = 2000; }, "the out view of [gather]"));
    EXPECT_TRUE(refused([&](GatherViews& v) { v.status = {}; }, "the status view of [gather]"));
    EXPECT_TRUE(refused([&](GatherViews& v) { v.out = v.table; }, "[gather]"));
    EXPECT_TRUE(refused([&](GatherViews& v) { v.status = BufferView(a, 256, 4); }, "[gather]"));
}

TEST_P(gather, nothing_is_dispatched_for_zero_elements) {
    ASSERT_OK_AND_ASSIGN(const GatherPlan plan, plan_gather(device(), {.table_rows = 3, .columns = 4}));
    ASSERT_OK_AND_ASSIGN(const BoundGather bound, plan.bind({}));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
    recorder.begin();
    bound.record(recorder);
    EXPECT_EQ(recorder.dispatch_count(), 0U);
}

}  // namespace
}  // namespace yolk
