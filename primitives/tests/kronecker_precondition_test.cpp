// SPDX-License-Identifier: Apache-2.0
#include "yolk/kronecker_precondition.hpp"

#include <gmock/gmock.h>

#include <vector>

#include "row_device.hpp"
#include "special_floats.hpp"
#include "yolk/block_inverse.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;
using ::testing::FloatNear;

class kronecker_precondition : public testing::DeviceTest {
   protected:
    struct Outputs {
        std::vector<float> step;
        std::vector<std::uint32_t> status;
    };
    Result<Outputs> run(const KroneckerPreconditionDesc& desc, const std::vector<float>& factor_out,
                        const std::vector<float>& factor_in, const std::vector<float>& gradient, float damping) {
        const RowBuffers buffers{device(), dispatcher()};
        const bool has_status = desc.factors == KroneckerFactors::Covariances && !gradient.empty();
        YOLK_TRY(const KroneckerPreconditionPlan plan, plan_kronecker_precondition(device(), desc));
        YOLK_TRY(const auto out, buffers.filled(factor_out, "factor_out"));
        YOLK_TRY(const auto in, buffers.filled(factor_in, "factor_in"));
        YOLK_TRY(const auto given, buffers.filled(gradient, "gradient"));
        YOLK_TRY(const auto step, buffers.empty(sizeof(float) * gradient.size(), "step"));
        YOLK_TRY(const auto status, buffers.empty(has_status ? sizeof(float) * desc.blocks : 0, "status"));
        YOLK_TRY(const auto scratch, buffers.empty(plan.scratch().size_bytes, "scratch"));
        YOLK_TRY(const BoundKroneckerPrecondition bound, plan.bind({.factor_out = out.view(),
                                                                    .factor_in = in.view(),
                                                                    .gradient = given.view(),
                                                                    .step = step.view(),
                                                                    .status = status.view()},
                                                                   scratch.view()));
        YOLK_TRY(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder, damping);
        dispatches_ = recorder.dispatch_count();
        YOLK_TRY_VOID(dispatcher().run(recorder));
        Outputs outputs;
        YOLK_TRY(outputs.step, step.download<float>());
        YOLK_TRY(outputs.status, status.download<std::uint32_t>());
        return outputs;
    }
    std::uint64_t dispatches_ = 0;
};
YOLK_FOR_EACH_DEVICE(kronecker_precondition);

TEST_P(kronecker_precondition, of_diagonal_factors) {
    const KroneckerPreconditionDesc desc{.n_out = 2, .n_in = 2};
    ASSERT_OK_AND_ASSIGN(const Outputs got, run(desc, {2, 0, 0, 4}, {0.5F, 0, 0, 0.25F}, {1, 1, 1, 1}, 0.0F));
    EXPECT_THAT(got.step, ElementsAre(1, 2, 0.5F, 1));
    EXPECT_THAT(got.status, ElementsAre(0U));
}

// S_in = 4 and S_out = 1 have pi = 2, so that a damping of 1/4 adds 1 to S_in and 1/4 to S_out.
TEST_P(kronecker_precondition, damping_is_shared_by_the_traces) {
    const KroneckerPreconditionDesc desc{.n_out = 1, .n_in = 1};
    ASSERT_OK_AND_ASSIGN(const Outputs got, run(desc, {1}, {4}, {6.25F}, 0.25F));
    EXPECT_THAT(got.step, ElementsAre(FloatNear(1, 1e-6F)));
    // A trace of zero: pi = 1, each factor gets sqrt(1/4).
    ASSERT_OK_AND_ASSIGN(const Outputs zero, run(desc, {1.5F}, {0}, {1}, 0.25F));
    EXPECT_THAT(zero.step, ElementsAre(FloatNear(1, 1e-6F)));
    EXPECT_THAT(zero.status, ElementsAre(0U));
}

TEST_P(kronecker_precondition, a_failed_block_leaves_its_neighbours_alone) {
    const KroneckerPreconditionDesc desc{.n_out = 1, .n_in = 1, .blocks = 4};
    ASSERT_OK_AND_ASSIGN(const Outputs got, run(desc, {2, 2, -2, 2}, {2, kNan, 2, 2}, {4, 4, 4, 4}, 0.0F));
    EXPECT_THAT(got.step, ElementsAre(1, 0, 0, 1));
    EXPECT_EQ(got.status[0], 0U);
    EXPECT_EQ(got.status[1] & 0xFFU, kKroneckerInFailed);
    EXPECT_EQ(kronecker_in_status(got.status[1]), static_cast<std::uint32_t>(BlockStatus::NotFinite));
    EXPECT_EQ(got.status[2] & 0xFFU, kKroneckerOutFailed);
    EXPECT_EQ(kronecker_out_status(got.status[2]), static_cast<std::uint32_t>(BlockStatus::Indefinite));
    EXPECT_EQ(got.status[3], 0U);
}

