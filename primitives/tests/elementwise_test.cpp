// SPDX-License-Identifier: Apache-2.0
#include "yolk/elementwise.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
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

constexpr float kLargest = std::numeric_limits<float>::max();

class elementwise : public ElementwiseTest {
   protected:
    /// A plan for [members 2, rows 4, columns 8] with these, or the error.
    Result<ElementwisePlan> planned(ElementwiseDesc desc) {
        desc.members = 2, desc.rows = 4, desc.columns = 8;
        return plan_elementwise(device(), desc);
    }
};
YOLK_FOR_EACH_DEVICE(elementwise);

TEST_P(elementwise, results_by_hand) {
    const std::vector<float> x{-2.0F, -0.0F, 3.0F};
    const auto of = [&](ElementwiseOperation operation, const std::vector<float>& second = {}) {
        return run({.operation = operation, .rows = 1, .columns = 3, .scale = 2.0F, .shift = 1.0F}, x, second);
    };
    EXPECT_THAT(*of(ElementwiseOperation::Relu), ElementsAre(0.0F, 0.0F, 3.0F));
    EXPECT_THAT(*of(ElementwiseOperation::Negate), ElementsAre(2.0F, 0.0F, -3.0F));
    EXPECT_THAT(*of(ElementwiseOperation::ScaleShift), ElementsAre(-3.0F, 1.0F, 7.0F));
    EXPECT_THAT(*of(ElementwiseOperation::Subtract, {1.0F, 1.0F, 1.0F}), ElementsAre(-3.0F, -1.0F, 2.0F));
    EXPECT_THAT(*of(ElementwiseOperation::Maximum, {-1.0F, 0.0F, -5.0F}), ElementsAre(-1.0F, 0.0F, 3.0F));
    EXPECT_EQ((*of(ElementwiseOperation::Sigmoid))[1], 0.5F);
    EXPECT_THAT(*of(ElementwiseOperation::Absolute), ElementsAre(2.0F, 0.0F, 3.0F));
    EXPECT_THAT(*of(ElementwiseOperation::Cos, {}), ElementsAre(FloatNear(-0.41614684F, 2e-7F), 1.0F, _));
    EXPECT_THAT(*of(ElementwiseOperation::Minimum, {-1.0F, 0.0F, -5.0F}), ElementsAre(-2.0F, 0.0F, -5.0F));
    EXPECT_THAT(*of(ElementwiseOperation::Divide, {4.0F, 8.0F, 1.5F}), ElementsAre(-0.5F, 0.0F, 2.0F));
    EXPECT_THAT(*of(ElementwiseOperation::Power, {3.0F, 2.0F, 4.0F}), ElementsAre(-8.0F, 0.0F, 81.0F));
    EXPECT_THAT(*of(ElementwiseOperation::LessThan, {-1.0F, 0.0F, 3.0F}), ElementsAre(1.0F, 0.0F, 0.0F));
    EXPECT_THAT(*of(ElementwiseOperation::LessOrEqual, {-3.0F, 0.0F, 3.0F}), ElementsAre(0.0F, 1.0F, 1.0F));
    EXPECT_THAT(*of(ElementwiseOperation::EqualTo, {-2.0F, 0.0F, -3.0F}), ElementsAre(1.0F, 1.0F, 0.0F));
}

