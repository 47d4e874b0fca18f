// SPDX-License-Identifier: Apache-2.0
#include "yolk/softmax.hpp"

#include <gmock/gmock.h>

#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "row_device.hpp"
#include "special_floats.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/twin.hpp"

namespace yolk {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

class softmax : public testing::DeviceTest {
   protected:
    template <class T = float>
    Result<std::vector<T>> run(const SoftmaxDesc& desc, const std::vector<float>& in) {
        const RowBuffers buffers{device(), dispatcher()};
        YOLK_TRY(const auto input, buffers.filled(in, "softmax.in"));
        YOLK_TRY(const auto out, buffers.empty(sizeof(float) * in.size(), "softmax.out"));
        YOLK_TRY(const SoftmaxPlan plan, plan_softmax(device(), desc));
        YOLK_TRY(const BoundSoftmax bound, plan.bind({.in = input.view(), .out = out.view()}));
        YOLK_TRY_VOID(buffers.run(bound));
        return out.download<T>();
    }
};
YOLK_FOR_EACH_DEVICE(softmax);

// Powers of two come out exactly where the sum is one: logits equal, 2^n of them.
TEST_P(softmax, equal_logits_share_evenly) {
    for (const RowConfig& config : row_configs()) {
        ASSERT_OK_AND_ASSIGN(const auto got,
                             run({.rows = 2, .columns = 64, .config = config}, std::vector<float>(128, 7.5F)));
        for (const float p : got) EXPECT_NEAR(p, 0x1p-6F, 0x1p-6F * 1.3e-7F);
    }
}

TEST_P(softmax, rows_that_are_not_finite) {
    const std::vector<float> in{1.0F,       kInfinity,  0.5F,        // infinity
                                -kInfinity, -kInfinity, -kInfinity,  // no finite element
                                2.0F,       -kNan,      1.0F,        // NaN
                                -kInfinity, 3.0F,       -kInfinity};
    for (const bool logarithm : {false, true}) {
        for (const RowConfig& config : row_configs()) {
            const SoftmaxDesc desc{.rows = 4, .columns = 3, .logarithm = logarithm, .config = config};
            ASSERT_OK_AND_ASSIGN(auto got, run<std::uint32_t>(desc, in));
            const std::vector<std::uint32_t> last(got.end() - 3, got.end());
            got.resize(9);
            EXPECT_THAT(got, Each(kNanBits));
            if (logarithm) {
                EXPECT_THAT(last, ElementsAre(0xFF800000U, 0U, 0xFF800000U));
            } else {
                EXPECT_EQ(std::bit_cast<float>(last[0]), 0.0F);
                EXPECT_NEAR(std::bit_cast<float>(last[1]), 1.0F, 1.3e-7F);
                EXPECT_EQ(std::bit_cast<float>(last[2]), 0.0F);
            }
        }
    }
}

// The longest rows that the loop limit of lavapipe 22.3 allows.
TEST_P(softmax, the_longest_rows) {
    for (const RowConfig& config : row_configs()) {
        const std::uint32_t columns = config.row_per_invocation != 0 ? 32 * 10922 : 32 * 21844;
        std::vector<float> in(columns);
        for (std::uint32_t k = 0; k < columns; ++k) in[k] = static_cast<float>(k % 1009) * 0.01F;
        const SoftmaxDesc desc{.rows = 1, .columns = columns, .config = config};
        ASSERT_OK_AND_ASSIGN(const auto got, run(desc, in));
        EXPECT_EQ(got, reference::twin_result<float>(desc, {in}));
    }
}

TEST_P(softmax, rows_beyond_the_loops_are_refused) {
    EXPECT_TRUE(refused_by_loops(device(), plan_softmax(device(), {.rows = 1, .columns = 256 * 21844 + 1}),
                                 "Use shorter rows"));
    EXPECT_TRUE(refused_by_loops(
        device(),
        plan_softmax(device(), {.rows = 1, .columns = 32 * 10922 + 1, .config = RowConfig{.row_per_invocation = 1}}),
        "or row_per_invocation 0"));
}

TEST_P(softmax, bad_descriptions_are_refused) {
    const auto refused = [&](const SoftmaxDesc& desc, const char* words) {
        return testing::expect_error(plan_softmax(device(), desc), ErrorKind::BadInput, words);
    };
    EXPECT_TRUE(refused({.members = 0xFFFFFFFFU, .rows = 0xFFFFFFFFU, .columns = 2}, "the in view of [softmax]"));
    EXPECT_TRUE(refused({.rows = 0x40000000U, .columns = 1}, "the in view of [softmax]"));
    EXPECT_TRUE(
        refused({.rows = 1, .columns = 1, .config = RowConfig{.rows_per_workgroup = 16}}, "rows_per_workgroup"));
    EXPECT_TRUE(refused({.rows = 1, .config = RowConfig{.row_per_invocation = 2}}, "row_per_invocation"));
}

TEST_P(softmax, wrong_views_are_refused) {
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, device().create_buffer({.size_bytes = 2048, .label = "small"}));
    ASSERT_OK_AND_ASSIGN(const SoftmaxPlan plan, plan_softmax(device(), {.rows = 64, .columns = 4}));
    const BufferView in(buffer, 0, 1024);
    const auto refused = [&](const SoftmaxViews& views, const char* words) {
        return testing::expect_error(plan.bind(views), ErrorKind::BadInput, words);
    };
    EXPECT_OK(plan.bind({.in = in, .out = {buffer, 1024, 1024}}));
    EXPECT_TRUE(refused({.in = {buffer, 0, 1020}, .out = {buffer, 1024, 1024}}, "the in view of [softmax]"));
    EXPECT_TRUE(refused({.in = in, .out = {buffer, 1024, 1020}}, "the out view of [softmax]"));
    EXPECT_TRUE(refused({.in = in, .out = in}, "shares bytes"));
}

TEST_P(softmax, nothing_is_dispatched_for_no_elements) {
    for (const SoftmaxDesc& desc : {SoftmaxDesc{.rows = 0, .columns = 3}, SoftmaxDesc{.rows = 3, .columns = 0},
                                    SoftmaxDesc{.members = 0, .rows = 3, .columns = 3}}) {
        ASSERT_OK_AND_ASSIGN(const SoftmaxPlan plan, plan_softmax(device(), desc));
        ASSERT_OK_AND_ASSIGN(const BoundSoftmax bound, plan.bind({}));
        ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder);
        EXPECT_EQ(recorder.dispatch_count(), 0U);
    }
}

}  // namespace
}  // namespace yolk
