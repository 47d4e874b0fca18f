// SPDX-License-Identifier: Apache-2.0
#include "yolk/natural_gradient.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <numeric>
#include <vector>

#include "row_device.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using testing::expect_error;
using ::testing::FloatNear;

class natural_gradient : public testing::DeviceTest {
   protected:
    struct Outputs {
        std::vector<float> step;
        std::vector<float> preconditioned;
    };
    Result<Outputs> run(NaturalGradientDesc desc, const std::vector<float>& preconditioner,
                        const std::vector<float>& gradient, float learning_rate) {
        const RowBuffers buffers{device(), dispatcher()};
        desc.has_preconditioned = true;
        YOLK_TRY(const NaturalGradientPlan plan, plan_natural_gradient(device(), desc));
        YOLK_TRY(const auto matrix, buffers.filled(preconditioner, "preconditioner"));
        YOLK_TRY(const auto vector, buffers.filled(gradient, "gradient"));
        YOLK_TRY(const auto step, buffers.empty(sizeof(float) * gradient.size(), "step"));
        YOLK_TRY(const auto product, buffers.empty(sizeof(float) * gradient.size(), "preconditioned"));
        YOLK_TRY(const auto scratch, buffers.empty(plan.scratch().size_bytes, "scratch"));
        YOLK_TRY(const BoundNaturalGradient bound, plan.bind({.preconditioner = matrix.view(),
                                                              .gradient = vector.view(),
                                                              .step = step.view(),
                                                              .preconditioned = product.view()},
                                                             scratch.view()));
        YOLK_TRY(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder, learning_rate);
        dispatches_ = recorder.dispatch_count();
        YOLK_TRY_VOID(dispatcher().run(recorder));
        Outputs outputs;
        YOLK_TRY(outputs.step, step.download<float>());
        YOLK_TRY(outputs.preconditioned, product.download<float>());
        return outputs;
    }
    std::uint64_t dispatches_ = 0;
};
YOLK_FOR_EACH_DEVICE(natural_gradient);

TEST_P(natural_gradient, known_steps) {
    ASSERT_OK_AND_ASSIGN(const Outputs identity, run({.n = 2}, {1, 0, 0, 1}, {1, 2}, 0.1F));
    EXPECT_THAT(identity.step, ElementsAre(-0.1F, -0.2F));
    ASSERT_OK_AND_ASSIGN(const Outputs cold, run({.n = 2, .identity = true}, {}, {1, 2}, 0.1F));
    EXPECT_EQ(cold.step, identity.step);
    ASSERT_OK_AND_ASSIGN(const Outputs diagonal, run({.n = 2}, {1, 0, 0, 0.5F}, {10, 10}, 1.0F));
    EXPECT_THAT(diagonal.preconditioned, ElementsAre(10, 5));
    EXPECT_THAT(diagonal.step, ElementsAre(-10, -5));
}

// Zeros of either sign do not tell whether learning had begun.
TEST_P(natural_gradient, a_rate_of_zero_gives_plus_zero) {
    for (const bool identity : {false, true}) {
        const std::vector<float> matrix = identity ? std::vector<float>() : std::vector<float>{1, -2, 3, 4};
        for (const float rate : {0.0F, -0.0F}) {
            ASSERT_OK_AND_ASSIGN(const Outputs got, run({.n = 2, .identity = identity}, matrix, {1, -2}, rate));
            for (const float step : got.step) EXPECT_EQ(std::bit_cast<std::uint32_t>(step), 0U);
        }
    }
}

