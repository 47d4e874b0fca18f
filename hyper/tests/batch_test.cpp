// SPDX-License-Identifier: Apache-2.0
// A batch against its elements one by one.
#include "yolk/graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "derivative_cases.hpp"
#include "fixtures.hpp"
#include "traced_graphs.hpp"
#include "yolk/internal/hyper/hyperfunction.hpp"

namespace yolk::hyper {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::uint64_t kSize = 3;
using Axes = std::vector<std::optional<std::size_t>>;

/// Value `element` of input `input`: not the same twice, inside the case's range.
Value element_of(const DerivativeCase& of, std::size_t input, std::uint64_t element) {
    const ValueType& type = of.inputs[input];
    const std::uint64_t count = type.kind == ValueKind::Number ? 1 : type.shape.element_count().value();
    std::vector<float> values;
    for (std::uint64_t i = 0; i < count; ++i) {
        const double place = static_cast<double>((i * 37 + element * 11 + input * 5) % 64 + 1) / 66.0;
        values.push_back(static_cast<float>(of.low + (of.high - of.low) * place));
    }
    if (type.kind == ValueKind::Number) return double{values[0]};
    return Tensor::create(type.shape, std::move(values)).value();
}

/// Values of one type as a batch comes and goes: a tensor [size, ...].
Value stack_of(const std::vector<Value>& values) {
    const ValueType type = type_of(values[0]);
    std::vector<std::uint64_t> extents{values.size()};
    extents.insert(extents.end(), type.shape.extents().begin(), type.shape.extents().end());
    std::vector<float> all;
    for (const Value& value : values) {
        if (const Tensor* tensor = value.tensor()) {
            all.insert(all.end(), tensor->values().begin(), tensor->values().end());
        } else {
            all.push_back(static_cast<float>(value.as_number().value()));
        }
    }
    return Tensor::create(Shape(std::move(extents)), std::move(all)).value();
}

/// Products of a batched weight are those of another kernel, and numbers are fp32 in a batch: a rounding apart.
void expect_same(const Value& got, const Value& wanted, bool to_the_bit, const std::string& what) {
    ASSERT_EQ(type_of(got), type_of(wanted)) << what;
    if (to_the_bit) {
        EXPECT_EQ(got, wanted) << what;
        return;
    }
    for (std::size_t i = 0; i < got.tensor()->values().size(); ++i) {
        const float a = got.tensor()->values()[i], b = wanted.tensor()->values()[i];
        EXPECT_NEAR(a, b, 0x1p-20 * (1.0 + std::abs(b))) << what << ", element " << i;
    }
}

void check_batch(const DerivativeCase& of, const std::vector<bool>& batched) {
    const Graph graph = graph_of(of);
    Axes axes;
    std::vector<Value> together;
    std::vector<std::vector<Value>> apart(kSize);
    for (std::size_t i = 0; i < of.inputs.size(); ++i) {
        std::vector<Value> values;
        for (std::uint64_t k = 0; k < kSize; ++k) values.push_back(element_of(of, i, batched[i] ? k : 0));
        for (std::uint64_t k = 0; k < kSize; ++k) apart[k].push_back(values[k]);
        axes.push_back(batched[i] ? std::optional<std::size_t>(0) : std::nullopt);
        together.push_back(batched[i] ? stack_of(values) : values[0]);
    }
    const auto transformed = batch(graph, {.size = kSize, .axes = axes});
    ASSERT_OK(transformed) << graph.name;
    const std::vector<Value> got = run(*transformed, together);
    std::vector<std::vector<Value>> wanted(graph.outputs.size());
    for (const auto& inputs : apart) {
        ASSERT_OK_AND_ASSIGN(const auto results, call(graph, {.inputs = inputs}));
        for (std::size_t i = 0; i < results.size(); ++i) wanted[i].push_back(results[i]);
    }
    ASSERT_EQ(got.size(), wanted.size()) << graph.name;
    const bool exact = !of.operation.starts_with("linear") &&
                       std::ranges::none_of(of.inputs, [](const ValueType& t) { return t.kind == ValueKind::Number; });
    for (std::size_t i = 0; i < got.size(); ++i) expect_same(got[i], stack_of(wanted[i]), exact, graph.name);
}

TEST(batch, of_every_operation_gives_what_its_elements_give) {
    for (const DerivativeCase& of : derivative_cases()) {
        check_batch(of, std::vector<bool>(of.inputs.size(), true));
        for (std::size_t i = 0; of.inputs.size() > 1 && i < of.inputs.size(); ++i) {
            std::vector<bool> one(of.inputs.size(), false);
            one[i] = true;
            check_batch(of, one);
        }
    }
}

TEST(batch, of_ids_that_differ_from_element_to_element) {
    struct ByIds {
        const char* operation;
        std::vector<ValueType> inputs;  // ids: the second
        std::int64_t dimension;
    };
    const std::vector<ByIds> cases{{"gather", {tensor({4, 2}), tensor({3})}, 0},
                                   {"gather", {tensor({2, 4, 3}), tensor({2, 2})}, 1},
                                   {"gather", {tensor({2, 4}), tensor({3})}, 1},
                                   {"embedding", {tensor({4, 2}), tensor({3})}, 0},
                                   {"scatter", {tensor({4, 2}), tensor({3}), tensor({3, 2})}, 0},
                                   {"scatter", {tensor({2, 4, 3}), tensor({2, 2}), tensor({2, 2, 2, 3})}, 1},
                                   {"scatter_add", {tensor({4, 2}), tensor({3}), tensor({3, 2})}, 0},
                                   {"scatter_add", {tensor({2, 4, 3}), tensor({2, 2}), tensor({2, 2, 2, 3})}, 1}};
    for (const ByIds& by : cases) {
        DerivativeCase of = plain_case(by.operation, by.inputs, 0.0, 4.0, {{"dimension", by.dimension}});
        of.build = [inner = of.build](GraphBuilder& builder, std::vector<Atom> x) -> Result<std::vector<Atom>> {
            YOLK_TRY(x[1], builder.apply("floor", {x[1]}));
            return inner(builder, x);
        };
        for (const bool table : {false, true}) check_batch(of, {table, true, table});
        check_batch(of, {true, false, false});
    }
    const DerivativeCase of = plain_case("gather", {tensor({4}), tensor({1})}, 0, 4, {{"dimension", std::int64_t{0}}});
    ASSERT_OK_AND_ASSIGN(const Graph graph, batch(graph_of(of), {.size = 2}));
    EXPECT_THAT(refusal(call(graph, {.inputs = {matrix(2, {1, 2, 3, 4, 5, 6, 7, 8}), matrix(2, {4, 0})}})),
                HasSubstr("id 4"))
        << "not the next element's row 0";
}

Graph small_network() {
    return traced(
        "net", {{"x", tensor_type({4})}, {"w", tensor_type({3, 4})}, {"b", tensor_type({3})}},
        [](std::span<const Traced> in) { return TracedValues{sum(tanh(linear(in[1], in[0]) + in[2]) * 2.0)}; });
}

TEST(batch, of_a_thousand_takes_the_equations_of_one) {
    const Axes axes{0, std::nullopt, std::nullopt};
    const Graph one = small_network();
    ASSERT_OK_AND_ASSIGN(const Graph two, batch(one, {.size = 2, .axes = axes}));
    ASSERT_OK_AND_ASSIGN(const Graph thousand, batch(one, {.size = 1000, .axes = axes}));
    EXPECT_EQ(operations_of(two), operations_of(thousand));
    EXPECT_EQ(operations_of(two), operations_of(one)) << "the same equations, on larger tensors";
}

TEST(batch, along_other_dimensions_and_of_shared_outputs) {
    const Graph graph =
        traced("axes", {{"x", tensor_type({2})}, {"y", tensor_type({2})}}, [](std::span<const Traced> in) {
            return TracedValues{in[0] * 2.0, in[1] + 1.0, Traced(5.0)};
        });
    ASSERT_OK_AND_ASSIGN(const Graph columns, batch(graph, {.size = 3, .axes = {1, std::nullopt}}));
    EXPECT_EQ(run(columns, {matrix(2, {1, 2, 3, 4, 5, 6}), vector({7, 8})}),
              (std::vector<Value>{matrix(3, {2, 8, 4, 10, 6, 12}), matrix(3, {8, 9, 8, 9, 8, 9}), vector({5, 5, 5})}));
    EXPECT_THAT(refusal(batch(graph, {.size = 0})), AllOf(HasSubstr("batch of graph 'axes'"), HasSubstr("empty")));
    EXPECT_THAT(refusal(batch(graph, {.size = 2, .axes = {0}})), HasSubstr("1 axes for 2 inputs"));
    EXPECT_THAT(refusal(batch(graph, {.size = 2, .axes = {2, 0}})), AllOf(HasSubstr("input 'x'"), HasSubstr("0 to 1")));
}

TEST(batch, of_text_repeats_what_has_no_tensors) {
    // The program x -> ([x], <x>), and with a second input that all share.
    const Graph graph = traced("brackets", {{"x", text_type()}, {"y", text_type()}}, [](std::span<const Traced> in) {
        return TracedValues{format("[{}]", {in[0]}), format("<{}>", {in[1]})};
    });
    ASSERT_OK_AND_ASSIGN(const Graph both, batch(graph, {.size = 3}));
    EXPECT_EQ(run(both, {"A", "B", "C", "A", "B", "C"}),
              (std::vector<Value>{"[A]", "[B]", "[C]", "<A>", "<B>", "<C>"}));
    ASSERT_OK_AND_ASSIGN(const Graph first, batch(graph, {.size = 3, .axes = {0, std::nullopt}}));
    EXPECT_EQ(run(first, {"A", "B", "C", "S"}), (std::vector<Value>{"[A]", "[B]", "[C]", "<S>", "<S>", "<S>"}));
    EXPECT_EQ(first.inputs[1].first, "x 1");
    EXPECT_EQ(std::ranges::count(operations_of(first), "format"), 4) << "the shared one once";
}

TEST(batch, of_host_functions_calls_them_for_each_element) {
    std::atomic<int> calls = 0;
    const auto tool = hyperfunction("tool", NoParameters{}, [&](double x) {
        ++calls;
        return x * 2.0;
    });
    const Graph graph = traced("host", {{"x", number_type()}},
                               [&](std::span<const Traced> in) { return TracedValues{tool(in[0]) + 1.0}; });
    ASSERT_OK_AND_ASSIGN(const Graph batched, batch(graph, {.size = 3}));
    ASSERT_OK_AND_ASSIGN(const auto results, call(batched, {.inputs = {vector({1, 2, 3})}}));
    EXPECT_EQ(results, std::vector<Value>{vector({3, 5, 7})});
    EXPECT_EQ(calls, 3);
}

Graph doubled_to_bound() {
    return traced("doubling", {{"x", number_type()}, {"bound", number_type()}}, [](std::span<const Traced> in) {
        return while_loop(
            std::vector<Traced>{in[0], Traced(0.0)}, [&](std::span<const Traced> c) { return less(c[0], in[1]); },
            [](std::span<const Traced> c) {
                return TracedValues{c[0] * 2.0, c[1] + 1.0};
            },
            6);
    });
}

TEST(batch, of_a_loop_stops_each_element_by_itself) {
    ASSERT_OK_AND_ASSIGN(const Graph batched, batch(doubled_to_bound(), {.size = 4}));
    EXPECT_EQ(run(batched, {vector({1, 8, 3, 100}), vector({16, 16, 96, 50})}),
              (std::vector<Value>{vector({16, 16, 96, 100}), vector({4, 1, 5, 0})}));
    EXPECT_EQ(operations_of(batched).back(), "while_loop");
    ASSERT_OK_AND_ASSIGN(const Graph shared,
                         batch(doubled_to_bound(), {.size = 2, .axes = {std::nullopt, std::nullopt}}));
    EXPECT_EQ(run(shared, {1.0, 4.0}), (std::vector<Value>{vector({4, 4}), vector({2, 2})}));
    EXPECT_THAT(refusal(call(batched, {.inputs = {vector({1, 8, 3, 1}), vector({16, 16, 96, 500})}})),
                AllOf(HasSubstr("while_loop"), HasSubstr("after 6 steps")));
}

TEST(batch, of_a_loop_with_text_and_with_effects) {
    std::atomic<int> calls = 0;
    const auto tool = hyperfunction("more", NoParameters{}, [&](double x) {
        ++calls;
        return x + 1.0;
    });
    const auto graph_with = [&](bool host) {
        return traced("words", {{"word", text_type()}, {"n", number_type()}}, [&, host](std::span<const Traced> in) {
            return while_loop(
                std::vector<Traced>{in[0], Traced(0.0)}, [&](std::span<const Traced> c) { return less(c[1], in[1]); },
                [&](std::span<const Traced> c) {
                    return TracedValues{format("({})", {c[0]}), host ? tool(c[1]) : c[1] + 1.0};
                },
                6);
        });
    };
    const std::vector<Value> inputs{"a", "b", "c", vector({2, 0, 1})};
    const std::vector<Value> outputs{"((a))", "b", "(c)", vector({2, 0, 1})};
    ASSERT_OK_AND_ASSIGN(const Graph masked, batch(graph_with(false), {.size = 3}));
    EXPECT_EQ(run(masked, inputs), outputs);
    ASSERT_OK_AND_ASSIGN(const Graph repeated, batch(graph_with(true), {.size = 3}));
    ASSERT_OK_AND_ASSIGN(const auto results, call(repeated, {.inputs = inputs}));
    EXPECT_EQ(results, outputs);
    EXPECT_EQ(calls, 3) << "only where a step was made";
}

TEST(batch, of_branches_takes_each_elements_own) {
    const auto branches = [](bool truth) {
        return traced("branches", {{"key", truth ? boolean_type() : number_type()}, {"x", tensor_type({2})}},
                      [](std::span<const Traced> in) {
                          return switch_on(in[0], {[&] {
                                                       return TracedValues{in[1] * 2.0, Traced("even")};
                                                   },
                                                   [&] {
                                                       return TracedValues{in[1] * 3.0, Traced("odd")};
                                                   }});
                      });
    };
    const Value xs = matrix(3, {1, 2, 3, 4, 5, 6});
    for (const bool truth : {false, true}) {
        ASSERT_OK_AND_ASSIGN(const Graph each, batch(branches(truth), {.size = 3}));
        EXPECT_EQ(run(each, {vector({0, 1, 0}), xs}),
                  (std::vector<Value>{matrix(3, {2, 4, 9, 12, 10, 12}), "even", "odd", "even"}));
        ASSERT_OK_AND_ASSIGN(const Graph shared, batch(branches(truth), {.size = 3, .axes = {std::nullopt, 0}}));
        EXPECT_EQ(run(shared, {truth ? Value(true) : Value(1.0), xs}),
                  (std::vector<Value>{matrix(3, {3, 6, 9, 12, 15, 18}), "odd", "odd", "odd"}));
    }
    ASSERT_OK_AND_ASSIGN(const Graph each, batch(branches(false), {.size = 2}));
    EXPECT_FALSE(call(each, {.inputs = {vector({0, 2}), matrix(2, {1, 2, 3, 4})}})) << "no branch 2";
}

TEST(batch, of_a_scan_scans_all_elements_at_once) {
    const Graph graph = traced("scan", {{"start", number_type()}, {"xs", tensor_type({3})}, {"w", tensor_type({2})}},
                               [](std::span<const Traced> in) {
                                   const Scanned all = scan(std::vector<Traced>{in[0]}, std::vector<Traced>{in[1]},
                                                            [&](std::span<const Traced> c, std::span<const Traced> x) {
                                                                const Traced next = c[0] * 2.0 + to_number(x[0]);
                                                                return Scanned{{next}, {next, in[2] * x[0], x[0]}};
                                                            });
                                   return TracedValues{all.carries[0], all.results[0], all.results[1], all.results[2]};
                               });
    const std::vector<Value> starts{1.0, 2.0}, xs{vector({1, 2, 3}), vector({4, 5, 6})},
        ws{vector({1, 10}), vector({2, 20})};
    for (const bool start : {false, true}) {
        for (const bool sequence : {false, true}) {
            for (const bool constant : {false, true}) {
                Axes axes;
                std::vector<Value> together;
                for (const auto& [batched, values] :
                     {std::pair{start, &starts}, std::pair{sequence, &xs}, std::pair{constant, &ws}}) {
                    axes.push_back(batched ? std::optional<std::size_t>(0) : std::nullopt);
                    together.push_back(batched ? stack_of(*values) : (*values)[0]);
                }
                const std::vector<Value> got = run(batch(graph, {.size = 2, .axes = axes}).value(), together);
                const std::vector<Value> first = run(graph, {starts[0], xs[0], ws[0]});
                const std::vector<Value> second = run(graph, {starts[start], xs[sequence], ws[constant]});
                ASSERT_EQ(got.size(), first.size());
                for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], stack_of({first[i], second[i]})) << i;
            }
        }
    }
}

}  // namespace
}  // namespace yolk::hyper
