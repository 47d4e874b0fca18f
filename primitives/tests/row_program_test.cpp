// SPDX-License-Identifier: Apache-2.0
// row_program beyond its cases (oracle/src/families/row_program.cpp): special values, results written by hand, the
// programs of other operations, descriptions that are refused.
#include "yolk/row_program.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <vector>

#include "row_device.hpp"
#include "special_floats.hpp"
#include "yolk/internal/primitives/row_steps.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/twin.hpp"

namespace yolk {
namespace {

using ::testing::ElementsAre;
using Words = std::vector<std::uint32_t>;

class row_program : public testing::DeviceTest {
   protected:
    /// The result's words, which are also its twin's, with every configuration of row_configs().
    Result<Words> run(RowProgramDesc desc, const std::vector<std::vector<float>>& inputs) {
        std::size_t elements = 1;
        for (const std::uint32_t extent : desc.extents) elements *= extent;
        const std::size_t count = varies_along_row(desc).back() ? elements : elements / desc.extents[desc.row];
        std::vector<reference::HostView> views(inputs.begin(), inputs.end());
        Words twin(count);
        views.emplace_back(twin);
        reference::twin_of(desc, reference::HostViews(views));
        const auto configs = row_configs();
        std::vector<RowConfig> all(configs.begin(), configs.end());
        const bool is_last = desc.row + std::size_t{1} == desc.extents.size();
        if (is_last && desc.extents.back() % 4 == 0) {
            for (const std::uint32_t texels : {0U, 1U})
                all.push_back({.row_per_invocation = 1, .texel_input = texels, .elements_per_load = 4});
        }
        for (const RowConfig& config : all) {
            desc.config = config;
            YOLK_TRY(const Words made, run_once(desc, inputs, count));
            if (made != twin) return failed_work("not the twin's, row_per_invocation {}", config.row_per_invocation);
        }
        return twin;
    }

