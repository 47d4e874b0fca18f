// SPDX-License-Identifier: Apache-2.0
#include "yolk/where.hpp"

#include <gmock/gmock.h>

#include <vector>

#include "row_device.hpp"
#include "special_floats.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using ::testing::ElementsAre;

class where : public testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(where);

// All that is not one of the zeros takes the first: what is denormal, infinite, not a number.
TEST_P(where, results_by_hand) {
    const RowBuffers buffers{device(), dispatcher()};
    ASSERT_OK_AND_ASSIGN(const auto condition, buffers.filled(std::vector<float>{0.0F, -0.0F, 1.0F, -2.0F, 0x1p-149F,
                                                                                 -0x1p-149F, kInfinity, kNan},
                                                              "condition"));
    ASSERT_OK_AND_ASSIGN(const auto first, buffers.filled(std::vector<float>(8, 3.0F), "first"));
    ASSERT_OK_AND_ASSIGN(const auto second, buffers.filled(std::vector<float>{5.0F}, "second"));
    ASSERT_OK_AND_ASSIGN(const auto out, buffers.empty(32, "out"));
    ASSERT_OK_AND_ASSIGN(const WherePlan plan,
                         plan_where(device(), {.rows = 8, .columns = 1, .second = SecondOperand::Row}));
    ASSERT_OK_AND_ASSIGN(
        const BoundWhere bound,
        plan.bind({.condition = condition.view(), .first = first.view(), .second = second.view(), .out = out.view()}));
    ASSERT_OK(buffers.run(bound));
    EXPECT_THAT(*out.download<float>(), ElementsAre(5.0F, 5.0F, 3.0F, 3.0F, 3.0F, 3.0F, 3.0F, 3.0F));
}

TEST_P(where, bad_descriptions_are_refused) {
    const auto refused = [&](const WhereDesc& desc, const char* what) {
        return testing::expect_error(plan_where(device(), desc), ErrorKind::BadInput, what);
    };
    EXPECT_TRUE(refused({.rows = 2, .columns = 2, .condition = static_cast<SecondOperand>(4)}, "condition of [where]"));
    EXPECT_TRUE(refused({.rows = 2, .columns = 2, .second = static_cast<SecondOperand>(9)}, "second of [where]"));
    for (const WhereConfig& config : {WhereConfig{.workgroup_size = 512}, WhereConfig{.loads_per_invocation = 3},
                                      WhereConfig{.elements_per_load = 4}}) {
        EXPECT_TRUE(refused({.rows = 4, .columns = 7, .first = SecondOperand::Row, .config = config}, "where"));
    }
    constexpr std::uint32_t kMany = 0xFFFFFFFFU;
    EXPECT_TRUE(refused({.members = kMany, .rows = kMany, .columns = kMany}, "the condition view of [where]"));
}

TEST_P(where, wrong_views_are_refused) {
    ASSERT_OK_AND_ASSIGN(const Buffer a, device().create_buffer({.size_bytes = 1024, .label = "a"}));
    ASSERT_OK_AND_ASSIGN(const WherePlan plan, plan_where(device(), {.rows = 8, .columns = 8}));
    const WhereViews good{.condition = BufferView(a, 0, 256),
                          .first = BufferView(a, 256, 256),
                          .second = BufferView(a, 256, 256),
                          .out = BufferView(a, 512, 256)};
    const auto refused = [&](auto change, const char* what) {
        WhereViews views = good;
        change(views);
        return testing::expect_error(plan.bind(views), ErrorKind::BadInput, what);
    };
    EXPECT_OK(plan.bind(good));
    EXPECT_TRUE(refused([](WhereViews& v) { v.condition.size_bytes = 252; }, "the condition view of [where]"));
    EXPECT_TRUE(refused([](WhereViews& v) { v.first = {}; }, "the first view of [where]"));
    EXPECT_TRUE(refused([](WhereViews& v) { v.out = v.second; }, "[where]"));
}

TEST_P(where, nothing_is_dispatched_for_zero_elements) {
    ASSERT_OK_AND_ASSIGN(const WherePlan plan, plan_where(device(), {.columns = 8}));
    ASSERT_OK_AND_ASSIGN(const BoundWhere bound, plan.bind({}));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
    recorder.begin();
    bound.record(recorder);
    EXPECT_EQ(recorder.dispatch_count(), 0U);
}

}  // namespace
}  // namespace yolk
