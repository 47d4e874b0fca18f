// SPDX-License-Identifier: Apache-2.0
// Every tensor operation on the host: against NumPy's meaning in double, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "fixtures.hpp"
#include "vocabulary_cases.hpp"
#include "yolk/internal/hyper/traced_operations.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Kernels' own tests hold their errors, which are below 2e-6 of a result here (docs/kernels); sums that may cancel
/// have up to 17 terms below 1, each rounded by 2^-24 of the sum: 1.7e-5. The long cumulative sums do not cancel: a
/// third of their terms is .5.
double tolerance_of(const std::string& operation, double expected) {
    static const std::set<std::string> exact{"permute",   "slice",         "pad",          "broadcast_to",
                                             "gather",    "where",         "max",          "min",
                                             "argmax",    "negate",        "absolute",     "floor",
                                             "round",     "relu",          "maximum",      "minimum",
                                             "less_than", "less_or_equal", "greater_than", "greater_or_equal",
                                             "equal_to",  "not_equal_to"};
    return exact.contains(operation) ? 0.0 : 2e-6 * std::abs(expected) + 2e-5;
}

void check(const VocabularyCase& c) {
    SCOPED_TRACE(c.name());
    const Equation equation{.operation = find_operation(c.operation), .attributes = c.attributes};
    ASSERT_NE(equation.operation, nullptr);
    std::vector<Value> operands;
    std::vector<ValueType> types;
    std::vector<oracle::Array> arrays;
    for (std::size_t i = 0; i < c.shapes.size(); ++i) {
        operands.push_back(drawn_operand(c, i, 31 * static_cast<std::uint32_t>(i) + 1));
        types.push_back(type_of(operands.back()));
        arrays.push_back(oracle::array_of(operands.back()));
    }
    ASSERT_OK_AND_ASSIGN(const std::vector<Value> results, evaluate_equation(equation, operands));
    ASSERT_EQ(results.size(), 1U);
    ASSERT_OK_AND_ASSIGN(const std::vector<ValueType> declared, equation.operation->types(equation, types));
    EXPECT_EQ(declared, std::vector{type_of(results[0])});
    const oracle::Array expected = oracle::computed(c.operation, arrays, c.attributes);
    const oracle::Array given = oracle::array_of(results[0]);
    ASSERT_EQ(given.shape, expected.shape);
    for (const auto& [at, value] : expected.values) {
        ASSERT_NEAR(given.values.at(at), value, tolerance_of(c.operation, value)) << ::testing::PrintToString(at);
    }
}

TEST(vocabulary, means_what_numpy_means) {
    for (const VocabularyCase& c : vocabulary_cases()) check(c);
}

TEST(vocabulary, the_cases_are_of_every_operation) {
    std::set<std::string> covered{"linear", "linear_transposed", "embedding"};  // tests of their own
    for (const VocabularyCase& c : vocabulary_cases()) covered.insert(c.operation);
    for (const Operation* operation : operations()) {
        const std::set<std::string_view> others{"concat", "split", "reshape", "select", "host_call", "call", "less",
                                                "equal", "and", "or", "not", "format", "pack", "field",  // of records
                                                // tests of their own: control, transforms
                                                "to_number", "stop_gradient", "checkpoint", "depends", "factor",
                                                "switch", "while_loop", "while_loop_pullback", "scan", "parallel",
                                                "weighted", "match", "word_index", "format_edits",
                                                // integers, lists
                                                "to_integer", "list", "length", "item", "join", "to_tensor"};
        const std::string name(operation->name);
        EXPECT_TRUE(others.contains(operation->name) || covered.contains(name)) << name;
    }
}

Result<std::vector<Value>> run(const std::string& operation, std::vector<Value> operands, Attributes attributes = {}) {
    return evaluate_equation({.operation = find_operation(operation), .attributes = std::move(attributes)}, operands);
}

