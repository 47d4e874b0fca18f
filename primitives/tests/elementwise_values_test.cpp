// SPDX-License-Identifier: Apache-2.0
// Operations of elementwise on values by hand: what is small, what is not a number, what overflows; and which buffers
// it takes.
#include <gmock/gmock.h>

#include <bit>
#include <limits>
#include <vector>

#include "elementwise_fixture.hpp"
#include "special_floats.hpp"
#include "yolk/exact/exact_activations.h"
#include "yolk/twin.hpp"

namespace yolk {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using Operands = std::vector<BufferView>;

constexpr float kLargest = std::numeric_limits<float>::max();
constexpr auto kCount = static_cast<std::uint32_t>(enum_words(ElementwiseOperation{}).size());

class elementwise_values : public ElementwiseTest {};
YOLK_FOR_EACH_DEVICE(elementwise_values);

TEST_P(elementwise_values, results_by_hand) {
    using enum ElementwiseOperation;
    const std::vector<float> x{-2.0F, -0.0F, 3.0F};
    const auto of = [&](ElementwiseOperation operation, const std::vector<float>& second = {}) {
        return operand_count(operation) == 1 ? run(operation, {x}) : run(operation, {x, second});
    };
    EXPECT_THAT(*of(Relu), ElementsAre(0.0F, 0.0F, 3.0F));
    EXPECT_THAT(*of(Negate), ElementsAre(2.0F, 0.0F, -3.0F));
    EXPECT_THAT(*of(Subtract, {1.0F, 1.0F, 1.0F}), ElementsAre(-3.0F, -1.0F, 2.0F));
    EXPECT_THAT(*of(Subtract, {1.0F}), ElementsAre(-3.0F, -1.0F, 2.0F));
    EXPECT_THAT(*of(Maximum, {-1.0F, 0.0F, -5.0F}), ElementsAre(-1.0F, 0.0F, 3.0F));
    EXPECT_EQ((*of(Sigmoid))[1], 0.5F);
    EXPECT_THAT(*of(Absolute), ElementsAre(2.0F, 0.0F, 3.0F));
    EXPECT_THAT(*of(Cos), ElementsAre(FloatNear(-0.41614684F, 2e-7F), 1.0F, _));
    EXPECT_THAT(*of(Minimum, {-1.0F, 0.0F, -5.0F}), ElementsAre(-2.0F, 0.0F, -5.0F));
    EXPECT_THAT(*of(Divide, {4.0F, 8.0F, 1.5F}), ElementsAre(-0.5F, 0.0F, 2.0F));
    EXPECT_THAT(*of(Power, {3.0F, 2.0F, 4.0F}), ElementsAre(-8.0F, 0.0F, 81.0F));
    EXPECT_THAT(*of(LessThan, {-1.0F, 0.0F, 3.0F}), ElementsAre(1.0F, 0.0F, 0.0F));
    EXPECT_THAT(*of(LessOrEqual, {-3.0F, 0.0F, 3.0F}), ElementsAre(0.0F, 1.0F, 1.0F));
    EXPECT_THAT(*of(EqualTo, {-2.0F, 0.0F, -3.0F}), ElementsAre(1.0F, 1.0F, 0.0F));
}

// All that is not one of the zeros takes the first: what is denormal, infinite, not a number.
TEST_P(elementwise_values, choices_by_hand) {
    const std::vector<float> condition{0.0F, -0.0F, 1.0F, -2.0F, 0x1p-149F, -0x1p-149F, kInfinity, kNan};
    ASSERT_OK_AND_ASSIGN(const auto chosen,
                         run(ElementwiseOperation::Where, {condition, std::vector<float>(8, 3.0F), {5.0F}}));
    EXPECT_THAT(chosen, ElementsAre(5.0F, 5.0F, 3.0F, 3.0F, 3.0F, 3.0F, 3.0F, 3.0F));
}

// At the edges of the product rule: operands and products below 2^-100 are +0, sums of what is left are kept.
TEST_P(elementwise_values, denormals_never_arise) {
    const auto of = [&](ElementwiseOperation operation, const std::vector<float>& x, const std::vector<float>& y) {
        return oracle::words_of(*run(operation, {x, y}));
    };
    const std::vector<float> products{0x1p-100F, 0.0F, 0.0F, 0.0F, 0x1p-40F};
    EXPECT_EQ(of(ElementwiseOperation::Multiply, {0x1p-50F, 0x1p-50F, -0x1p-60F, 0x1p-101F, 0x1p-100F},
                 {0x1p-50F, 0x1p-51F, 0x1p-70F, 0x1p60F, 0x1p60F}),
              oracle::words_of(products));
    const std::vector<float> sums{0.0F, -0x1p-123F, 0x1p-99F, 1.0F};
    EXPECT_EQ(of(ElementwiseOperation::Add, {0x1p-101F, 0x1p-100F, 0x1p-100F, 1.0F},
                 {0x1p-101F, -0x1.000002p-100F, 0x1p-100F, -0x1p-140F}),
              oracle::words_of(sums));
}

// One NaN for all, whatever went in; identity and negate keep their operand's bits. Comparisons and power, which give
// numbers too, are in elementwise_special_test.cpp.
TEST_P(elementwise_values, what_is_not_a_number_stays_that) {
    std::vector<float> nans;
    for (const std::uint32_t bits : {0x7FC00000U, 0xFFC12345U, 0x7F800001U, 0xFFFFFFFFU, 0x7FC0A5A5U}) {
        nans.push_back(std::bit_cast<float>(bits));
    }
    const std::vector<float> ones(nans.size(), 1.0F);
    for (std::uint32_t number = 0; number < kCount; ++number) {
        const auto operation = static_cast<ElementwiseOperation>(number);
        if (operation >= ElementwiseOperation::Power) continue;
        const bool is_binary = operand_count(operation) == 2;
        std::vector<std::vector<float>> operands{nans};
        if (is_binary) operands.push_back(ones);
        ASSERT_OK_AND_ASSIGN(const auto left, run(operation, operands));
        for (std::size_t i = 0; i < nans.size(); ++i) {
            const auto bits = std::bit_cast<std::uint32_t>(nans[i]);
            std::uint32_t expected = exact::kExactNan;
            if (operation == ElementwiseOperation::Copy) expected = bits;
            if (operation == ElementwiseOperation::Negate) expected = bits ^ 0x80000000U;
            EXPECT_EQ(std::bit_cast<std::uint32_t>(left[i]), expected) << to_string(operation) << " " << i;
        }
        if (!is_binary) continue;
        ASSERT_OK_AND_ASSIGN(const auto right, run(operation, {ones, nans}));
        EXPECT_EQ(oracle::words_of(right), std::vector<std::uint32_t>(nans.size(), exact::kExactNan));
    }
}

// Functions of one element have limits at infinity on every device. Sums and products of infinities, and what
// overflows, are the device's; those at hand follow IEEE.
TEST_P(elementwise_values, infinities_and_overflow) {
    const std::vector<std::vector<float>> all{{kInfinity, -kInfinity, kLargest, -kLargest},
                                              {kInfinity, kInfinity, kLargest, kLargest},
                                              {1.0F, -kInfinity, 0.0F, kLargest}};
    for (std::uint32_t number = 0; number < kCount; ++number) {
        const auto operation = static_cast<ElementwiseOperation>(number);
        const std::vector<std::vector<float>> operands(all.begin(), all.begin() + operand_count(operation));
        ASSERT_OK_AND_ASSIGN(const auto got, run(operation, operands));
        std::vector<float> twin(4);
        std::vector<reference::HostView> views(operands.begin(), operands.end());
        views.emplace_back(twin);
        reference::twin_of(one_step(operation, {4}), reference::HostViews(views));
        EXPECT_EQ(oracle::words_of(got), oracle::words_of(twin)) << to_string(operation);
    }
}

// The output may be any input that is as long as it, none that is repeated.
TEST_P(elementwise_values, wrong_views_are_refused) {
    ASSERT_OK_AND_ASSIGN(const Buffer a, device().create_buffer({.size_bytes = 1024, .label = "a"}));
    ASSERT_OK_AND_ASSIGN(const Buffer b, device().create_buffer({.size_bytes = 1024, .label = "b"}));
    ElementwiseDesc desc = one_step(ElementwiseOperation::Add, {2, 4, 8});
    ASSERT_OK_AND_ASSIGN(const ElementwisePlan plan, plan_elementwise(device(), desc));
    const BufferView left(a, 0, 256), right(a, 256, 256), out(b, 0, 256);
    const auto refused = [&](const Operands& inputs, const BufferView& into, const char* what) {
        return testing::expect_error(plan.bind({.inputs = inputs, .out = into}), ErrorKind::BadInput, what);
    };
    for (const Operands& inputs : {Operands{left, right}, Operands{left, left}}) {
        for (const BufferView& into : {out, left, right}) EXPECT_OK(plan.bind({.inputs = inputs, .out = into}));
    }
    EXPECT_TRUE(refused({BufferView(a, 0, 512), out}, right, "[elementwise]"));
    EXPECT_TRUE(refused({left, BufferView(a, 256, 252)}, out, "the inputs[1] view of"));
    EXPECT_TRUE(refused({BufferView(a, 128, 256), right}, out, "the inputs[0] view of"));
    EXPECT_TRUE(refused({left, right}, BufferView(b, 896, 256), "the out view of"));
    EXPECT_TRUE(refused({left}, out, "inputs"));
    desc.inputs[1] = 6;
    ASSERT_OK_AND_ASSIGN(const ElementwisePlan repeats, plan_elementwise(device(), desc));
    const Operands inputs{left, BufferView(a, 256, 128)};
    EXPECT_OK(repeats.bind({.inputs = inputs, .out = left}));
    EXPECT_TRUE(
        testing::expect_error(repeats.bind({.inputs = inputs, .out = right}), ErrorKind::BadInput, "[elementwise]"));
}

TEST_P(elementwise_values, nothing_is_dispatched_for_zero_elements) {
    ASSERT_OK_AND_ASSIGN(const ElementwisePlan plan,
                         plan_elementwise(device(), one_step(ElementwiseOperation::Add, {0, 8})));
    const Operands nothing(2);
    ASSERT_OK_AND_ASSIGN(const BoundElementwise bound, plan.bind({.inputs = nothing, .out = {}}));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
    recorder.begin();
    bound.record(recorder);
    EXPECT_EQ(recorder.dispatch_count(), 0U);
}

}  // namespace
}  // namespace yolk