// The Fisher matrix of a softmax, F = diag(p) - p p^T, has the vector of ones for its null direction. Projected on both
// sides, diag(1/p) is its pseudo-inverse, for F diag(1/p) = I - p 1^T.
TEST_P(natural_gradient, of_a_softmax_has_no_part_along_the_ones) {
    const std::vector<float> inverse{2, 0, 0, 0, 4, 0, 0, 0, 4};
    const std::vector<float> gradient{1, 2, 6};
    ASSERT_OK_AND_ASSIGN(const Outputs got, run({.n = 3, .project_mean = true}, inverse, gradient, 1.0F));
    const std::vector<float>& d = got.preconditioned;
    EXPECT_NEAR(std::accumulate(d.begin(), d.end(), 0.0F), 0.0F, 1e-6F);
    // F d is the gradient less its mean.
    const std::vector<float> p{0.5F, 0.25F, 0.25F};
    const float along = std::inner_product(p.begin(), p.end(), d.begin(), 0.0F);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(p[i] * (d[i] - along), gradient[i] - 3.0F, 1e-5F);
    ASSERT_OK_AND_ASSIGN(const Outputs cold, run({.n = 3, .identity = true, .project_mean = true}, {}, gradient, 1.0F));
    EXPECT_THAT(cold.preconditioned, ElementsAre(FloatNear(-2, 1e-6F), FloatNear(-1, 1e-6F), FloatNear(3, 1e-6F)));
    ASSERT_OK_AND_ASSIGN(const Outputs constant,
                         run({.n = 3, .identity = true, .project_mean = true}, {}, {4, 4, 4}, 1.0F));
    EXPECT_THAT(constant.step, Each(0.0F));
}

TEST_P(natural_gradient, bad_descriptions_are_refused) {
    const auto refused = [&](const NaturalGradientDesc& desc, const char* words) {
        return expect_error(plan_natural_gradient(device(), desc), ErrorKind::BadInput, words);
    };
    EXPECT_TRUE(refused({.n = 0x10000U}, "the preconditioner view of [natural_gradient]"));
    EXPECT_TRUE(refused({.n = 0xFFFFFFFFU, .blocks = 0xFFFFFFFFU, .identity = true}, "the gradient view"));
    EXPECT_TRUE(refused({.n = 0xFFFFFFFFU, .blocks = 0xFFFFFFFFU}, "the preconditioner view"));
    EXPECT_TRUE(refused({.n = 1, .config = RowConfig{.rows_per_workgroup = 3}}, "rows_per_workgroup"));
}

TEST_P(natural_gradient, wrong_views_are_refused) {
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, device().create_buffer({.size_bytes = 4096, .label = "small"}));
    ASSERT_OK_AND_ASSIGN(
        const NaturalGradientPlan plan,
        plan_natural_gradient(device(), {.n = 4, .blocks = 2, .project_mean = true, .has_preconditioned = true}));
    EXPECT_EQ(plan.scratch().size_bytes, 512U);
    const NaturalGradientViews right{.preconditioner = {buffer, 0, 128},
                                     .gradient = {buffer, 256, 32},
                                     .step = {buffer, 512, 32},
                                     .preconditioned = {buffer, 768, 32}};
    const BufferView scratch(buffer, 1024, 512);
    const auto refused = [&](BufferView NaturalGradientViews::*view, const BufferView& wrong, const char* words) {
        NaturalGradientViews views = right;
        views.*view = wrong;
        return expect_error(plan.bind(views, scratch), ErrorKind::BadInput, words);
    };
    EXPECT_OK(plan.bind(right, scratch));
    EXPECT_TRUE(refused(&NaturalGradientViews::preconditioner, {buffer, 0, 124}, "the preconditioner view"));
    EXPECT_TRUE(refused(&NaturalGradientViews::gradient, {}, "the gradient view"));
    EXPECT_TRUE(refused(&NaturalGradientViews::step, {buffer, 516, 32}, "the step view"));
    EXPECT_TRUE(refused(&NaturalGradientViews::preconditioned, {buffer, 256, 32}, "shares bytes"));
    EXPECT_TRUE(expect_error(plan.bind(right, {buffer, 1024, 256}), ErrorKind::BadInput, "the scratch view"));
}

TEST_P(natural_gradient, nothing_is_dispatched_for_no_elements) {
    for (const NaturalGradientDesc& desc : {NaturalGradientDesc{.n = 0}, NaturalGradientDesc{.n = 3, .blocks = 0}}) {
        ASSERT_OK(run(desc, {}, {}, 1.0F));
        EXPECT_EQ(dispatches_, 0U);
    }
}

}  // namespace
}  // namespace yolk