TEST_P(kronecker_precondition, inverses_are_taken_as_they_are) {
    const KroneckerPreconditionDesc desc{.n_out = 2, .n_in = 1, .factors = KroneckerFactors::Inverses};
    ASSERT_OK_AND_ASSIGN(const Outputs got, run(desc, {1, 2, 2, 3}, {10}, {1, 1}, 1.0F));
    EXPECT_THAT(got.step, ElementsAre(30, 50));
    EXPECT_EQ(dispatches_, 2U);
}

TEST_P(kronecker_precondition, bad_descriptions_are_refused) {
    const auto refused = [&](const KroneckerPreconditionDesc& desc, const char* words) {
        return expect_error(plan_kronecker_precondition(device(), desc), ErrorKind::BadInput, words);
    };
    EXPECT_TRUE(refused({.n_out = 1025, .n_in = 1}, "n_out of [kronecker_precondition] is 1025"));
    EXPECT_TRUE(refused({.n_out = 1, .n_in = 1025}, "n_in of [kronecker_precondition] is 1025"));
    EXPECT_TRUE(
        refused({.n_out = 1024, .n_in = 1024, .blocks = 0xFFFFFFFFU}, "The views of [kronecker_precondition] take"));
    EXPECT_TRUE(refused({.factors = static_cast<KroneckerFactors>(2)},
                        "factors of [kronecker_precondition] is 2; it is covariances or inverses"));
    EXPECT_TRUE(refused({.n_out = 8, .n_in = 8, .config = MatmulConfig{.split_k = 4}}, "Exact sums are not split"));
}

TEST_P(kronecker_precondition, wrong_views_are_refused) {
    ASSERT_OK_AND_ASSIGN(const KroneckerPreconditionPlan plan,
                         plan_kronecker_precondition(device(), {.n_out = 2, .n_in = 4, .blocks = 2}));
    const std::uint64_t scratch_bytes = plan.scratch().size_bytes;
    ASSERT_OK_AND_ASSIGN(const Buffer buffer,
                         device().create_buffer({.size_bytes = 2048 + scratch_bytes, .label = "small"}));
    const KroneckerPreconditionViews right{.factor_out = {buffer, 0, 32},
                                           .factor_in = {buffer, 256, 128},
                                           .gradient = {buffer, 512, 64},
                                           .step = {buffer, 768, 64},
                                           .status = {buffer, 1024, 8}};
    const BufferView scratch(buffer, 2048, scratch_bytes);
    const auto refused = [&](BufferView KroneckerPreconditionViews::*view, const BufferView& wrong, const char* words) {
        KroneckerPreconditionViews views = right;
        views.*view = wrong;
        return expect_error(plan.bind(views, scratch), ErrorKind::BadInput, words);
    };
    EXPECT_OK(plan.bind(right, scratch));
    EXPECT_TRUE(refused(&KroneckerPreconditionViews::factor_out, {buffer, 0, 28}, "the factor_out view"));
    EXPECT_TRUE(refused(&KroneckerPreconditionViews::factor_in, {}, "the factor_in view"));
    EXPECT_TRUE(refused(&KroneckerPreconditionViews::gradient, {buffer, 516, 64}, "the gradient view"));
    EXPECT_TRUE(refused(&KroneckerPreconditionViews::step, {buffer, 512, 64}, "shares bytes"));
    EXPECT_TRUE(refused(&KroneckerPreconditionViews::status, {}, "the status view"));
    EXPECT_TRUE(
        expect_error(plan.bind(right, {buffer, 2048, scratch_bytes - 256}), ErrorKind::BadInput, "the scratch view"));
}

TEST_P(kronecker_precondition, nothing_is_dispatched_for_no_elements) {
    for (const KroneckerPreconditionDesc& desc :
         {KroneckerPreconditionDesc{.n_out = 0, .n_in = 3}, KroneckerPreconditionDesc{.n_out = 3, .n_in = 0},
          KroneckerPreconditionDesc{.n_out = 3, .n_in = 3, .blocks = 0}}) {
        ASSERT_OK(run(desc, {}, {}, {}, 1.0F));
        EXPECT_EQ(dispatches_, 0U);
    }
}

}  // namespace
}  // namespace yolk