TEST(vocabulary, numbers_stay_numbers) {
    EXPECT_EQ(run("divide", {1.0, 3.0}).value()[0], Value(1.0 / 3.0)) << "in double";
    EXPECT_EQ(run("less_than", {1.0, 3.0}).value()[0], Value(1.0));
    EXPECT_EQ(run("where", {0.0, 3.0, 4.0}).value()[0], Value(4.0));
    EXPECT_EQ(run("absolute", {-1e-300}).value()[0], Value(1e-300));
    EXPECT_EQ(run("round", {2.5}).value()[0], Value(2.0));
    EXPECT_EQ(run("sqrt", {9.0}).value()[0], Value(3.0));
}

TEST(vocabulary, infinities_and_no_numbers) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    const auto first = [](const Result<std::vector<Value>>& result) { return result.value()[0].tensor()->values()[0]; };
    const auto of = [](float x) { return Value(Tensor::vector({x})); };
    EXPECT_EQ(first(run("divide", {of(1), of(0)})), kInf);
    EXPECT_EQ(first(run("divide", {of(-1), of(0)})), -kInf);
    EXPECT_TRUE(std::isnan(first(run("divide", {of(0), of(0)}))));
    EXPECT_TRUE(std::isnan(first(run("sqrt", {of(-1)}))));
    const Value nan = of(std::numeric_limits<float>::quiet_NaN());
    for (const char* name : {"less_than", "less_or_equal", "greater_than", "greater_or_equal", "equal_to"})
        EXPECT_EQ(first(run(name, {nan, nan})), 0.0F) << name;
    EXPECT_EQ(first(run("not_equal_to", {nan, nan})), 1.0F);
    EXPECT_EQ(first(run("where", {nan, of(2), of(3)})), 2.0F) << "it is not 0";
    EXPECT_EQ(first(run("where", {of(-0.0F), of(2), of(3)})), 3.0F);
    EXPECT_EQ(first(run("where", {of(1e-42F), of(2), of(3)})), 2.0F) << "not 0 either";
}

TEST(vocabulary, tensors_without_elements_or_dimensions) {
    const Value none = Tensor::create({0, 3}, {}).value();
    const Value scalar = Tensor::create({}, {2.0F}).value();
    EXPECT_EQ(run("multiply", {none, Tensor::create({1, 3}, {1, 2, 3}).value()}).value()[0], none);
    EXPECT_EQ(run("multiply", {scalar, Tensor::vector({3, 4})}).value()[0], Value(Tensor::vector({6, 8})));
    EXPECT_EQ(run("pad", {none}, {{"before", Integers{1, 0}}, {"after", Integers{0, 0}}, {"value", 7.0}}).value()[0],
              Value(Tensor::create({1, 3}, {7, 7, 7}).value()));
    EXPECT_EQ(run("gather", {none, Tensor::vector({})}, {{"dimension", std::int64_t{0}}}).value()[0], none);
    EXPECT_EQ(run("matmul", {none, Tensor::filled({3, 2}, 1)}).value()[0], Value(Tensor::create({0, 2}, {}).value()));
    EXPECT_EQ(run("matmul", {Tensor::create({2, 0}, {}).value(), Tensor::create({0, 1}, {}).value()}).value()[0],
              Value(Tensor::filled({2, 1}, 0)))
        << "sums of nothing";
    EXPECT_EQ(run("cumulative_sum", {none}, {{"dimension", std::int64_t{0}}}).value()[0], none);
    EXPECT_THAT(refusal(run("max", {none}, {{"dimension", std::int64_t{0}}})), HasSubstr("dimension 0 is not empty"));
}

TEST(vocabulary, repeated_ids_add_in_their_order) {
    // 1 vanishes beside 2^24, so the order shows.
    const Value x = Tensor::vector({0.0F});
    const Value ids = Tensor::vector({0, 0, 0});
    const Attributes along{{"dimension", std::int64_t{0}}};
    EXPECT_EQ(run("scatter_add", {x, ids, Tensor::vector({0x1p24F, 1, -0x1p24F})}, along).value()[0],
              Value(Tensor::vector({0.0F})));
    EXPECT_EQ(run("scatter_add", {x, ids, Tensor::vector({0x1p24F, -0x1p24F, 1})}, along).value()[0],
              Value(Tensor::vector({1.0F})));
}

