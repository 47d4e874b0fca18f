// SPDX-License-Identifier: Apache-2.0
#include "yolk/scatter.hpp"

#include <gmock/gmock.h>

#include <vector>

#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/oracle/guarded.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using ::testing::ElementsAre;

class scatter : public testing::DeviceTest {
   protected:
    template <class T>
    Result<oracle::GuardedBuffer> buffer(const std::vector<T>& values, const char* label) {
        YOLK_TRY(auto made, oracle::GuardedBuffer::create(device(), dispatcher(), sizeof(T) * values.size(),
                                                          oracle::kPoisons[0], label));
        YOLK_TRY_VOID(made.upload(values));
        return made;
    }
    Result<std::vector<float>> run(const ScatterDesc& desc, const std::vector<float>& before,
                                   const std::vector<std::uint32_t>& list, const std::vector<float>& added,
                                   std::uint64_t& dispatches) {
        YOLK_TRY(const auto target, buffer(before, "target"));
        YOLK_TRY(const auto ids, buffer(list, "ids"));
        YOLK_TRY(const auto values, buffer(added, "values"));
        YOLK_TRY(const auto status, buffer(std::vector<std::uint32_t>{0}, "status"));
        YOLK_TRY(const ScatterPlan plan, plan_scatter(device(), desc));
        YOLK_TRY(
            const BoundScatter bound,
            plan.bind({.target = target.view(), .ids = ids.view(), .values = values.view(), .status = status.view()}));
        YOLK_TRY(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder);
        dispatches = recorder.dispatch_count();
        YOLK_TRY_VOID(dispatcher().run(recorder));
        return target.download<float>();
    }
};
YOLK_FOR_EACH_DEVICE(scatter);

// 2^24 + 1 is 2^24 in fp32: the order of three additions can be seen in their sum.
TEST_P(scatter, repeated_ids_count_in_their_order) {
    std::uint64_t dispatches = 0;
    ScatterDesc desc{.target_rows = 2, .columns = 1, .id_count = 3};
    ASSERT_OK_AND_ASSIGN(const auto assigned, run(desc, {7.0F, 8.0F}, {1, 1, 1}, {1.0F, 2.0F, 3.0F}, dispatches));
    EXPECT_THAT(assigned, ElementsAre(7.0F, 3.0F));
    desc.mode = ScatterMode::Add;
    ASSERT_OK_AND_ASSIGN(const auto rising, run(desc, {0.0F, 0.0F}, {0, 0, 0}, {1.0F, 1.0F, 0x1p24F}, dispatches));
    EXPECT_THAT(rising, ElementsAre(0x1p24F + 2.0F, 0.0F));
    ASSERT_OK_AND_ASSIGN(const auto falling, run(desc, {0.0F, 0.0F}, {0, 0, 0}, {0x1p24F, 1.0F, 1.0F}, dispatches));
    EXPECT_THAT(falling, ElementsAre(0x1p24F, 0.0F));
}

// More ids than the loops of lavapipe 22.3 take in one dispatch (65,535), all into one place.
TEST_P(scatter, many_ids_are_split_over_dispatches) {
    constexpr std::uint32_t kIds = 70001;
    const ScatterDesc desc{.target_rows = 1,
                           .columns = 1,
                           .id_count = kIds,
                           .mode = ScatterMode::Add,
                           .config = ScatterConfig{.ids_per_dispatch = 16384}};
    std::uint64_t dispatches = 0;
    ASSERT_OK_AND_ASSIGN(const auto got, run(desc, {0.5F}, std::vector<std::uint32_t>(kIds),
                                             std::vector<float>(kIds, 1.0F), dispatches));
    EXPECT_THAT(got, ElementsAre(70001.5F));
    EXPECT_EQ(dispatches, 5U);
}

TEST_P(scatter, bad_descriptions_are_refused) {
    for (const ScatterConfig& config : {ScatterConfig{.workgroup_size = 0}, ScatterConfig{.workgroup_size = 512},
                                        ScatterConfig{.elements_per_load = 4}, ScatterConfig{.ids_per_dispatch = 17}}) {
        EXPECT_TRUE(testing::expect_error(
            plan_scatter(device(), {.target_rows = 2, .columns = 6, .id_count = 1, .config = config}),
            ErrorKind::BadInput, "scatter"));
    }
    EXPECT_TRUE(testing::expect_error(plan_scatter(device(), {.mode = static_cast<ScatterMode>(2)}),
                                      ErrorKind::BadInput, "mode of [scatter]"));
}

TEST_P(scatter, sizes_beyond_a_binding_are_refused) {
    const auto refused = [&](const ScatterDesc& desc, const char* what) {
        return testing::expect_error(plan_scatter(device(), desc), ErrorKind::BadInput, what);
    };
    constexpr std::uint32_t kMany = 0xFFFFFFFFU;
    EXPECT_TRUE(refused({.target_rows = kMany, .columns = kMany}, "the target view of [scatter]"));
    EXPECT_TRUE(refused({.members = kMany, .target_rows = 0, .columns = kMany, .id_count = 1}, "view of [scatter]"));
    EXPECT_TRUE(refused({.target_rows = 1, .columns = 1, .id_count = kMany}, "the ids view of [scatter]"));
    EXPECT_TRUE(
        refused({.target_rows = 1, .columns = 1U << 20U, .id_count = 1U << 20U}, "the values view of [scatter]"));
}

TEST_P(scatter, wrong_views_are_refused) {
    ASSERT_OK_AND_ASSIGN(const Buffer a, device().create_buffer({.size_bytes = 2048, .label = "a"}));
    ASSERT_OK_AND_ASSIGN(const ScatterPlan plan,
                         plan_scatter(device(), {.target_rows = 8, .columns = 8, .id_count = 8}));
    const ScatterViews good{.target = BufferView(a, 0, 256),
                            .ids = BufferView(a, 256, 32),
                            .values = BufferView(a, 512, 256),
                            .status = BufferView(a, 768, 4)};
    const auto refused = [&](auto change, const char* what) {
        ScatterViews views = good;
        change(views);
        return testing::expect_error(plan.bind(views), ErrorKind::BadInput, what);
    };
    EXPECT_OK(plan.bind(good));
    EXPECT_TRUE(refused([&](ScatterViews& v) { v.target.size_bytes = 252; }, "the target view of [scatter]"));
    EXPECT_TRUE(refused([&](ScatterViews& v) { v.ids.size_bytes = 28; }, "the ids view of [scatter]"));
    EXPECT_TRUE(refused([&](ScatterViews& v) { v.values.offset_bytes = 640; }, "the values view of [scatter]"));
    EXPECT_TRUE(refused([&](ScatterViews& v) { v.status = {}; }, "the status view of [scatter]"));
    EXPECT_TRUE(refused([&](ScatterViews& v) { v.target = v.values; }, "[scatter]"));
    EXPECT_TRUE(refused([&](ScatterViews& v) { v.status = BufferView(a, 512, 4); }, "[scatter]"));
}

TEST_P(scatter, nothing_is_dispatched_for_zero_elements) {
    ASSERT_OK_AND_ASSIGN(const ScatterPlan plan, plan_scatter(device(), {.target_rows = 3, .columns = 4}));
    ASSERT_OK_AND_ASSIGN(const BoundScatter bound, plan.bind({}));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
    recorder.begin();
    bound.record(recorder);
    EXPECT_EQ(recorder.dispatch_count(), 0U);
}

}  // namespace
}  // namespace yolk