// At the edges of the product rule: operands and products below 2^-100 are +0, sums of what is left are kept.
TEST_P(elementwise, denormals_never_arise) {
    const auto of = [&](ElementwiseOperation operation, const std::vector<float>& x, const std::vector<float>& y) {
        const auto columns = static_cast<std::uint32_t>(x.size());
        return oracle::words_of(*run({.operation = operation, .rows = 1, .columns = columns}, x, y));
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
TEST_P(elementwise, what_is_not_a_number_stays_that) {
    std::vector<float> nans;
    for (const std::uint32_t bits : {0x7FC00000U, 0xFFC12345U, 0x7F800001U, 0xFFFFFFFFU, 0x7FC0A5A5U}) {
        nans.push_back(std::bit_cast<float>(bits));
    }
    const std::vector<float> ones(nans.size(), 1.0F);
    for (std::uint32_t id = 0; id < abi::elementwise::kOperationCount; ++id) {
        const auto operation = static_cast<ElementwiseOperation>(id);
        if (operation >= ElementwiseOperation::Power) continue;
        const ElementwiseDesc desc{.operation = operation, .rows = 1, .columns = 5};
        ASSERT_OK_AND_ASSIGN(const auto left, run(desc, nans, is_binary(operation) ? ones : std::vector<float>{}));
        for (std::size_t i = 0; i < nans.size(); ++i) {
            const auto bits = std::bit_cast<std::uint32_t>(nans[i]);
            std::uint32_t expected = exact::kExactNan;
            if (operation == ElementwiseOperation::Copy) expected = bits;
            if (operation == ElementwiseOperation::Negate) expected = bits ^ 0x80000000U;
            EXPECT_EQ(std::bit_cast<std::uint32_t>(left[i]), expected) << to_string(operation) << " " << i;
        }
        if (!is_binary(operation)) continue;
        ASSERT_OK_AND_ASSIGN(const auto right, run(desc, ones, nans));
        EXPECT_EQ(oracle::words_of(right), std::vector<std::uint32_t>(nans.size(), exact::kExactNan));
    }
}

// Functions of one element have limits at infinity on every device. Sums and products of infinities, and what
// overflows, are the device's; those at hand follow IEEE.
TEST_P(elementwise, infinities_and_overflow) {
    const std::vector<float> x{kInfinity, -kInfinity, kLargest, -kLargest};
    const std::vector<float> y{kInfinity, kInfinity, kLargest, kLargest};
    for (std::uint32_t id = 0; id < abi::elementwise::kOperationCount; ++id) {
        const auto operation = static_cast<ElementwiseOperation>(id);
        const ElementwiseDesc desc{.operation = operation, .rows = 1, .columns = 4, .scale = 3.0F};
        const std::vector<float> second = is_binary(operation) ? y : std::vector<float>{};
        ASSERT_OK_AND_ASSIGN(const auto got, run(desc, x, second));
        EXPECT_EQ(oracle::words_of(got), oracle::words_of(reference::twin_result<float>(desc, {x, second})))
            << to_string(operation);
    }
}

TEST_P(elementwise, bad_descriptions_are_refused) {
    const auto refused = [&](const ElementwiseDesc& desc, const char* what) {
        return testing::expect_error(planned(desc), ErrorKind::BadInput, what);
    };
    for (const std::uint32_t id : {abi::elementwise::kOperationCount, 0xFFFFFFFFU}) {
        EXPECT_TRUE(refused({.operation = static_cast<ElementwiseOperation>(id)}, "operation of [elementwise]"));
    }
    EXPECT_TRUE(refused({.operation = ElementwiseOperation::Add, .second = static_cast<SecondOperand>(4)},
                        "second of [elementwise]"));
    for (const float bad : {kInfinity, std::nanf(""), 0x1p-101F, -0x1p-126F}) {
        EXPECT_TRUE(refused({.operation = ElementwiseOperation::ScaleShift, .scale = bad}, "scale of [elementwise]"));
        EXPECT_TRUE(refused({.operation = ElementwiseOperation::ScaleShift, .shift = bad}, "shift of [elementwise]"));
    }
    for (const ElementwiseConfig& config :
         {ElementwiseConfig{.workgroup_size = 0}, ElementwiseConfig{.workgroup_size = 512},
          ElementwiseConfig{.loads_per_invocation = 0}, ElementwiseConfig{.loads_per_invocation = 16},
          ElementwiseConfig{.elements_per_load = 2}}) {
        EXPECT_TRUE(refused({.config = config}, "elementwise"));
    }
    EXPECT_TRUE(testing::expect_error(plan_elementwise(device(), {.operation = ElementwiseOperation::Add,
                                                                  .rows = 4,
                                                                  .columns = 7,
                                                                  .second = SecondOperand::Row,
                                                                  .config = ElementwiseConfig{.elements_per_load = 4}}),
                                      ErrorKind::BadInput, "elements_per_load of [elementwise]"));
}

TEST_P(elementwise, sizes_beyond_a_binding_are_refused) {
    for (const std::uint32_t members : {1U, 0xFFFFFFFFU}) {
        EXPECT_TRUE(testing::expect_error(
            plan_elementwise(device(), {.members = members, .rows = 0xFFFFFFFFU, .columns = 0xFFFFFFFFU}),
            ErrorKind::BadInput, "the first view of [elementwise]"));
    }
}

TEST_P(elementwise, wrong_views_are_refused) {
    ASSERT_OK_AND_ASSIGN(const Buffer a, device().create_buffer({.size_bytes = 1024, .label = "a"}));
    ASSERT_OK_AND_ASSIGN(const Buffer b, device().create_buffer({.size_bytes = 1024, .label = "b"}));
    ASSERT_OK_AND_ASSIGN(const ElementwisePlan plan, planned({.operation = ElementwiseOperation::Add}));
    const BufferView left(a, 0, 256), right(a, 256, 256), out(b, 0, 256);
    const auto refused = [&](const ElementwiseViews& views, const char* what) {
        return testing::expect_error(plan.bind(views), ErrorKind::BadInput, what);
    };
    EXPECT_OK(plan.bind({.first = left, .second = right, .out = out}));
    EXPECT_OK(plan.bind({.first = left, .second = left, .out = out}));    // x + x
    EXPECT_OK(plan.bind({.first = left, .second = right, .out = left}));  // in place
    EXPECT_TRUE(refused({.first = left, .second = right, .out = right}, "[elementwise]"));
    EXPECT_TRUE(refused({.first = BufferView(a, 0, 512), .second = out, .out = right}, "[elementwise]"));
    EXPECT_TRUE(refused({.first = left, .second = left, .out = left}, "[elementwise]"));
    EXPECT_TRUE(refused({.first = left, .second = BufferView(a, 256, 252), .out = out}, "the second view of"));
    EXPECT_TRUE(refused({.first = BufferView(a, 128, 256), .second = right, .out = out}, "the first view of"));
    EXPECT_TRUE(refused({.first = left, .second = right, .out = BufferView(b, 896, 256)}, "the out view of"));
    EXPECT_TRUE(refused({.first = left, .out = out}, "the second view of"));
}

TEST_P(elementwise, nothing_is_dispatched_for_zero_elements) {
    ASSERT_OK_AND_ASSIGN(const ElementwisePlan plan,
                         plan_elementwise(device(), {.operation = ElementwiseOperation::Add, .columns = 8}));
    ASSERT_OK_AND_ASSIGN(const BoundElementwise bound, plan.bind({}));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
    recorder.begin();
    bound.record(recorder);
    EXPECT_EQ(recorder.dispatch_count(), 0U);
}

}  // namespace
}  // namespace yolk
