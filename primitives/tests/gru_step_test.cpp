// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/gru_step.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <vector>

#include "row_device.hpp"
#include "special_floats.hpp"
#include "yolk/reference/gru_step.hpp"
#include "yolk/testing/device_test.hpp"

namespace yolk {
namespace {

using ::testing::ElementsAre;

class gru_step : public testing::DeviceTest {
   protected:
    struct Outcome {
        std::vector<std::uint32_t> gate, gated_state, next_state;
    };
    Result<Outcome> run(const GruStepDesc& desc, const reference::GruStepInputs& inputs) {
        const RowBuffers buffers{device(), dispatcher()};
        const std::uint64_t size_bytes = sizeof(float) * inputs.state.size();
        YOLK_TRY(const auto gate_input, buffers.filled(inputs.gate_input, "gru_step.gate_input"));
        YOLK_TRY(const auto candidate_input, buffers.filled(inputs.candidate_input, "gru_step.candidate_input"));
        YOLK_TRY(const auto state, buffers.filled(inputs.state, "gru_step.state"));
        YOLK_TRY(const auto gate, buffers.empty(size_bytes, "gru_step.gate"));
        YOLK_TRY(const auto gated_state, buffers.empty(size_bytes, "gru_step.gated_state"));
        YOLK_TRY(const auto next_state, buffers.empty(size_bytes, "gru_step.next_state"));
        YOLK_TRY(const GruStepPlan plan, plan_gru_step(device(), desc));
        YOLK_TRY(const BoundGruStep bound, plan.bind({.gate_input = gate_input.view(),
                                                      .gate_bias = {},
                                                      .candidate_input = candidate_input.view(),
                                                      .candidate_bias = {},
                                                      .state = state.view(),
                                                      .gate = gate.view(),
                                                      .gated_state = gated_state.view(),
                                                      .next_state = next_state.view()}));
        YOLK_TRY(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder, GruStepHalf::Gate);
        recorder.barrier(Barrier::ComputeToCompute);
        bound.record(recorder, GruStepHalf::Update);
        YOLK_TRY_VOID(dispatcher().run(recorder));
        Outcome outcome;
        YOLK_TRY(outcome.gate, gate.download<std::uint32_t>());
        YOLK_TRY(outcome.gated_state, gated_state.download<std::uint32_t>());
        YOLK_TRY(outcome.next_state, next_state.download<std::uint32_t>());
        return outcome;
    }
};
YOLK_FOR_EACH_DEVICE(gru_step);

// A closed gate keeps the state, bit by bit; an open one takes the candidate.
TEST_P(gru_step, gates_keep_or_replace_the_state) {
    const std::vector<float> state{0.75F, -0.3F, 0.75F, -0.3F};
    ASSERT_OK_AND_ASSIGN(const Outcome got,
                         run({.rows = 1, .columns = 4}, {.gate_input = {-80.0F, -80.0F, 80.0F, 80.0F},
                                                         .gate_bias = {},
                                                         .candidate_input = {0.5F, 0.5F, 0.5F, -9.0F},
                                                         .candidate_bias = {},
                                                         .state = state}));
    EXPECT_EQ(std::bit_cast<float>(got.next_state[0]), state[0]);
    EXPECT_EQ(std::bit_cast<float>(got.next_state[1]), state[1]);
    EXPECT_EQ(std::bit_cast<float>(got.gated_state[0]), 0.0F);
    EXPECT_NEAR(std::bit_cast<float>(got.next_state[2]), std::tanh(0.5F), 2e-6F);
    EXPECT_NEAR(std::bit_cast<float>(got.next_state[3]), -1.0F, 2e-6F);
    EXPECT_NEAR(std::bit_cast<float>(got.gated_state[3]), state[3], 1e-6F);
}

TEST_P(gru_step, inputs_that_are_not_finite) {
    ASSERT_OK_AND_ASSIGN(const Outcome got,
                         run({.rows = 1, .columns = 6}, {.gate_input = {kNan, kInfinity, -kInfinity, 0.0F, 0.0F, 0.0F},
                                                         .gate_bias = {},
                                                         .candidate_input = {0.0F, 0.0F, 0.0F, kInfinity, 0.0F, 0.0F},
                                                         .candidate_bias = {},
                                                         .state = {0.5F, 0.5F, 0.5F, 0.0F, kNan, kInfinity}}));
    EXPECT_THAT(got.gate, ElementsAre(kNanBits, 0x3F800000U, 0U, 0x3F000000U, 0x3F000000U, 0x3F000000U));
    EXPECT_EQ(got.gated_state[0], kNanBits);
    EXPECT_EQ(got.next_state[0], kNanBits);
    EXPECT_EQ(std::bit_cast<float>(got.next_state[1]), 0.0F);
    EXPECT_EQ(std::bit_cast<float>(got.next_state[2]), 0.5F);
    EXPECT_NEAR(std::bit_cast<float>(got.next_state[3]), 0.5F, 2e-6F);
    EXPECT_EQ(got.gated_state[4], kNanBits);
    EXPECT_EQ(got.next_state[4], kNanBits);
    EXPECT_EQ(got.gated_state[5], 0x7F800000U);
    EXPECT_EQ(got.next_state[5], kNanBits);  // infinity minus infinity
}

TEST_P(gru_step, bad_descriptions_are_refused) {
    const auto refused = [&](const GruStepDesc& desc, const char* words) {
        return testing::expect_error(plan_gru_step(device(), desc), ErrorKind::BadInput, words);
    };
    EXPECT_TRUE(refused({.gate_bias = static_cast<RowVector>(3)}, "gate_bias of [gru_step]"));
    EXPECT_TRUE(refused({.candidate_bias = static_cast<RowVector>(9)}, "candidate_bias of [gru_step]"));
    EXPECT_TRUE(
        refused({.members = 0xFFFFFFFFU, .rows = 0xFFFFFFFFU, .columns = 2}, "the gate_input view of [gru_step]"));
    EXPECT_TRUE(refused({.rows = 0x40000000U, .columns = 1}, "the gate_input view of [gru_step]"));
    EXPECT_TRUE(refused({.config = GruStepConfig{.workgroup_size = 257}}, "workgroup_size"));
    EXPECT_TRUE(refused({.config = GruStepConfig{.elements_per_invocation = 3}}, "elements_per_invocation"));
}

TEST_P(gru_step, wrong_views_are_refused) {
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, device().create_buffer({.size_bytes = 4096, .label = "small"}));
    ASSERT_OK_AND_ASSIGN(const GruStepPlan plan, plan_gru_step(device(), {.members = 2,
                                                                          .rows = 8,
                                                                          .columns = 4,
                                                                          .gate_bias = RowVector::PerMember,
                                                                          .candidate_bias = RowVector::Shared}));
    const auto view = [&](std::uint64_t place, std::uint64_t size_bytes) {
        return BufferView(buffer, 256 * place, size_bytes);
    };
    const GruStepViews right{.gate_input = view(0, 256),
                             .gate_bias = view(1, 32),
                             .candidate_input = view(2, 256),
                             .candidate_bias = view(3, 16),
                             .state = view(4, 256),
                             .gate = view(5, 256),
                             .gated_state = view(6, 256),
                             .next_state = view(7, 256)};
    const auto refused = [&](BufferView GruStepViews::*which, const BufferView& wrong, const char* words) {
        GruStepViews views = right;
        views.*which = wrong;
        return testing::expect_error(plan.bind(views), ErrorKind::BadInput, words);
    };
    EXPECT_OK(plan.bind(right));
    EXPECT_TRUE(refused(&GruStepViews::gate_input, view(0, 252), "the gate_input view"));
    EXPECT_TRUE(refused(&GruStepViews::gate_bias, view(1, 28), "the gate_bias view"));
    EXPECT_TRUE(refused(&GruStepViews::candidate_input, view(2, 252), "the candidate_input view"));
    EXPECT_TRUE(refused(&GruStepViews::candidate_bias, {}, "the candidate_bias view"));
    EXPECT_TRUE(refused(&GruStepViews::state, BufferView(buffer, 1028, 256), "the state view"));
    EXPECT_TRUE(refused(&GruStepViews::gate, view(5, 252), "the gate view"));
    EXPECT_TRUE(refused(&GruStepViews::gated_state, view(5, 256), "share"));
    EXPECT_TRUE(refused(&GruStepViews::next_state, view(4, 256), "share"));
}

TEST_P(gru_step, nothing_is_dispatched_for_no_elements) {
    for (const GruStepDesc& desc :
         {GruStepDesc{.rows = 0, .columns = 3, .gate_bias = RowVector::Shared}, GruStepDesc{.rows = 3, .columns = 0},
          GruStepDesc{.members = 0, .rows = 3, .columns = 3}}) {
        ASSERT_OK_AND_ASSIGN(const GruStepPlan plan, plan_gru_step(device(), desc));
        ASSERT_OK_AND_ASSIGN(const BoundGruStep bound, plan.bind({}));
        ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder, GruStepHalf::Gate);
        bound.record(recorder, GruStepHalf::Update);
        EXPECT_EQ(recorder.dispatch_count(), 0U);
    }
}

}  // namespace
}  // namespace yolk
