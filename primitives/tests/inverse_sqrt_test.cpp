// SPDX-License-Identifier: Apache-2.0
#include "yolk/inverse_sqrt.hpp"

#include <gmock/gmock.h>

#include <vector>

#include "row_device.hpp"
#include "special_floats.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using testing::expect_error;

class inverse_sqrt : public testing::DeviceTest {
   protected:
    struct Outputs {
        std::vector<float> out;
        std::vector<std::uint32_t> status;
        std::vector<float> residual;
    };
    Result<Outputs> run(const InverseSqrtDesc& desc, const std::vector<float>& in) {
        const RowBuffers buffers{device(), dispatcher()};
        const std::uint64_t words = desc.n == 0 ? 0 : sizeof(float) * desc.blocks;
        YOLK_TRY(const InverseSqrtPlan plan, plan_inverse_sqrt(device(), desc));
        YOLK_TRY(const auto in_buffer, buffers.filled(in, "in"));
        YOLK_TRY(const auto out, buffers.empty(sizeof(float) * in.size(), "out"));
        YOLK_TRY(const auto status, buffers.empty(words, "status"));
        YOLK_TRY(const auto residual, buffers.empty(words, "residual"));
        YOLK_TRY(const auto scratch, buffers.empty(plan.scratch().size_bytes, "scratch"));
        YOLK_TRY(
            const BoundInverseSqrt bound,
            plan.bind({.in = in_buffer.view(), .out = out.view(), .status = status.view(), .residual = residual.view()},
                      scratch.view()));
        YOLK_TRY(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder);
        dispatches_ = recorder.dispatch_count();
        YOLK_TRY_VOID(dispatcher().run(recorder));
        Outputs outputs;
        YOLK_TRY(outputs.out, out.download<float>());
        YOLK_TRY(outputs.status, status.download<std::uint32_t>());
        YOLK_TRY(outputs.residual, residual.download<float>());
        return outputs;
    }
    std::uint64_t dispatches_ = 0;
};
YOLK_FOR_EACH_DEVICE(inverse_sqrt);

TEST_P(inverse_sqrt, of_powers_of_four_is_exact) {
    ASSERT_OK_AND_ASSIGN(const Outputs got, run({.n = 2, .blocks = 2}, {1, 0, 0, 1, 0.25F, 0, 0, 0.25F}));
    EXPECT_THAT(got.out, ElementsAre(1, 0, 0, 1, 2, 0, 0, 2));
    EXPECT_THAT(got.status, Each(1U << 8U));  // converged at once
    EXPECT_THAT(got.residual, Each(0.0F));
}

// A matrix function is not the function of the elements: the square of [[.5, .3], [.3, .4]]^-1/2 is its inverse.
TEST_P(inverse_sqrt, is_a_matrix_function) {
    ASSERT_OK_AND_ASSIGN(const Outputs got, run({.n = 2}, {0.5F, 0.3F, 0.3F, 0.4F}));
    const std::vector<float>& z = got.out;
    EXPECT_EQ(inverse_sqrt_status(got.status[0]), InverseSqrtStatus::Converged);
    EXPECT_NEAR(z[0] * z[0] + z[1] * z[1], 0.4F / 0.11F, 2e-5F);
    EXPECT_NEAR(z[0] * z[1] + z[1] * z[3], -0.3F / 0.11F, 2e-5F);
    EXPECT_NEAR(z[1] * z[1] + z[3] * z[3], 0.5F / 0.11F, 2e-5F);
}

// Blocks that have converged stay as they are, however many iterations follow.
TEST_P(inverse_sqrt, converged_blocks_do_not_move) {
    const std::vector<float> in{2, 1, 1, 3};
    ASSERT_OK_AND_ASSIGN(const Outputs few, run({.n = 2, .max_iterations = 12}, in));
    ASSERT_OK_AND_ASSIGN(const Outputs many, run({.n = 2, .max_iterations = 201}, in));
    EXPECT_EQ(few.out, many.out);
    EXPECT_EQ(few.status, many.status);
    EXPECT_EQ(few.residual, many.residual);
    EXPECT_EQ(inverse_sqrt_status(few.status[0]), InverseSqrtStatus::Converged);
}

TEST_P(inverse_sqrt, bad_descriptions_are_refused) {
    const auto refused = [&](const InverseSqrtDesc& desc, const char* words) {
        return expect_error(plan_inverse_sqrt(device(), desc), ErrorKind::BadInput, words);
    };
    EXPECT_TRUE(refused({.n = 1025}, "n of [inverse_sqrt] is 1025"));
    for (const float damping : {-1.0F, 0x1p-41F, 0x1p41F, kInfinity, kNan}) {
        EXPECT_TRUE(refused({.n = 1, .damping = damping}, "damping of [inverse_sqrt]"));
    }
    for (const std::uint32_t iterations : {0U, 257U}) {
        EXPECT_TRUE(refused({.n = 1, .max_iterations = iterations}, "max_iterations of [inverse_sqrt]"));
    }
    for (const float tolerance : {0.0F, 0x1p-21F, 0.5F, -1.0F, kNan}) {
        EXPECT_TRUE(refused({.n = 1, .tolerance = tolerance}, "tolerance of [inverse_sqrt]"));
    }
    EXPECT_TRUE(refused({.n = 1024, .blocks = 0xFFFFFFFFU}, "The views of [inverse_sqrt] take"));
    EXPECT_TRUE(refused({.n = 8, .config = MatmulConfig{.split_k = 4}}, "Exact sums are not split"));
}

TEST_P(inverse_sqrt, wrong_views_are_refused) {
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, device().create_buffer({.size_bytes = 8192, .label = "small"}));
    ASSERT_OK_AND_ASSIGN(const InverseSqrtPlan plan, plan_inverse_sqrt(device(), {.n = 4, .blocks = 2}));
    EXPECT_EQ(plan.scratch().size_bytes, 7U * 256);
    const InverseSqrtViews right{
        .in = {buffer, 0, 128}, .out = {buffer, 256, 128}, .status = {buffer, 512, 8}, .residual = {buffer, 768, 8}};
    const BufferView scratch(buffer, 1024, 7 * 256);
    const auto refused = [&](BufferView InverseSqrtViews::*view, const BufferView& wrong, const char* words) {
        InverseSqrtViews views = right;
        views.*view = wrong;
        return expect_error(plan.bind(views, scratch), ErrorKind::BadInput, words);
    };
    EXPECT_OK(plan.bind(right, scratch));
    EXPECT_TRUE(refused(&InverseSqrtViews::in, {buffer, 0, 124}, "the in view of [inverse_sqrt]"));
    EXPECT_TRUE(refused(&InverseSqrtViews::out, {buffer, 0, 128}, "shares bytes"));
    EXPECT_TRUE(refused(&InverseSqrtViews::status, {buffer, 512, 4}, "the status view"));
    EXPECT_TRUE(refused(&InverseSqrtViews::residual, {}, "the residual view"));
    EXPECT_TRUE(expect_error(plan.bind(right, {buffer, 1024, 6 * 256}), ErrorKind::BadInput, "the scratch view"));
}

TEST_P(inverse_sqrt, nothing_is_dispatched_for_no_elements) {
    for (const InverseSqrtDesc& desc : {InverseSqrtDesc{.n = 0}, InverseSqrtDesc{.n = 3, .blocks = 0}}) {
        ASSERT_OK(run(desc, {}));
        EXPECT_EQ(dispatches_, 0U);
    }
}

}  // namespace
}  // namespace yolk
