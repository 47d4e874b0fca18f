// SPDX-License-Identifier: Apache-2.0
#include "yolk/covariance.hpp"

#include <gmock/gmock.h>

#include <vector>

#include "row_device.hpp"
#include "special_floats.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/twin.hpp"

namespace yolk {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using testing::expect_error;

class covariance : public testing::DeviceTest {
   protected:
    struct Outputs {
        std::vector<float> covariance;
        std::vector<float> damped;
    };
    /// `first`, then a second time over the same average where `twice`.
    Result<Outputs> run(const CovarianceDesc& desc, const std::vector<float>& x, bool twice = false) {
        const RowBuffers buffers{device(), dispatcher()};
        const std::uint64_t size_bytes = sizeof(float) * desc.blocks * desc.n * desc.n;
        const bool is_damped = desc.damping_kind != CovarianceDamping::None;
        YOLK_TRY(const CovariancePlan plan, plan_covariance(device(), desc));
        YOLK_TRY(const auto in, buffers.filled(x, "x"));
        YOLK_TRY(const auto out, buffers.empty(size_bytes, "covariance"));
        YOLK_TRY(const auto damped, buffers.empty(is_damped ? size_bytes : 0, "damped"));
        YOLK_TRY(const auto scratch, buffers.empty(plan.scratch().size_bytes, "scratch"));
        YOLK_TRY(const BoundCovariance bound,
                 plan.bind({.x = in.view(), .covariance = out.view(), .damped = damped.view()}, scratch.view()));
        YOLK_TRY(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder, true);
        if (twice) {
            recorder.barrier(Barrier::ComputeToCompute);
            bound.record(recorder);
        }
        dispatches_ = recorder.dispatch_count();
        YOLK_TRY_VOID(dispatcher().run(recorder));
        Outputs outputs;
        YOLK_TRY(outputs.covariance, out.download<float>());
        YOLK_TRY(outputs.damped, damped.download<float>());
        return outputs;
    }
    struct Step {
        std::vector<float> x;
        bool first = false;
    };
    struct Average {
        std::vector<float> covariance;
        std::vector<std::uint32_t> left_out;
    };
    /// The average after each of them, and what was left out.
    Result<std::vector<Average>> run_steps(const CovarianceDesc& desc, const std::vector<Step>& steps) {
        const RowBuffers buffers{device(), dispatcher()};
        const std::uint64_t size_bytes = sizeof(float) * desc.blocks * desc.n * desc.n;
        YOLK_TRY(const CovariancePlan plan, plan_covariance(device(), desc));
        YOLK_TRY(const auto out, buffers.empty(size_bytes, "covariance"));
        YOLK_TRY(const auto left_out, buffers.empty(sizeof(std::uint32_t) * desc.blocks, "left out"));
        YOLK_TRY(const auto scratch, buffers.empty(plan.scratch().size_bytes, "scratch"));
        std::vector<Average> all;
        for (const Step& step : steps) {
            YOLK_TRY(const auto in, buffers.filled(step.x, "x"));
            YOLK_TRY(
                const BoundCovariance bound,
                plan.bind({.x = in.view(), .covariance = out.view(), .left_out = left_out.view()}, scratch.view()));
            YOLK_TRY(Recorder recorder, Recorder::create(device()));
            recorder.begin();
            bound.record(recorder, step.first);
            YOLK_TRY_VOID(dispatcher().run(recorder));
            Average& outputs = all.emplace_back();
            YOLK_TRY(outputs.covariance, out.download<float>());
            YOLK_TRY(outputs.left_out, left_out.download<std::uint32_t>());
        }
        return all;
    }
    static std::vector<Average> twins_of(const CovarianceDesc& desc, const std::vector<Step>& steps) {
        std::vector<Average> all;
        std::vector<float> average(std::size_t{desc.blocks} * desc.n * desc.n);
        for (const Step& step : steps) {
            std::vector<std::uint32_t> left_out(desc.blocks);
            reference::twin_of(desc, {step.x, average, {}, left_out}, step.first);
            all.push_back({average, left_out});
        }
        return all;
    }
    std::uint64_t dispatches_ = 0;
};
YOLK_FOR_EACH_DEVICE(covariance);

TEST_P(covariance, of_two_samples) {
    const CovarianceDesc desc{.n = 2, .samples = 2, .damping_kind = CovarianceDamping::Relative, .damping = 0.5F};
    ASSERT_OK_AND_ASSIGN(const Outputs got, run(desc, {1, 2, 3, 4}));
    EXPECT_THAT(got.covariance, ElementsAre(5, 7, 7, 10));
    EXPECT_THAT(got.damped, ElementsAre(8.75F, 7, 7, 13.75F));
}

// Damping does not go into the average: the same samples again leave it as it is.
TEST_P(covariance, averages_without_damping) {
    const CovarianceDesc desc{.n = 2,
                              .samples = 2,
                              .average = true,
                              .decay = 0.75F,
                              .damping_kind = CovarianceDamping::Absolute,
                              .damping = 1.0F};
    ASSERT_OK_AND_ASSIGN(const Outputs got, run(desc, {1, 2, 3, 4}, true));
    EXPECT_THAT(got.covariance, ElementsAre(5, 7, 7, 10));
    EXPECT_THAT(got.damped, ElementsAre(6, 7, 7, 11));
}

TEST_P(covariance, of_no_samples_leaves_an_average_alone) {
    const CovarianceDesc desc{.n = 2, .samples = 0, .average = true};
    ASSERT_OK_AND_ASSIGN(const Outputs got, run(desc, {}, true));
    EXPECT_THAT(got.covariance, Each(0.0F));
}

// A batch that is not finite says nothing, and the average goes on as if it had not been.
TEST_P(covariance, an_average_leaves_out_what_is_not_finite) {
    const CovarianceDesc desc{
        .n = 2, .samples = 2, .blocks = 2, .average = true, .decay = 0.75F, .reports_left_out = true};
    const std::vector<float> good{1, 2, 3, 4, 5, 6, 7, 8};
    for (const float bad : {kNan, kInfinity, -kInfinity, 3e30F}) {  // the last one's square overflows
        std::vector<float> half_bad = good;
        half_bad[5] = bad;
        const std::vector<Step> steps{{.x = half_bad, .first = true}, {.x = good}, {.x = half_bad}, {.x = good}};
        ASSERT_OK_AND_ASSIGN(const auto got, run_steps(desc, steps));
        const auto twin = twins_of(desc, steps);
        for (std::size_t i = 0; i < steps.size(); ++i) {
            EXPECT_THAT(got[i].covariance, ElementsAreArray(twin[i].covariance)) << bad << ", step " << i;
            EXPECT_THAT(got[i].left_out, ElementsAre(0U, i % 2 == 0 ? 1U : 0U)) << bad << ", step " << i;
            EXPECT_EQ(got[i].left_out, twin[i].left_out) << bad << ", step " << i;
        }
        EXPECT_THAT(got[2].covariance, ElementsAre(5, 7, 7, 10, 9.25F, 10.75F, 10.75F, 12.5F)) << bad;
        EXPECT_THAT(got[0].covariance, ElementsAre(5, 7, 7, 10, 0, 0, 0, 0)) << bad;
    }
}

TEST_P(covariance, bad_descriptions_are_refused) {
    const auto refused = [&](const CovarianceDesc& desc, const char* words) {
        return expect_error(plan_covariance(device(), desc), ErrorKind::BadInput, words);
    };
    EXPECT_TRUE(refused({.n = 1025, .samples = 1}, "n of [covariance] is 1025"));
    EXPECT_TRUE(refused({.n = 5, .samples = 2, .stride = 4}, "The stride of x of [covariance] is 4"));
    for (const float decay : {-0.1F, 1.0F, kInfinity, kNan}) {
        EXPECT_TRUE(refused({.n = 1, .samples = 1, .average = true, .decay = decay}, "decay of [covariance]"));
    }
    for (const float damping : {-1.0F, 0x1p-41F, 0x1p41F, kInfinity, kNan}) {
        EXPECT_TRUE(refused({.n = 1, .samples = 1, .damping = damping}, "damping of [covariance]"));
    }
    EXPECT_TRUE(refused({.damping_kind = static_cast<CovarianceDamping>(3)},
                        "damping of [covariance] is 3; it is none, relative or absolute"));
    EXPECT_TRUE(refused({.n = 1024, .samples = 1, .blocks = 0xFFFFFFFFU}, "The views of [covariance] take"));
    EXPECT_TRUE(refused({.n = 2, .samples = 0xFFFFFFFFU}, "planning [covariance]"));
    EXPECT_TRUE(refused({.n = 8, .samples = 8, .config = MatmulConfig{.split_k = 4}}, "Exact sums are not split"));
}

TEST_P(covariance, wrong_views_are_refused) {
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, device().create_buffer({.size_bytes = 4096, .label = "small"}));
    ASSERT_OK_AND_ASSIGN(
        const CovariancePlan plan,
        plan_covariance(
            device(),
            {.n = 4, .samples = 3, .blocks = 2, .average = true, .damping_kind = CovarianceDamping::Relative}));
    EXPECT_EQ(plan.scratch().size_bytes, 768U);
    const CovarianceViews right{.x = {buffer, 0, 96}, .covariance = {buffer, 256, 128}, .damped = {buffer, 512, 128}};
    const BufferView scratch(buffer, 1024, 768);
    const auto refused = [&](BufferView CovarianceViews::*view, const BufferView& wrong, const char* words) {
        CovarianceViews views = right;
        views.*view = wrong;
        return expect_error(plan.bind(views, scratch), ErrorKind::BadInput, words);
    };
    EXPECT_OK(plan.bind(right, scratch));
    EXPECT_TRUE(refused(&CovarianceViews::x, {buffer, 0, 92}, "the x view of [covariance]"));
    EXPECT_TRUE(refused(&CovarianceViews::covariance, {buffer, 260, 128}, "the covariance view"));
    EXPECT_TRUE(refused(&CovarianceViews::damped, {}, "the damped view"));
    EXPECT_TRUE(refused(&CovarianceViews::damped, {buffer, 0, 128}, "shares bytes"));
    EXPECT_TRUE(expect_error(plan.bind(right, {buffer, 1024, 256}), ErrorKind::BadInput, "the scratch view"));
}

TEST_P(covariance, nothing_is_dispatched_for_no_elements) {
    for (const CovarianceDesc& desc :
         {CovarianceDesc{.n = 0, .samples = 3}, CovarianceDesc{.n = 3, .samples = 3, .blocks = 0}}) {
        ASSERT_OK(run(desc, {}));
        EXPECT_EQ(dispatches_, 0U);
    }
}

}  // namespace
}  // namespace yolk
