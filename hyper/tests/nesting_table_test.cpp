// SPDX-License-Identifier: Apache-2.0
// Every pair of transforms, and common triples, against results worked out by hand: applied to
//   (x, c) -> 3 x^2, where h = 3 x is a checkpoint and c a factor.
// Transforms that change no value are put in at every place of every chain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "fixtures.hpp"
#include "traced_graphs.hpp"
#include "yolk/graph.hpp"
#include "yolk/internal/hyper/operations.hpp"

namespace yolk::hyper::nesting_tables {  // its short names are others' as well
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Transform = std::function<Result<Graph>(const Graph&)>;
using Chain = std::vector<std::string>;  ///< the first is applied first

Graph program() {
    return traced("program", {{"x", tensor_type({1})}, {"c", tensor_type({1})}}, [](std::span<const Traced> in) {
        const Traced h = checkpoint(in[0] * 3.0, "h");
        static_cast<void>(factor(in[1]));
        return TracedValues{h * in[0]};
    });
}

Value pair(float a, float b) { return matrix(2, {a, b}); }

Transform injecting(const Value& value) {
    return [value](const Graph& graph) {
        return inject(graph, {}, std::vector<std::pair<std::string, Value>>{{"h", value}});
    };
}
Transform with_static(const Value& value) {
    return [value](const Graph& graph) {
        return with_static_inputs(graph, std::vector<std::pair<std::string, Value>>{{"c", value}});
    };
}

const std::map<std::string, Transform>& transforms() {
    static const std::map<std::string, Transform> all{
        {"batch", [](const Graph& graph) { return batch(graph, {.size = 2}); }},
        {"pushforward", [](const Graph& graph) { return pushforward(graph); }},
        {"pullback", [](const Graph& graph) { return pullback(graph); }},
        {"weighted", [](const Graph& graph) { return weighted(graph); }},
        {"collect",
         [](const Graph& graph) -> Result<Graph> {
             YOLK_TRY(Collected collected, collect(graph));
             return std::move(collected.graph);
         }},
        {"inject", injecting(vector({7}))},
        {"inject a pair", injecting(pair(7, 7))},
        {"static", with_static(vector({2}))},
        {"static pair", with_static(pair(2, 3))},
        // These change no value.
        {"sched",
         [](const Graph& graph) {
             return sched(graph, [](const Equation& equation) { return equation.operation->name == "multiply"; });
         }},
        {"dce", [](const Graph& graph) { return dce(graph, std::vector<bool>(graph.outputs.size(), true)); }},
        {"inline_calls", [](const Graph& graph) { return inline_calls(graph); }},
        {"as_call", [](const Graph& graph) { return as_call(graph); }},
        {"fold", [](const Graph& graph) { return fold(graph); }},
    };
    return all;
}

std::string named(const Chain& chain) {
    std::string text = "program";
    for (const std::string& name : chain) text = name + "(" + text + ")";
    return text;
}

Result<Graph> applied(const Chain& chain) {
    Graph graph = program();
    for (const std::string& name : chain) {
        YOLK_TRY(graph, transforms().at(name)(graph));
    }
    return graph;
}

struct Row {
    Chain chain;
    std::vector<Value> inputs;
    std::vector<Value> outputs;
};

const Value x = vector({5}), c = vector({2}), one = vector({1}), none = vector({0});
const Value xs = pair(5, 1), cs = pair(2, 3), ones = pair(1, 10), zeros = pair(0, 0);

std::vector<Row> ones_of_each() {
    return {
        {{}, {x, c}, {vector({75})}},
        {{"batch"}, {xs, cs}, {pair(75, 3)}},
        {{"pushforward"}, {x, c, one, none}, {vector({75}), vector({30})}},
        {{"pullback"}, {x, c, one}, {vector({75}), vector({30}), none}},
        {{"weighted"}, {x, c}, {vector({75}), 2.0}},
        {{"collect"}, {x, c}, {vector({75}), vector({15})}},
        {{"inject"}, {x, c}, {vector({35})}},
        {{"static"}, {x}, {vector({75})}},
    };
}

std::vector<Row> pairs_with_batch() {
    const Value four = Tensor::create({2, 2, 1}, {5, 1, 2, 3}).value();
    return {
        {{"batch", "batch"}, {four, four}, {Tensor::create({2, 2, 1}, {75, 3, 12, 27}).value()}},
        {{"batch", "pushforward"}, {xs, cs, ones, zeros}, {pair(75, 3), pair(30, 60)}},
        {{"pushforward", "batch"}, {xs, cs, ones, zeros}, {pair(75, 3), pair(30, 60)}},
        {{"batch", "pullback"}, {xs, cs, ones}, {pair(75, 3), pair(30, 60), zeros}},
        {{"pullback", "batch"}, {xs, cs, ones}, {pair(75, 3), pair(30, 60), zeros}},
        {{"batch", "weighted"}, {xs, cs}, {pair(75, 3), 6.0}},
        {{"weighted", "batch"}, {xs, cs}, {pair(75, 3), vector({2, 3})}},
        {{"batch", "collect"}, {xs, cs}, {pair(75, 3), pair(15, 3)}},
        {{"collect", "batch"}, {xs, cs}, {pair(75, 3), pair(15, 3)}},
        {{"batch", "inject a pair"}, {xs, cs}, {pair(35, 7)}},
        {{"inject", "batch"}, {xs, cs}, {pair(35, 7)}},
        {{"batch", "static pair"}, {xs}, {pair(75, 3)}},
        {{"static", "batch"}, {xs}, {pair(75, 3)}},
    };
}

std::vector<Row> pairs_of_derivatives() {
    const Value y = vector({75}), d = vector({30}), six = vector({6});
    return {
        // d(6 x dx): 6 of the second derivative.
        {{"pushforward", "pushforward"}, {x, c, one, none, one, none, none, none}, {y, d, d, six}},
        {{"pullback", "pushforward"}, {x, c, one, one, none, none}, {y, d, none, d, six, none}},
        {{"pushforward", "pullback"}, {x, c, one, none, none, one}, {y, d, six, none, d, none}},
        {{"pullback", "pullback"}, {x, c, one, none, one, none}, {y, d, none, six, none, d}},
        {{"pushforward", "weighted"}, {x, c, one, none}, {y, d, 2.0}},
        {{"pullback", "weighted"}, {x, c, one}, {y, d, none, 2.0}},
        {{"pushforward", "collect"}, {x, c, one, none}, {y, d, vector({15})}},
        {{"collect", "pushforward"}, {x, c, one, none}, {y, vector({15}), d, vector({3})}},
        {{"pullback", "collect"}, {x, c, one}, {y, d, none, vector({15})}},
        // 6 x * 1 + 3 * 10
        {{"collect", "pullback"}, {x, c, one, vector({10})}, {y, vector({15}), vector({60}), none}},
        // A value that is put in later does not change how h moves: 3 x + 7; one that is there before does: 7.
        {{"pushforward", "inject"}, {x, c, one, none}, {vector({35}), vector({22})}},
        {{"inject", "pushforward"}, {x, c, one, none}, {vector({35}), vector({7})}},
        {{"pullback", "inject"}, {x, c, one}, {vector({35}), vector({22}), none}},
        {{"inject", "pullback"}, {x, c, one}, {vector({35}), vector({7}), none}},
        {{"pushforward", "static"}, {x, one, none}, {y, d}},
        {{"static", "pushforward"}, {x, one}, {y, d}},
        {{"pullback", "static"}, {x, one}, {y, d, none}},
        {{"static", "pullback"}, {x, one}, {y, d}},
    };
}

std::vector<Row> pairs_of_others() {
    const Value y = vector({75}), h = vector({15});
    return {
        {{"weighted", "weighted"}, {x, c}, {y, 2.0, 1.0}},  // an inner one keeps its factors
        {{"collect", "weighted"}, {x, c}, {y, h, 2.0}},
        {{"inject", "weighted"}, {x, c}, {vector({35}), 2.0}},
        {{"weighted", "static"}, {x}, {y, 2.0}},
        {{"static", "weighted"}, {x}, {y, 2.0}},
        {{"collect", "collect"}, {x, c}, {y, h, h}},
        {{"collect", "inject"}, {x, c}, {vector({35}), vector({7})}},
        {{"inject", "collect"}, {x, c}, {vector({35}), h}},  // what came to the checkpoint
        {{"inject", "inject"}, {x, c}, {vector({35})}},
        {{"collect", "static"}, {x}, {y, h}},
        {{"static", "collect"}, {x}, {y, h}},
        {{"inject", "static"}, {x}, {vector({35})}},
        {{"static", "inject"}, {x}, {vector({35})}},
    };
}

std::vector<Row> triples() {
    const Value ys = pair(75, 3), d = pair(30, 60), second = pair(6, 60), z = zeros;
    const Value plain = pair(1, 1);
    std::vector<Row> rows;
    // (x, c, dy, then how they move): 6 dx dy.
    for (const Chain& chain : {Chain{"pullback", "pushforward", "batch"}, Chain{"pullback", "batch", "pushforward"},
                               Chain{"batch", "pullback", "pushforward"}})
        rows.push_back({chain, {xs, cs, ones, plain, z, z}, {ys, d, z, pair(30, 6), second, z}});
    // (x, c, dx, dc, then cotangents of y and dy).
    for (const Chain& chain : {Chain{"pushforward", "pullback", "batch"}, Chain{"pushforward", "batch", "pullback"},
                               Chain{"batch", "pushforward", "pullback"}})
        rows.push_back({chain, {xs, cs, ones, z, z, plain}, {ys, d, second, z, pair(30, 6), z}});
    for (const Chain& chain : {Chain{"pullback", "weighted", "batch"}, Chain{"pullback", "batch", "weighted"},
                               Chain{"batch", "pullback", "weighted"}}) {
        const bool together = chain.back() == "weighted";
        rows.push_back({chain, {xs, cs, ones}, {ys, d, z, together ? Value(6.0) : vector({2, 3})}});
    }
    rows.push_back({{"collect", "pullback", "batch"}, {xs, cs, plain, ones}, {ys, pair(15, 3), pair(33, 36), z}});
    rows.push_back({{"static", "pullback", "batch"}, {xs, ones}, {ys, d}});
    rows.push_back({{"inject", "pullback", "batch"}, {xs, cs, ones}, {pair(35, 7), pair(7, 70), z}});
    return rows;
}

/// Under call, call_async, a walk, and a memo that is empty and full.
void check(const Row& row) {
    SCOPED_TRACE(named(row.chain));
    ASSERT_OK_AND_ASSIGN(const Graph graph, applied(row.chain));
    EXPECT_EQ(run(graph, row.inputs), row.outputs);
    Memo memo;
    for (int time = 0; time < 2; ++time) {
        const auto remembered = call(graph, {.inputs = row.inputs}, memo);
        ASSERT_OK(remembered);
        EXPECT_EQ(*remembered, row.outputs) << "with a memo, time " << time;
    }
}

class nesting_table : public ::testing::TestWithParam<std::string> {};  // what is put in between

TEST_P(nesting_table, gives_what_was_worked_out) {
    for (const auto& rows :
         {ones_of_each(), pairs_with_batch(), pairs_of_derivatives(), pairs_of_others(), triples()}) {
        for (const Row& row : rows) {
            if (GetParam() == "nothing") {
                check(row);
                continue;
            }
            for (std::size_t place = 0; place <= row.chain.size(); ++place) {
                Row longer = row;
                longer.chain.insert(longer.chain.begin() + static_cast<std::ptrdiff_t>(place), GetParam());
                check(longer);
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(each, nesting_table,
                         ::testing::Values("nothing", "sched", "dce", "inline_calls", "as_call", "fold"),
                         [](const auto& name) { return name.param; });

TEST(nesting_pairs, without_a_meaning_are_refused_with_both_names) {
    for (const char* derivative : {"pushforward", "pullback"}) {
        EXPECT_THAT(refusal(applied({"weighted", derivative})), AllOf(HasSubstr(derivative), HasSubstr("weighted")));
        EXPECT_THAT(refusal(applied({"weighted", "batch", derivative})),
                    AllOf(HasSubstr(derivative), HasSubstr("weighted")));
    }
    for (const char* named_values : {"collect", "inject"})
        EXPECT_THAT(refusal(applied({"weighted", named_values})),
                    AllOf(HasSubstr(named_values), HasSubstr("weighted")));
    EXPECT_THAT(refusal(applied({"static", "static"})), AllOf(HasSubstr("'c'"), HasSubstr("static")));
}

// --- an operation of a user's own

Result<std::vector<ValueType>> cube_types(const Equation&, std::span<const ValueType> operands) {
    return std::vector<ValueType>{operands[0]};
}
Result<std::vector<Value>> evaluate_cube(const Equation&, std::span<const Value> operands) {
    std::vector<float> values(operands[0].tensor()->values().begin(), operands[0].tensor()->values().end());
    for (float& value : values) value = value * value * value;
    YOLK_TRY(Tensor tensor, Tensor::create(operands[0].tensor()->shape(), std::move(values)));
    return std::vector<Value>{std::move(tensor)};
}
constexpr Operation kCube{"cube", cube_types, evaluate_cube};

/// 3 x^2 t
Result<std::vector<Tangent>> cube_moved(GraphBuilder& builder, const Atom& operand, const Tangent& moving) {
    YOLK_TRY(const Atom square, builder.apply("multiply", {operand, operand}));
    YOLK_TRY(const Atom slope, builder.apply("multiply", {square, Value(3.0)}));
    YOLK_TRY(Atom moved, builder.apply("multiply", {slope, *moving}));
    return std::vector<Tangent>{std::move(moved)};
}

Graph cubing() {
    GraphBuilder builder("cubing");
    const VariableId input = builder.input("x", tensor_type({1}));
    const auto results = builder.add({.operation = &kCube, .operands = {input}});
    EXPECT_OK(results);
    return std::move(builder).finish({results->at(0)});
}

TEST(own_operation, has_rules_in_every_transform) {
    auto push = pushforward_rules();
    push.emplace(&kCube, [](GraphBuilder& builder, const Equation&, std::span<const Atom> operands,
                            std::span<const Tangent> tangents,
                            std::span<const Atom>) { return cube_moved(builder, operands[0], tangents[0]); });
    auto pull = pullback_rules();
    pull.emplace(&kCube, [](GraphBuilder& builder, const Equation&, std::span<const Atom> operands,
                            std::span<const Atom>, std::span<const Tangent> cotangents,
                            const std::vector<bool>&) { return cube_moved(builder, operands[0], cotangents[0]); });
    auto batching = batch_rules();
    int batched_calls = 0;
    batching.emplace(
        &kCube,
        [&](GraphBuilder& builder, std::uint64_t, const Equation& equation, std::span<const Batched> operands,
            std::span<const ValueType> results) -> Result<std::vector<Batched>> {
            ++batched_calls;
            Equation whole = equation;
            whole.operands = {operands[0].atoms[0]};
            YOLK_TRY(const std::vector<Atom> stack, builder.add(std::move(whole)));
            return std::vector<Batched>{{Batched::Form::Stacked, {stack[0]}, results[0]}};
        });
    const Graph graph = cubing();
    EXPECT_THAT(refusal(pushforward(graph)), AllOf(HasSubstr("pushforward"), HasSubstr("operation cube")));
    EXPECT_THAT(refusal(pullback(graph)), AllOf(HasSubstr("pullback"), HasSubstr("operation cube")));
    ASSERT_OK_AND_ASSIGN(const Graph pushed, pushforward(graph, push));
    EXPECT_EQ(run(pushed, {vector({2}), vector({10})}), (std::vector<Value>{vector({8}), vector({120})}));
    ASSERT_OK_AND_ASSIGN(const Graph pulled, pullback(graph, {.rules = &pull}));
    EXPECT_EQ(run(pulled, {vector({2}), vector({10})}), (std::vector<Value>{vector({8}), vector({120})}));
    // Without a rule the operation is repeated for each element; with one it runs once.
    ASSERT_OK_AND_ASSIGN(const Graph repeated, batch(graph, {.size = 2}));
    EXPECT_EQ(run(repeated, {pair(2, 3)})[0], pair(8, 27));
    ASSERT_OK_AND_ASSIGN(const Graph each, batch(pulled, {.size = 2, .rules = &batching}));
    EXPECT_EQ(run(each, {pair(2, 3), pair(10, 1)}), (std::vector<Value>{pair(8, 27), pair(120, 27)}));
    EXPECT_EQ(batched_calls, 1);
    EXPECT_EQ(std::ranges::count(operations_of(each), "cube"), 1);
}

}  // namespace
}  // namespace yolk::hyper::nesting_tables
