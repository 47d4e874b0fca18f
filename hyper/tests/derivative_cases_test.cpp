// SPDX-License-Identifier: Apache-2.0
// The cases; what is checked with them is in derivatives_test.cpp and batch_test.cpp. Here: that they leave nothing
// out.
#include "derivative_cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "yolk/hyper/batch.hpp"
#include "yolk/testing/device_test.hpp"

namespace yolk::hyper {
namespace {

using Whole = std::vector<std::int64_t>;

Value ids(std::vector<float> values, Shape shape) {
    return Tensor::create(std::move(shape), std::move(values)).value();
}

Attributes at_dimension(std::int64_t dimension) { return {{"dimension", dimension}}; }
Attributes reduced(std::int64_t dimension, std::int64_t keep) { return {{"dimension", dimension}, {"keep", keep}}; }

DerivativeCase noted(DerivativeCase of, std::string note) {
    of.note = std::move(note);
    return of;
}

/// The operation on the inputs and a last operand that does not move.
DerivativeCase with_literal(std::string operation, std::vector<ValueType> inputs, std::size_t place, Value literal,
                            Attributes attributes = {}) {
    DerivativeCase of = plain_case(operation, std::move(inputs));
    of.build = [operation, place, literal, attributes](GraphBuilder& builder, std::vector<Atom> x) {
        x.insert(x.begin() + static_cast<std::ptrdiff_t>(place), literal);
        return builder.add({.operation = find_operation(operation), .operands = x, .attributes = attributes});
    };
    return of;
}

void add_elementwise_cases(std::vector<DerivativeCase>& all) {
    const ValueType matrix = tensor({2, 3}), row = tensor({3}), column = tensor({2, 1});
    for (const char* operation : {"add", "subtract", "multiply", "maximum", "minimum", "divide", "power"}) {
        const bool positive = std::string(operation) == "divide" || std::string(operation) == "power";
        const double low = positive ? .5 : -2.0;
        all.push_back(plain_case(operation, {matrix, matrix}, low));
        all.push_back(noted(plain_case(operation, {matrix, row}, low), "a row"));
        all.push_back(noted(plain_case(operation, {row, matrix}, low), "a row first"));
        all.push_back(noted(plain_case(operation, {column, row}, low), "a column and a row"));
        all.push_back(noted(plain_case(operation, {tensor({2, 1, 3}), matrix}, low), "three dimensions"));
        all.push_back(noted(plain_case(operation, {matrix, scalar()}, low), "a number"));
        all.push_back(noted(plain_case(operation, {scalar(), matrix}, low), "a number first"));
        all.push_back(noted(plain_case(operation, {scalar(), scalar()}, low), "numbers"));
    }
    for (const char* operation :
         {"negate", "absolute", "sin", "cos", "exp", "relu", "gelu", "silu", "tanh", "sigmoid"}) {
        all.push_back(plain_case(operation, {tensor({3, 5})}));
        all.push_back(noted(plain_case(operation, {scalar()}), "a number"));
    }
    for (const char* operation : {"sqrt", "rsqrt", "log"}) all.push_back(plain_case(operation, {matrix}, .5, 3.0));
    for (const char* operation : {"floor", "round"}) all.push_back(still_case(operation, {matrix}));
    for (const char* operation :
         {"less_than", "less_or_equal", "greater_than", "greater_or_equal", "equal_to", "not_equal_to"})
        all.push_back(still_case(operation, {matrix, row}));
    const Value condition = ids({1, 0, 0, 1, 1, 0}, {2, 3});
    all.push_back(with_literal("where", {matrix, matrix}, 0, condition));
    all.push_back(noted(with_literal("where", {row, scalar()}, 0, condition), "a row and a number"));
    all.push_back(with_literal("select", {matrix, matrix}, 0, true));
    all.push_back(noted(with_literal("select", {scalar(), scalar()}, 0, false), "numbers"));
}

void add_reduction_cases(std::vector<DerivativeCase>& all) {
    for (const char* operation : {"sum", "mean", "max", "min"}) {
        all.push_back(plain_case(operation, {tensor({2, 3})}));
        all.push_back(noted(plain_case(operation, {tensor({5})}), "a row"));
        all.push_back(noted(plain_case(operation, {tensor({2, 3, 2})}, -2, 2, reduced(1, 0)), "in the middle"));
        all.push_back(noted(plain_case(operation, {tensor({3, 2})}, -2, 2, reduced(0, 1)), "kept"));
    }
    all.push_back(still_case("argmax", {tensor({2, 3})}));
    all.push_back(plain_case("cumulative_sum", {tensor({2, 3, 2})}, -2, 2, at_dimension(1)));
    for (const char* operation : {"softmax", "log_softmax"}) all.push_back(plain_case(operation, {tensor({2, 5})}));
    for (const char* operation : {"layer_norm", "rms_norm"})
        all.push_back(plain_case(operation, {tensor({2, 5})}, -2, 2, {{"epsilon", 1e-5}}));
}

void add_rearranging_cases(std::vector<DerivativeCase>& all) {
    all.push_back(plain_case("reshape", {tensor({2, 3})}, -2, 2, {{"shape", Whole{3, 2}}}));
    all.push_back(plain_case("permute", {tensor({2, 3, 4})}, -2, 2, {{"order", Whole{2, 0, 1}}}));
    all.push_back(plain_case("broadcast_to", {tensor({2, 1})}, -2, 2, {{"shape", Whole{3, 2, 4}}}));
    all.push_back(plain_case("slice", {tensor({4, 5})}, -2, 2,
                             {{"starts", Whole{1, 0}}, {"stops", Whole{3, 5}}, {"steps", Whole{1, 1}}}));
    all.push_back(noted(plain_case("slice", {tensor({4, 5})}, -2, 2,
                                   {{"starts", Whole{1, 1}}, {"stops", Whole{4, 5}}, {"steps", Whole{1, 2}}}),
                        "steps"));
    all.push_back(
        plain_case("pad", {tensor({2, 3})}, -2, 2, {{"before", Whole{1, 0}}, {"after", Whole{0, 2}}, {"value", 3.0}}));
    all.push_back(plain_case("concat", {tensor({2, 3}), tensor({2, 1})}, -2, 2, at_dimension(1)));
    all.push_back(
        plain_case("split", {tensor({2, 4})}, -2, 2, {{"dimension", std::int64_t{1}}, {"sizes", Whole{1, 3}}}));
    const Value three = ids({2, 0, 2}, {3}), four = ids({1, 0, 2, 1}, {2, 2});
    all.push_back(with_literal("gather", {tensor({3, 2})}, 1, three, at_dimension(0)));
    all.push_back(noted(with_literal("gather", {tensor({2, 3, 2})}, 1, four, at_dimension(1)), "in the middle"));
    all.push_back(with_literal("scatter_add", {tensor({3, 2}), tensor({3, 2})}, 1, three, at_dimension(0)));
    all.push_back(
        noted(with_literal("scatter_add", {tensor({2, 3, 2}), tensor({2, 2, 2, 2})}, 1, four, at_dimension(1)),
              "in the middle"));
    all.push_back(with_literal("embedding", {tensor({3, 2})}, 1, three));
    all.push_back(plain_case("to_number", {tensor({1, 1})}));
}

void add_matrix_cases(std::vector<DerivativeCase>& all) {
    all.push_back(plain_case("matmul", {tensor({2, 3}), tensor({3, 4})}));
    all.push_back(noted(plain_case("matmul", {tensor({2, 2, 3}), tensor({3, 2})}), "a shared second"));
    all.push_back(noted(plain_case("matmul", {tensor({3, 1, 2, 2}), tensor({2, 2, 3})}), "repeated both ways"));
    for (const char* operation : {"linear", "linear_transposed"}) {
        const std::uint64_t width = std::string(operation) == "linear" ? 2 : 3;
        all.push_back(plain_case(operation, {tensor({3, 2}), tensor({4, width})}));
        all.push_back(noted(plain_case(operation, {tensor({3, 2}), tensor({width})}), "a row"));
        all.push_back(noted(plain_case(operation, {tensor({3, 2}), tensor({2, 2, width})}), "three dimensions"));
    }
    DerivativeCase stopped = still_case("stop_gradient", {tensor({2})});
    stopped.note = "not held against differences";
    all.push_back(stopped);
    all.push_back(
        plain_case("checkpoint", {tensor({2})}, -2, 2, {{"key", std::string("k")}, {"collection", std::string()}}));
    all.push_back(plain_case("factor", {scalar()}, .5, 2.0));
    all.push_back(plain_case("depends", {tensor({2}), tensor({3})}));
}

TEST(derivative_cases, leave_no_operation_out) {
    // Text, and what gives booleans only; bodies and records have tests of their own.
    const std::set<std::string> apart{"less",   "equal",     "and",        "or",          "not",
                                      "format", "host_call", "switch",     "while_loop",  "while_loop_pullback",
                                      "scan",   "parallel",  "weighted",   "call",        "pack",
                                      "field",  "match",     "word_index", "format_edits"};
    std::set<std::string> covered;
    for (const DerivativeCase& of : derivative_cases()) covered.insert(of.operation);
    for (const Operation* operation : operations()) {
        const std::string name(operation->name);
        if (apart.contains(name)) continue;
        EXPECT_TRUE(covered.contains(name)) << name << " has no case";
        EXPECT_TRUE(pushforward_rules().contains(operation)) << name;
        EXPECT_TRUE(pullback_rules().contains(operation)) << name;
        EXPECT_TRUE(batch_rules().contains(operation)) << name;
    }
}

}  // namespace

std::vector<DerivativeCase> derivative_cases() {
    std::vector<DerivativeCase> all;
    add_elementwise_cases(all);
    add_reduction_cases(all);
    add_rearranging_cases(all);
    add_matrix_cases(all);
    return all;
}

}  // namespace yolk::hyper
