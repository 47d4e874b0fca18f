// SPDX-License-Identifier: Apache-2.0
#include "yolk/normalize.hpp"

#include <gmock/gmock.h>

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

struct NormalizeInputs {
    std::vector<float> in, scale, bias;
};

class normalize : public testing::DeviceTest {
   protected:
    template <class T = float>
    Result<std::vector<T>> run(const NormalizeDesc& desc, const NormalizeInputs& inputs) {
        const RowBuffers buffers{device(), dispatcher()};
        YOLK_TRY(const auto in, buffers.filled(inputs.in, "normalize.in"));
        YOLK_TRY(const auto scale, buffers.filled(inputs.scale, "normalize.scale"));
        YOLK_TRY(const auto bias, buffers.filled(inputs.bias, "normalize.bias"));
        YOLK_TRY(const auto out, buffers.empty(sizeof(float) * inputs.in.size(), "normalize.out"));
        YOLK_TRY(const NormalizePlan plan, plan_normalize(device(), desc));
        YOLK_TRY(const BoundNormalize bound,
                 plan.bind({.in = in.view(), .scale = scale.view(), .bias = bias.view(), .out = out.view()}));
        YOLK_TRY_VOID(buffers.run(bound));
        return out.download<T>();
    }
};
YOLK_FOR_EACH_DEVICE(normalize);

// A constant row has no deviation, so that the bias alone is left; a row of plus and minus one is its own image,
// nearly.
TEST_P(normalize, known_rows) {
    const NormalizeInputs inputs{.in = {8.0F, 8.0F, 8.0F, 8.0F, 1.0F, -1.0F, -1.0F, 1.0F},
                                 .scale = {3.0F, 3.0F, 3.0F, 3.0F},
                                 .bias = {0.5F, 0.5F, 0.5F, 0.5F}};
    for (const RowConfig& config : row_configs()) {
        const NormalizeDesc desc{.rows = 2,
                                 .columns = 4,
                                 .scale = RowVector::Shared,
                                 .bias = RowVector::Shared,
                                 .epsilon = 0x1p-40F,
                                 .config = config};
        ASSERT_OK_AND_ASSIGN(const std::vector<float> got, run(desc, inputs));
        EXPECT_THAT(std::vector<float>(got.begin(), got.begin() + 4), Each(0.5F));
        EXPECT_THAT(std::vector<float>(got.begin() + 4, got.end()),
                    ElementsAre(::testing::FloatNear(3.5F, 2e-6F), ::testing::FloatNear(-2.5F, 2e-6F),
                                ::testing::FloatNear(-2.5F, 2e-6F), ::testing::FloatNear(3.5F, 2e-6F)));
    }
}

// What is not finite or too large spoils its own row only.
TEST_P(normalize, rows_that_are_not_finite) {
    const std::vector<float> in{1.0F,    kInfinity, 1.0F,     -kInfinity, 2.0F, kNan,
                                0x1p60F, -0x1p60F,  0x1p120F, 0.0F,       1.0F, 3.0F};
    for (const NormalizeRule rule : {NormalizeRule::Layer, NormalizeRule::RootMeanSquare}) {
        for (const RowConfig& config : row_configs()) {
            ASSERT_OK_AND_ASSIGN(auto got, run<std::uint32_t>({.rule = rule, .rows = 6, .columns = 2, .config = config},
                                                              {.in = in, .scale = {}, .bias = {}}));
            EXPECT_TRUE(std::isfinite(std::bit_cast<float>(got[10])));
            EXPECT_TRUE(std::isfinite(std::bit_cast<float>(got[11])));
            got.resize(10);
            EXPECT_THAT(got, Each(kNanBits));
        }
    }
}

// The longest rows that the loop limit of lavapipe 22.3 allows.
TEST_P(normalize, the_longest_rows) {
    for (const RowConfig& config : row_configs()) {
        const std::uint32_t columns = config.row_per_invocation != 0 ? 32 * 10922 : 32 * 21844;
        std::vector<float> in(columns);
        for (std::uint32_t k = 0; k < columns; ++k) in[k] = static_cast<float>(k % 1009) * 0.01F;
        const NormalizeDesc desc{.rows = 1, .columns = columns, .config = config};
        const NormalizeInputs inputs{.in = in, .scale = {}, .bias = {}};
        ASSERT_OK_AND_ASSIGN(const auto got, run(desc, inputs));
        EXPECT_EQ(got, reference::twin_result<float>(desc, {in, {}, {}}));
    }
}