TEST(vocabulary, of_repeated_ids_the_last_stays) {
    const Value x = Tensor::vector({1.0F, 2.0F});
    const Attributes along{{"dimension", std::int64_t{0}}};
    EXPECT_EQ(run("scatter", {x, Tensor::vector({1, 1, 1}), Tensor::vector({3, 4, 5})}, along).value()[0],
              Value(Tensor::vector({1.0F, 5.0F})));
}

TEST(vocabulary, refuses_what_does_not_fit) {
    const Value a = drawn_tensor({2, 3}, 1);
    const Value cube = drawn_tensor({2, 3, 4}, 1);
    const auto integer = [](std::int64_t value) { return Attributes{{"dimension", value}}; };
    EXPECT_THAT(refusal(run("add", {a, drawn_tensor({2, 2}, 1)})),
                AllOf(HasSubstr("tensor [2, 3], tensor [2, 2]"), HasSubstr("equal extents or 1")));
    EXPECT_THAT(refusal(run("where", {a, a, "text"})), AllOf(HasSubstr("text"), HasSubstr("a condition and two")));
    EXPECT_THAT(refusal(run("matmul", {a, a})), AllOf(HasSubstr("[2, 3], tensor [2, 3]"), HasSubstr("b [..., k, n]")));
    EXPECT_THAT(refusal(run("matmul", {cube, drawn_tensor({3, 4, 1}, 1)})), HasSubstr("leading dimensions"));
    EXPECT_THAT(refusal(run("permute", {a}, {{"order", Integers{0, 0}}})), HasSubstr("each of 0 to 1 once"));
    EXPECT_THAT(refusal(run("permute", {a}, {{"order", Integers{0}}})), HasSubstr("one for each of its 2 dimensions"));
    EXPECT_THAT(refusal(run("permute", {a})), HasSubstr("needs the attribute 'order'"));
    const auto cut = [&](Integers starts, Integers stops, Integers steps) {
        return refusal(run("slice", {a}, {{"starts", starts}, {"stops", stops}, {"steps", steps}}));
    };
    EXPECT_THAT(cut({0, 1}, {2, 4}, {1, 1}), HasSubstr("from 1 to 4 by 1 along dimension 1 of a tensor [2, 3]"));
    EXPECT_THAT(cut({0, 2}, {2, 1}, {1, 1}), HasSubstr("from 2 to 1"));
    EXPECT_THAT(cut({0, 0}, {2, 3}, {1, 0}), HasSubstr("a step of at least 1"));
    EXPECT_THAT(refusal(run("pad", {a}, {{"before", Integers{-1, 0}}, {"after", Integers{0, 0}}, {"value", 0.0}})),
                HasSubstr("-1 before and 0 after dimension 0"));
    EXPECT_THAT(refusal(run("broadcast_to", {a}, {{"shape", Integers{3, 2}}})), HasSubstr("[2, 3] to [3, 2]"));
    EXPECT_THAT(refusal(run("broadcast_to", {a}, {{"shape", Integers{3}}})), HasSubstr("[2, 3] to [3]"));
    EXPECT_THAT(refusal(run("gather", {a, Tensor::vector({2})}, integer(0))),
                HasSubstr("id 2 along dimension 0 of a tensor [2, 3]; ids are whole numbers below 2"));
    EXPECT_THAT(refusal(run("gather", {a, Tensor::vector({.5F})}, integer(0))), HasSubstr("id 0.5"));
    EXPECT_THAT(refusal(run("gather", {a, Tensor::vector({0})}, integer(2))), HasSubstr("from 0 to 1"));
    EXPECT_THAT(refusal(run("scatter_add", {a, Tensor::vector({0}), drawn_tensor({2, 3}, 1)}, integer(0))),
                HasSubstr("here [1, 3]"));
    EXPECT_THAT(refusal(run("sum", {a}, integer(-1))), HasSubstr("dimension -1 of a tensor [2, 3]"));
    EXPECT_THAT(refusal(run("sum", {a}, {{"keep", std::int64_t{2}}})), HasSubstr("keep is 2"));
    EXPECT_THAT(refusal(run("layer_norm", {a}, {{"epsilon", 0.0}})), HasSubstr("epsilon 0"));
    EXPECT_THAT(refusal(run("cumulative_sum", {a}, integer(5))), HasSubstr("dimension 5"));
}

}  // namespace
}  // namespace yolk::hyper