   private:
    Result<Words> run_once(const RowProgramDesc& desc, const std::vector<std::vector<float>>& inputs,
                           std::size_t count) {
        const RowBuffers buffers{device(), dispatcher()};
        std::vector<oracle::GuardedBuffer> filled;
        std::vector<BufferView> views;
        for (const std::vector<float>& values : inputs) {
            YOLK_TRY(auto made, buffers.filled(values, "input"));
            filled.push_back(std::move(made));
        }
        for (const oracle::GuardedBuffer& each : filled) views.push_back(each.view());
        YOLK_TRY(const auto out, buffers.empty(sizeof(float) * count, "out"));
        YOLK_TRY(const RowProgramPlan plan, plan_row_program(device(), desc));
        YOLK_TRY(const BoundRowProgram bound, plan.bind({.inputs = views, .out = out.view()}));
        YOLK_TRY_VOID(buffers.run(bound));
        return out.download<std::uint32_t>();
    }
};
YOLK_FOR_EACH_DEVICE(row_program);

RowProgramDesc of_one_input(std::vector<std::uint32_t> extents, std::vector<RowStep> steps) {
    const std::uint32_t all = (1U << extents.size()) - 1;
    return {.extents = extents,
            .row = static_cast<std::uint32_t>(extents.size() - 1),
            .inputs = {all},
            .steps = std::move(steps)};
}

Words words_of(const std::vector<float>& values) {
    Words words;
    for (const float value : values) words.push_back(std::bit_cast<std::uint32_t>(value));
    return words;
}

TEST_P(row_program, extremes_are_exact_for_every_input) {
    const float nan = std::bit_cast<float>(0xFFC12345U);
    const std::vector<float> in{-0.0F, 0.0F, -0.0F,      0x1p-149F, -0x1p-149F, 0.0F,
                                1.0F,  nan,  -kInfinity, kInfinity, -kInfinity, 3.0F};
    ASSERT_OK_AND_ASSIGN(const Words most, run(of_one_input({4, 3}, {{RowOperation::Max, {0}}}), {in}));
    EXPECT_EQ(most, words_of({0.0F, 0x1p-149F, std::bit_cast<float>(kNanBits), kInfinity}));
    ASSERT_OK_AND_ASSIGN(const Words least, run(of_one_input({4, 3}, {{RowOperation::Min, {0}}}), {in}));
    EXPECT_EQ(least, words_of({-0.0F, -0x1p-149F, std::bit_cast<float>(kNanBits), -kInfinity}));
    ASSERT_OK_AND_ASSIGN(const Words places, run(of_one_input({4, 3}, {{RowOperation::Argmax, {0}}}), {in}));
    EXPECT_THAT(places, ElementsAre(1, 0, 1, 0));
}

TEST_P(row_program, a_sum_that_is_no_number_has_one_pattern) {
    const float nan = std::bit_cast<float>(0xFFC12345U);
    const std::vector<float> in{1.0F, nan, kInfinity, -kInfinity, kInfinity, 2.0F};
    ASSERT_OK_AND_ASSIGN(const Words sums, run(of_one_input({3, 2}, {{RowOperation::Sum, {0}}}), {in}));
    EXPECT_EQ(sums, words_of({std::bit_cast<float>(kNanBits), std::bit_cast<float>(kNanBits), kInfinity}));
}

TEST_P(row_program, functions_of_rows) {
    const std::vector<float> in{4.0F, 0x1p-41F, 0x1p-101F, 0x1p101F, std::bit_cast<float>(0x7F812345U)};
    const auto of = [&](RowOperation operation) {
        return run(of_one_input({5, 1}, {{RowOperation::Max, {0}}, {operation, {0}}}), {in});
    };
    ASSERT_OK_AND_ASSIGN(const Words operands, of(RowOperation::Operand));
    EXPECT_EQ(operands[0], std::bit_cast<std::uint32_t>(4.0F));
    EXPECT_EQ(operands[1], 0U);
    ASSERT_OK_AND_ASSIGN(const Words results, of(RowOperation::Result));
    EXPECT_EQ(results, words_of({4.0F, 0x1p-41F, 0.0F, 0x1p101F, std::bit_cast<float>(kNanBits)}));
    ASSERT_OK_AND_ASSIGN(const Words roots, of(RowOperation::InverseSqrt));
    EXPECT_NEAR(std::bit_cast<float>(roots[0]), 0.5F, 2e-7F);
    EXPECT_EQ(roots[3], kNanBits);
    EXPECT_EQ(roots[4], kNanBits);
    ASSERT_OK_AND_ASSIGN(const Words reciprocals, of(RowOperation::Reciprocal));
    EXPECT_NEAR(std::bit_cast<float>(reciprocals[0]), 0.25F, 1e-7F);
}

// A value of a row behind a reduction, and one that needs none, which is made before it.
TEST_P(row_program, values_of_rows_and_of_elements_meet) {
    RowProgramWriter writer;
    const auto x = writer.input(7), of_row = writer.input(3), of_column = writer.input(4), one = writer.input(0);
    const auto shift = writer.step(ElementwiseOperation::Add, {of_row, one});
    const auto sum = writer.step(RowOperation::Sum, {writer.step(ElementwiseOperation::Multiply, {x, of_column})});
    const auto total = writer.step(ElementwiseOperation::Multiply, {sum, shift});
    (void)writer.step(ElementwiseOperation::Subtract, {x, total});
    ASSERT_OK_AND_ASSIGN(const Words made,
                         run(writer.program({2, 1, 3}, 2), {{1, 2, 3, 4, 5, 6}, {1, 2}, {1, 0, 2}, {0.5F}}));
    // 7 1.5 and 16 2.5
    EXPECT_EQ(made, words_of({-9.5F, -8.5F, -7.5F, -36.0F, -35.0F, -34.0F}));
    // The same rows along the middle.
    RowProgramWriter turned;
    const auto y = turned.input(7), weight = turned.input(2);
    (void)turned.step(RowOperation::Sum, {turned.step(ElementwiseOperation::Multiply, {y, weight})});
    ASSERT_OK_AND_ASSIGN(const Words sums, run(turned.program({1, 3, 2}, 1), {{1, 2, 3, 4, 5, 6}, {1, 0, 2}}));
    EXPECT_EQ(sums, words_of({11.0F, 14.0F}));
}

// Also four elements at once: rows of one quad, of fewer than the 32 chains, of more, with results of elements and of
// rows, whose number is no multiple of four.
TEST_P(row_program, rows_of_multiples_of_four) {
    for (const std::uint32_t columns : {4U, 28U, 32U, 36U, 260U}) {
        std::vector<float> x(std::size_t{7} * columns), y(columns), z{0.5F, -1.0F, 2.0F, 0.0F, 1.0F, 3.0F, -4.0F};
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i)) * 3.0F;
        for (std::size_t i = 0; i < y.size(); ++i) y[i] = std::cos(static_cast<float>(i));
        x[columns] = std::bit_cast<float>(0xFFC12345U);
        for (const RowOperation reduction :
             {RowOperation::Sum, RowOperation::Max, RowOperation::Min, RowOperation::Argmax}) {
            RowProgramDesc desc{
                .extents = {7, columns},
                .row = 1,
                .inputs = {3, 2, 1},
                .steps = {
                    {ElementwiseOperation::Multiply, {0, 1}}, {ElementwiseOperation::Add, {3, 2}}, {reduction, {4}}}};
            EXPECT_OK(run(desc, {x, y, z})) << columns;
            if (reduction == RowOperation::Argmax) continue;
            desc.steps.push_back({ElementwiseOperation::Subtract, {3, 5}});
            EXPECT_OK(run(desc, {x, y, z})) << columns;
        }
    }
}

