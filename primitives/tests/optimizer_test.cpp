// SPDX-License-Identifier: Apache-2.0
// optimizer beyond its check table: hand-computed steps, runs of many steps, bad input.
#include "yolk/optimizer.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "yolk/internal/testing/device_test.hpp"
#include "yolk/twin.hpp"

namespace yolk {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using testing::expect_error;

class optimizer : public testing::DeviceTest {
   protected:
    /// `steps` steps with the same gradient from zero state; parameters are returned, state comes back through the
    /// argument.
    Result<std::vector<float>> run_steps(const OptimizerDesc& desc, const std::vector<float>& gradient,
                                         std::vector<float> parameters, std::vector<float>& state, float learning_rate,
                                         std::uint32_t steps) const {
        const std::uint64_t bytes = std::uint64_t{4} * desc.element_count;
        YOLK_TRY(const Buffer gradients, device().create_buffer({.size_bytes = bytes, .label = "gradient"}));
        YOLK_TRY(const Buffer weights, device().create_buffer({.size_bytes = bytes, .label = "parameters"}));
        YOLK_TRY(const Buffer states,
                 device().create_buffer({.size_bytes = 4 * std::max<std::size_t>(1, state.size()), .label = "state"}));
        YOLK_TRY_VOID(dispatcher().upload(gradients, std::as_bytes(std::span(gradient))));
        YOLK_TRY_VOID(dispatcher().upload(weights, std::as_bytes(std::span(parameters))));
        if (!state.empty()) YOLK_TRY_VOID(dispatcher().upload(states, std::as_bytes(std::span(state))));
        YOLK_TRY(const OptimizerPlan plan, plan_optimizer(device(), desc));
        YOLK_TRY(const BoundOptimizer bound, plan.bind({.gradient = gradients,
                                                        .parameters = weights,
                                                        .state = state.empty() ? BufferView{} : BufferView{states}}));
        YOLK_TRY(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        for (std::uint32_t step = 0; step < steps; ++step) {
            bound.record(recorder, learning_rate, step);
            recorder.barrier(Barrier::ComputeToCompute);
        }
        if (recorder.dispatch_count() != steps) return bad_input("a step must be one dispatch");
        YOLK_TRY_VOID(dispatcher().run(recorder));
        YOLK_TRY_VOID(dispatcher().download(weights, std::as_writable_bytes(std::span(parameters))));
        if (!state.empty()) YOLK_TRY_VOID(dispatcher().download(states, std::as_writable_bytes(std::span(state))));
        return parameters;
    }

    struct Counted {
        std::vector<float> parameters, state;
        std::uint32_t skipped = 0;
    };
    /// A step of each gradient, from a state of zeros.
    Result<Counted> run_counted(const OptimizerDesc& desc, const std::vector<std::vector<float>>& gradients,
                                std::vector<float> parameters, float learning_rate) const {
        const auto buffer_of = [&](const void* values, std::size_t bytes) -> Result<Buffer> {
            YOLK_TRY(Buffer made,
                     device().create_buffer({.size_bytes = std::max<std::size_t>(4, bytes), .label = "values"}));
            if (bytes > 0) YOLK_TRY_VOID(dispatcher().upload(made, {static_cast<const std::byte*>(values), bytes}));
            return made;
        };
        Counted counted{.parameters = std::move(parameters), .state = {}};
        counted.state.resize(std::size_t{desc.element_count} * optimizer_state_arrays(desc.rule));
        const std::size_t state_bytes = 4 * counted.state.size();
        YOLK_TRY(const Buffer weights, buffer_of(counted.parameters.data(), 4 * counted.parameters.size()));
        YOLK_TRY(const Buffer states, buffer_of(counted.state.data(), state_bytes));
        YOLK_TRY(const Buffer skipped, buffer_of(&counted.skipped, 4));
        YOLK_TRY(const OptimizerPlan plan, plan_optimizer(device(), desc));
        for (std::uint32_t step = 0; step < gradients.size(); ++step) {
            YOLK_TRY(const Buffer gradient, buffer_of(gradients[step].data(), 4 * gradients[step].size()));
            YOLK_TRY(const BoundOptimizer bound,
                     plan.bind({.gradient = gradient,
                                .parameters = weights,
                                .state = state_bytes == 0 ? BufferView{} : BufferView{states},
                                .skipped = skipped}));
            YOLK_TRY(Recorder recorder, Recorder::create(device()));
            recorder.begin();
            bound.record(recorder, learning_rate, step);
            YOLK_TRY_VOID(dispatcher().run(recorder));
        }
        YOLK_TRY_VOID(dispatcher().download(weights, std::as_writable_bytes(std::span(counted.parameters))));
        YOLK_TRY_VOID(dispatcher().download(skipped, std::as_writable_bytes(std::span(&counted.skipped, 1))));
        if (state_bytes > 0)
            YOLK_TRY_VOID(dispatcher().download(states, std::as_writable_bytes(std::span(counted.state))));
        return counted;
    }
};
YOLK_FOR_EACH_DEVICE(optimizer);

TEST_P(optimizer, sgd_and_momentum_by_hand) {
    std::vector<float> none;
    const OptimizerDesc sgd{.rule = OptimizerRule::Sgd, .element_count = 3, .config = {}};
    ASSERT_OK_AND_ASSIGN(const auto stepped, run_steps(sgd, {1.0F, -2.0F, 0.0F}, {0.5F, 0.5F, 0.5F}, none, 0.25F, 2));
    EXPECT_THAT(stepped, ElementsAre(1.0F, -0.5F, 0.5F));
    std::vector<float> moments(1, 0.0F);
    const OptimizerDesc momentum{.rule = OptimizerRule::Momentum, .element_count = 1, .beta1 = 0.5F, .config = {}};
    ASSERT_OK_AND_ASSIGN(const auto moved, run_steps(momentum, {4.0F}, {0.0F}, moments, 0.5F, 3));
    EXPECT_THAT(moments, ElementsAre(7.0F));  // 4, 6, 7
    EXPECT_THAT(moved, ElementsAre(8.5F));    // (4 + 6 + 7) / 2
}

TEST_P(optimizer, first_adam_step_has_the_size_of_the_learning_rate) {
    std::vector<float> moments(6, 0.0F);
    const OptimizerDesc adam{.rule = OptimizerRule::Adam, .element_count = 3, .config = {}};
    ASSERT_OK_AND_ASSIGN(const auto stepped,
                         run_steps(adam, {1e-3F, -50.0F, 0.0F}, {0.0F, 0.0F, 0.0F}, moments, 0.1F, 1));
    EXPECT_NEAR(stepped[0], 0.1F, 0.1F * 1.2e-5F);  // epsilon is 1e-5 of the gradient
    EXPECT_NEAR(stepped[1], -0.1F, 0.1F * 1e-6F);   // about twelve roundings of 6e-8
    EXPECT_EQ(stepped[2], 0.0F);
}

TEST_P(optimizer, many_steps_keep_the_bits_of_the_twin) {
    for (const OptimizerRule rule : {OptimizerRule::Sgd, OptimizerRule::Momentum, OptimizerRule::Adam}) {
        const OptimizerDesc desc{.rule = rule, .element_count = 5, .config = OptimizerConfig{.workgroup_size = 4}};
        const std::vector<float> gradient{0.3F, -1e-7F, 1e4F, 7e-20F, -0.01F};
        std::vector<float> state(desc.element_count * optimizer_state_arrays(rule), 0.0F);
        std::vector<float> twin_state = state;
        std::vector<float> twin(desc.element_count, 0.125F);
        ASSERT_OK_AND_ASSIGN(const auto parameters, run_steps(desc, gradient, twin, state, 0.01F, 40));
        for (std::uint32_t step = 0; step < 40; ++step)
            reference::twin_of(desc, {gradient, twin, twin_state}, 0.01F, step);
        EXPECT_THAT(parameters, ElementsAreArray(twin)) << to_string(rule);
        EXPECT_THAT(state, ElementsAreArray(twin_state)) << to_string(rule);
    }
}

TEST_P(optimizer, parameters_below_the_operand_floor_become_zero) {
    std::vector<float> none;
    const OptimizerDesc desc{.rule = OptimizerRule::Sgd, .element_count = 3, .config = {}};
    ASSERT_OK_AND_ASSIGN(const auto stepped,
                         run_steps(desc, {0.0F, 0.0F, -1.0F}, {0x1p-41F, 0x1p-40F, 1.0F}, none, 1.0F, 1));
    EXPECT_THAT(stepped, ElementsAre(0.0F, 0x1p-40F, 0.0F));
}

TEST_P(optimizer, adam_survives_gradients_whose_squares_overflow) {
    std::vector<float> moments(4, 0.0F);
    const OptimizerDesc adam{.rule = OptimizerRule::Adam, .element_count = 2, .config = {}};
    ASSERT_OK_AND_ASSIGN(const auto stepped, run_steps(adam, {3e38F, -1e30F}, {0.0F, 0.0F}, moments, 0.1F, 3));
    EXPECT_NEAR(stepped[0], 0.3F, 0.3F * 1e-6F);
    EXPECT_NEAR(stepped[1], -0.3F, 0.3F * 1e-6F);
}

// One bad step between good ones: the elements that it would spoil stay as they were, the others move, and the next
// step finds nothing of it.
TEST_P(optimizer, a_step_that_is_not_finite_is_skipped_and_counted) {
    constexpr float kBadGradients[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                                       -std::numeric_limits<float>::infinity()};
    for (const OptimizerRule rule : {OptimizerRule::Sgd, OptimizerRule::Momentum, OptimizerRule::Adam}) {
        const OptimizerDesc desc{.rule = rule, .element_count = 4, .counts_skipped = true, .config = {}};
        for (const float bad : kBadGradients) {
            const std::vector<float> good{0.3F, -2.0F, 0.0F, 5.0F};
            std::vector<float> half_bad = good;
            half_bad[1] = half_bad[3] = bad;
            const std::vector<std::vector<float>> gradients{good, half_bad, good, half_bad, good};
            ASSERT_OK_AND_ASSIGN(const Counted got, run_counted(desc, gradients, std::vector<float>(4, 0.125F), 0.01F));
            EXPECT_EQ(got.skipped, 4U) << to_string(rule) << ' ' << bad;
            std::vector<float> twin(4, 0.125F);
            std::vector<float> twin_state(4 * optimizer_state_arrays(rule), 0.0F);
            std::uint32_t counted = 0;
            for (std::uint32_t step = 0; step < gradients.size(); ++step)
                reference::twin_of(desc, {gradients[step], twin, twin_state, counted}, 0.01F, step);
            EXPECT_EQ(counted, 4U);
            EXPECT_THAT(got.parameters, ElementsAreArray(twin)) << to_string(rule) << ' ' << bad;
            EXPECT_THAT(got.state, ElementsAreArray(twin_state)) << to_string(rule) << ' ' << bad;
            for (const float value : got.parameters) EXPECT_TRUE(std::isfinite(value) && std::abs(value) < 10.0F);
        }
    }
}

// Finite gradients whose results are not.
TEST_P(optimizer, results_that_overflow_are_skipped) {
    const OptimizerDesc momentum{
        .rule = OptimizerRule::Momentum, .element_count = 2, .counts_skipped = true, .config = {}};
    const std::vector<float> huge{3e38F, 1.0F};
    ASSERT_OK_AND_ASSIGN(const Counted moved, run_counted(momentum, {huge, huge}, {0.0F, 0.0F}, 0x1p-120F));
    EXPECT_EQ(moved.skipped, 1U);  // the second moment of the first element
    EXPECT_EQ(moved.state[0], 3e38F);
    EXPECT_EQ(moved.state[1], 0.9F + 1.0F);
    const OptimizerDesc sgd{.element_count = 2, .counts_skipped = true, .config = {}};
    ASSERT_OK_AND_ASSIGN(const Counted stepped, run_counted(sgd, {huge}, {0.5F, 0.5F}, 10.0F));
    EXPECT_EQ(stepped.skipped, 1U);
    EXPECT_THAT(stepped.parameters, ElementsAre(0.5F, 10.5F));
}

TEST_P(optimizer, refuses_bad_descriptions_and_views) {
    const OptimizerDesc good{.rule = OptimizerRule::Adam, .element_count = 4, .config = {}};
    const auto refused = [&](OptimizerDesc desc, std::string_view part) {
        return expect_error(plan_optimizer(device(), desc), ErrorKind::BadInput, part);
    };
    for (const float beta : {1.0F, -0.1F, std::numeric_limits<float>::quiet_NaN()}) {
        OptimizerDesc desc = good;
        desc.beta1 = beta;
        EXPECT_TRUE(refused(desc, "beta1"));
        desc = good;
        desc.beta2 = beta;
        EXPECT_TRUE(refused(desc, "beta2"));
    }
    for (const float epsilon : {0.0F, -1.0F, 2.0F, std::numeric_limits<float>::infinity()}) {
        OptimizerDesc desc = good;
        desc.epsilon = epsilon;
        EXPECT_TRUE(refused(desc, "epsilon"));
    }
    OptimizerDesc desc = good;
    desc.config = OptimizerConfig{.workgroup_size = 0};
    EXPECT_TRUE(refused(desc, "workgroup_size"));
    ASSERT_OK_AND_ASSIGN(const OptimizerPlan plan, plan_optimizer(device(), good));
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, device().create_buffer({.size_bytes = 2048, .label = "views"}));
    OptimizerViews views{.gradient = {buffer, 0, 16}, .parameters = {buffer, 256, 16}, .state = {buffer, 512, 32}};
    EXPECT_OK(plan.bind(views));
    views.state.size_bytes = 16;
    EXPECT_TRUE(expect_error(plan.bind(views), ErrorKind::BadInput, "state"));
    views.state = {buffer, 256, 32};
    EXPECT_TRUE(expect_error(plan.bind(views), ErrorKind::BadInput, "shares bytes"));
}

TEST(optimizer_rule, names_are_read_back) {
    for (const OptimizerRule rule : {OptimizerRule::Sgd, OptimizerRule::Momentum, OptimizerRule::Adam}) {
        ASSERT_OK_AND_ASSIGN(const OptimizerRule read, parse_optimizer_rule(to_string(rule)));
        EXPECT_EQ(read, rule);
    }
    EXPECT_TRUE(expect_error(parse_optimizer_rule("adamw"), ErrorKind::BadInput, "adamw"));
}

}  // namespace
}  // namespace yolk