TEST_P(normalize, bad_descriptions_are_refused) {
    const auto refused = [&](const NormalizeDesc& desc, const char* words) {
        return testing::expect_error(plan_normalize(device(), desc), ErrorKind::BadInput, words);
    };
    for (const float epsilon : {0.0F, -1.0F, 0x1p-41F, 0x1p41F, kInfinity, kNan}) {
        EXPECT_TRUE(refused({.rows = 1, .columns = 1, .epsilon = epsilon}, "epsilon of [normalize]"));
    }
    EXPECT_TRUE(refused({.rule = NormalizeRule::RootMeanSquare, .rows = 1, .columns = 1, .bias = RowVector::Shared},
                        "a bias for RootMeanSquare"));
    EXPECT_TRUE(refused({.rule = static_cast<NormalizeRule>(2)}, "rule of [normalize]"));
    EXPECT_TRUE(refused({.scale = static_cast<RowVector>(3)}, "scale of [normalize]"));
    EXPECT_TRUE(refused({.members = 0xFFFFFFFFU, .rows = 0xFFFFFFFFU, .columns = 2}, "the in view of [normalize]"));
    EXPECT_TRUE(refused({.rows = 0x40000000U, .columns = 1}, "the in view of [normalize]"));
    EXPECT_TRUE(refused({.config = RowConfig{.rows_per_workgroup = 32}}, "rows_per_workgroup"));
    EXPECT_TRUE(refused_by_loops(device(), plan_normalize(device(), {.rows = 1, .columns = 256 * 21844 + 1}),
                                 "Use shorter rows"));
}

TEST_P(normalize, wrong_views_are_refused) {
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, device().create_buffer({.size_bytes = 4096, .label = "small"}));
    ASSERT_OK_AND_ASSIGN(
        const NormalizePlan plan,
        plan_normalize(
            device(),
            {.members = 2, .rows = 32, .columns = 4, .scale = RowVector::PerMember, .bias = RowVector::Shared}));
    const NormalizeViews right{
        .in = {buffer, 0, 1024}, .scale = {buffer, 1024, 32}, .bias = {buffer, 1280, 16}, .out = {buffer, 2048, 1024}};
    const auto refused = [&](BufferView NormalizeViews::*view, const BufferView& wrong, const char* words) {
        NormalizeViews views = right;
        views.*view = wrong;
        return testing::expect_error(plan.bind(views), ErrorKind::BadInput, words);
    };
    EXPECT_OK(plan.bind(right));
    EXPECT_TRUE(refused(&NormalizeViews::in, {buffer, 0, 1020}, "the in view"));
    EXPECT_TRUE(refused(&NormalizeViews::scale, {buffer, 1024, 28}, "the scale view"));
    EXPECT_TRUE(refused(&NormalizeViews::bias, {}, "the bias view"));
    EXPECT_TRUE(refused(&NormalizeViews::out, {buffer, 2052, 1024}, "the out view"));
    EXPECT_TRUE(refused(&NormalizeViews::out, {buffer, 1024, 1024}, "shares bytes"));
}

TEST_P(normalize, nothing_is_dispatched_for_no_elements) {
    for (const NormalizeDesc& desc :
         {NormalizeDesc{.rows = 0, .columns = 3}, NormalizeDesc{.rows = 3, .columns = 0},
          NormalizeDesc{.members = 0, .rows = 3, .columns = 3, .scale = RowVector::Shared}}) {
        ASSERT_OK_AND_ASSIGN(const NormalizePlan plan, plan_normalize(device(), desc));
        ASSERT_OK_AND_ASSIGN(const BoundNormalize bound, plan.bind({}));
        ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder);
        EXPECT_EQ(recorder.dispatch_count(), 0U);
    }
}

}  // namespace
}  // namespace yolk