TEST_P(row_program, numbers_that_have_the_same_bits_are_one) {
    RowProgramWriter writer;
    const auto x = writer.input(3);
    (void)writer.reduced(x, ReduceOperation::Mean, 5);
    (void)writer.normalized(x, NormalizeRule::Layer, 5, 0.2F);
    EXPECT_THAT(writer.program({4, 5}, 1).numbers, ElementsAre(0.2F));
    (void)writer.number(-0.0F);
    (void)writer.number(0.0F);
    EXPECT_THAT(writer.program({4, 5}, 1).numbers, ElementsAre(0.2F, -0.0F, 0.0F));
}

TEST_P(row_program, text_and_back) {
    const auto& fields = operation_of<RowProgramDesc>().fields;
    const std::string text = "extents=8-64 row=1 inputs=3,2 steps=multiply:0:1,sum:2,difference:0:3";
    ASSERT_OK_AND_ASSIGN(const RowProgramDesc desc, fields.parse(text));
    EXPECT_EQ(fields.text(desc), text);
    EXPECT_TRUE(
        testing::expect_error(fields.parse("extents=8 row=0 inputs=1 steps=some:0"), ErrorKind::BadInput, "steps"));
}

TEST_P(row_program, bad_descriptions_are_refused) {
    const std::vector<RowStep> sum{{RowOperation::Sum, {0}}};
    const auto refused = [&](const RowProgramDesc& desc, const char* what, ErrorKind kind = ErrorKind::BadInput) {
        return testing::expect_error(plan_row_program(device(), desc), kind, what);
    };
    EXPECT_TRUE(refused({.extents = {}, .inputs = {0}, .steps = sum}, "0 dimensions"));
    EXPECT_TRUE(refused({.extents = {4}, .row = 1, .inputs = {1}, .steps = sum}, "along dimension 1, of 1"));
    EXPECT_TRUE(refused({.extents = {4}, .inputs = {}, .steps = sum}, "0 inputs"));
    EXPECT_TRUE(refused({.extents = {4}, .inputs = std::vector(16, 1U), .steps = sum}, "16 inputs"));
    EXPECT_TRUE(refused({.extents = {4}, .inputs = {2}, .steps = sum}, "0x2"));
    EXPECT_TRUE(refused({.extents = {4}, .inputs = {1}, .steps = {}}, "0 steps"));
    EXPECT_TRUE(refused({.extents = {4}, .inputs = {1}, .steps = std::vector(65, sum[0])}, "65 steps"));
    EXPECT_TRUE(refused({.extents = {4}, .inputs = {1}, .steps = std::vector(5, sum[0])}, "5 reductions"));
    EXPECT_TRUE(refused({.extents = {4}, .inputs = {1}, .steps = {{RowOperation::Operand, {0}}}}, "0 reductions"));
    EXPECT_TRUE(refused({.extents = {4}, .inputs = {1}, .steps = {{RowOperation::Sum, {1}}}}, "takes value 1"));
    EXPECT_TRUE(
        refused({.extents = {4}, .inputs = {1}, .steps = {{RowOperation::Sum, {0, 0}}}}, "2 operands; sum takes 1"));
    EXPECT_TRUE(refused({.extents = {4}, .inputs = {1}, .steps = {{RowOperation::Total, {0}}, sum[0]}},
                        "1 operands; total takes 2"));
    EXPECT_TRUE(refused({.extents = {4}, .inputs = {1}, .steps = {{RowOperation{99}, {0}}}}, "operation 99"));
    EXPECT_TRUE(refused({.extents = {4}, .inputs = {1}, .steps = {{RowOperation::Argmax, {0}}, sum[0]}}, "is argmax"));
    EXPECT_TRUE(refused({.extents = {4}, .inputs = {1}, .numbers = std::vector(5, 1.0F), .steps = sum}, "5 numbers"));
    EXPECT_TRUE(refused({.extents = {4, 0}, .row = 1, .inputs = {3}, .steps = sum}, "no elements to reduce"));
    EXPECT_TRUE(refused({.extents = {2, 2, 2, 2, 2}, .inputs = {1, 2, 4, 8, 16}, .steps = sum}, "5 different ways"));
    EXPECT_TRUE(refused({.extents = {0xFFFFFFFF, 0xFFFFFFFF}, .inputs = {3}, .steps = sum}, "Split it",
                        ErrorKind::Unsupported));
    const RowConfig quads{.row_per_invocation = 1, .elements_per_load = 4};
    EXPECT_TRUE(refused({.extents = {6}, .inputs = {1}, .steps = sum, .config = quads}, "rows of 6 elements"));
    EXPECT_TRUE(refused({.extents = {4, 4}, .inputs = {3}, .steps = sum, .config = quads}, "lies 4 behind the last"));
    EXPECT_TRUE(refused({.extents = {4}, .inputs = {1}, .steps = sum, .config = RowConfig{.elements_per_load = 4}},
                        "with row_per_invocation 0 it must be 1"));
    EXPECT_TRUE(refused({.extents = {4}, .inputs = {1}, .steps = sum, .config = RowConfig{.lanes_per_row = 7}},
                        "lanes_per_row"));
}

}  // namespace
}  // namespace yolk
