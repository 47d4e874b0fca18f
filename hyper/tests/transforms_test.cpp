// SPDX-License-Identifier: Apache-2.0
#include "yolk/graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "fixtures.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

double number_of(const Graph& graph, std::vector<Value> inputs, std::size_t output) {
    EXPECT_OK(validate(graph));
    const auto results = call(graph, {.inputs = std::move(inputs)});
    EXPECT_OK(results);
    return results ? results->at(output).as_number().value() : NAN;
}

/// x -> (x^3, x + 2), x being a tensor [1].
Graph cubic() {
    GraphBuilder builder("cubic");
    const Atom x = builder.input("x", {ValueKind::Tensor, {1}});
    const Atom square = builder.apply("multiply", {x, x}).value();
    const Atom cube = builder.apply("multiply", {square, x}).value();
    const Atom plus = builder.apply("add", {x, Value(2.0)}).value();
    return std::move(builder).finish({cube, plus});
}

TEST(transforms, dead_equations_go) {
    ASSERT_OK_AND_ASSIGN(const Graph left, dce(cubic(), {false, true}));
    EXPECT_THAT(operations_of(left), ElementsAre("add"));
    EXPECT_EQ(number_of(left, {Tensor::vector({3.0F})}, 0), 5.0);
    ASSERT_OK_AND_ASSIGN(const Graph nothing, dce(cubic(), {false, false}));
    EXPECT_TRUE(nothing.equations.empty());
    EXPECT_EQ(nothing.inputs.size(), 1U) << "inputs stay";
    EXPECT_THAT(dce(cubic(), {true}).error().message, HasSubstr("2 outputs, but 1 flags were given"));
}

TEST(transforms, dead_equations_go_in_bodies_and_effects_stay) {
    ASSERT_OK_AND_ASSIGN(const Graph call, as_call(cubic()));
    ASSERT_OK_AND_ASSIGN(const Graph left, dce(call, {false, true}));
    ASSERT_THAT(operations_of(left), ElementsAre("call"));
    EXPECT_THAT(operations_of(*left.equations[0].bodies[0]), ElementsAre("add"));
    EXPECT_EQ(number_of(left, {Tensor::vector({3.0F})}, 0), 5.0);
    const auto tool = hyperfunction("tool", NoParameters{}, [](double x) { return x; });
    System system("effects", [=](const Inputs& in) {
        static_cast<void>(tool(in["x"] * 2.0));
        static_cast<void>(in["x"] + 5.0);
        return in["x"] + 1.0;
    });
    ASSERT_OK_AND_ASSIGN(const TracedExample trace, system.trace({{{"x", 1.0}}, {}}));
    ASSERT_OK_AND_ASSIGN(const Graph kept, dce(trace.graph, {true}));
    EXPECT_THAT(operations_of(kept), ElementsAre("multiply", "host_call", "add"));
    ASSERT_OK_AND_ASSIGN(const Graph wrapped, as_call(trace.graph));
    ASSERT_OK_AND_ASSIGN(const Graph unused, dce(wrapped, {false}));
    ASSERT_THAT(operations_of(unused), ElementsAre("call"));
    EXPECT_THAT(operations_of(*unused.equations[0].bodies[0]), ElementsAre("multiply", "host_call"));
    EXPECT_OK(validate(unused));
}

TEST(transforms, calls_are_inlined_all_the_way_down) {
    ASSERT_OK_AND_ASSIGN(const Graph once, as_call(cubic()));
    ASSERT_OK_AND_ASSIGN(const Graph twice, as_call(once));
    EXPECT_EQ(number_of(twice, {Tensor::vector({2.0F})}, 0), 8.0) << "bodies are interpreted";
    ASSERT_OK_AND_ASSIGN(const Graph flat, inline_calls(twice));
    EXPECT_OK(validate(flat));
    EXPECT_EQ(signature(flat).value(), signature(cubic()).value());
}

TEST(transforms, derivatives_of_derivatives) {
    ASSERT_OK_AND_ASSIGN(const Graph first, pushforward(cubic()));
    const Value x = Tensor::vector({3.0F}), one = Tensor::vector({1.0F});
    EXPECT_EQ(number_of(first, {x, one}, 0), 27.0);
    EXPECT_EQ(number_of(first, {x, one}, 2), 27.0) << "3 x^2";
    EXPECT_EQ(number_of(first, {x, one}, 3), 1.0);
    ASSERT_OK_AND_ASSIGN(const Graph second, pushforward(first));
    const Value zero = Tensor::vector({0.0F});
    // Inputs x, dx, and how those move; the last outputs are the movements of the first derivative's.
    EXPECT_EQ(number_of(second, {x, one, one, zero}, 6), 18.0) << "6 x";
    ASSERT_OK_AND_ASSIGN(const Graph lean, dce(second, {false, false, false, false, false, false, true, false}));
    EXPECT_LT(lean.equations.size(), second.equations.size());
    EXPECT_EQ(number_of(lean, {x, one, one, zero}, 0), 18.0);
}

TEST(transforms, compose_in_either_order) {
    ASSERT_OK_AND_ASSIGN(const Graph call, as_call(cubic()));
    ASSERT_OK_AND_ASSIGN(const Graph of_call, pushforward(call));
    ASSERT_OK_AND_ASSIGN(const Graph inlined, inline_calls(of_call));
    ASSERT_OK_AND_ASSIGN(const Graph direct, pushforward(cubic()));
    const Value x = Tensor::vector({-1.5F}), dx = Tensor::vector({0.5F});
    for (const std::size_t output : {0U, 1U, 2U, 3U}) {
        EXPECT_EQ(number_of(of_call, {x, dx}, output), number_of(direct, {x, dx}, output));
        EXPECT_EQ(number_of(inlined, {x, dx}, output), number_of(direct, {x, dx}, output));
    }
}

TEST(transforms, derivatives_match_differences) {
    const auto layer = hyperfunction("layer", MatrixWeight{.out = 3, .in = 2}, [](const Traced& w, const Traced& x) {
        const std::vector<Traced> parts = split(tanh(linear(w, x)), {1, 2}, -1);
        return concat({sigmoid(parts[1]) * Tensor::vector({2.0F, -1.0F}), exp(parts[0]) - 3.0}, -1);
    });
    System system("net", [=](const Inputs& in) { return sum(mean(layer(in["x"])) * in["s"]); });
    const Tensor x = Tensor::create({2, 2}, {0.5F, -0.25F, 0.125F, 1.0F}).value();
    const Tensor dx = Tensor::create({2, 2}, {1.0F, 0.5F, -1.0F, 0.25F}).value();
    ASSERT_OK_AND_ASSIGN(const TracedExample trace, system.trace({{{"x", x}, {"s", Tensor::vector({1, 2})}}, {}}));
    ASSERT_OK_AND_ASSIGN(const Graph moved, pushforward(trace.graph));
    ASSERT_OK(validate(moved));
    const Tensor weight = system.parameters().find("layer")->values;
    const Value s = Tensor::vector({1, 2}), ds = Tensor::vector({0.5F, 0.0F});
    const std::vector<Value> inputs{s, x, ds, dx};  // in the order of the keys
    ASSERT_OK_AND_ASSIGN(const auto results, call(moved, {.inputs = inputs, .parameters = {weight}}));
    const auto at = [&](float step) {
        std::vector<float> xs(4), ss(2);
        for (std::size_t i = 0; i < 4; ++i) xs[i] = x.values()[i] + step * dx.values()[i];
        for (std::size_t i = 0; i < 2; ++i) ss[i] = s.tensor()->values()[i] + step * ds.tensor()->values()[i];
        return system.call({{"x", Tensor::create({2, 2}, xs).value()}, {"s", Tensor::vector(ss)}})
            .value()
            .as_number()
            .value();
    };
    const float step = 1.0F / 64.0F;
    EXPECT_NEAR(results[1].as_number().value(), (at(step) - at(-step)) / (2.0 * step), 2e-3);
}

TEST(transforms, operations_without_a_rule_are_named) {
    GraphBuilder builder("none");
    const Atom x = builder.input("x", {ValueKind::Tensor, {2}});
    const Atom y = builder.apply("argmax", {x}).value();
    const Graph graph = std::move(builder).finish({y});
    RuleTable<PushRule> more = pushforward_rules();
    more.erase(find_operation("argmax"));
    const auto moved = pushforward(graph, more);
    ASSERT_FALSE(moved);
    EXPECT_THAT(moved.error().message,
                AllOf(HasSubstr("pushforward of graph 'none'"), HasSubstr("argmax has no rule")));
    more.emplace(find_operation("argmax"),
                 [](GraphBuilder&, const Equation&, std::span<const Atom>, std::span<const Tangent>,
                    std::span<const Atom> results) -> Result<std::vector<Tangent>> {
                     return std::vector<Tangent>(results.size());
                 });
    ASSERT_OK_AND_ASSIGN(const Graph flat, pushforward(graph, more));
    EXPECT_EQ(number_of(flat, {Tensor::vector({1, 2}), Tensor::vector({1, 1})}, 1), 0.0);
}

TEST(transforms, invalid_graphs_are_refused) {
    const auto check = [](auto&& break_it) {
        Graph graph = cubic();
        break_it(graph);
        const auto valid = validate(graph);
        return valid ? std::string("valid") : valid.error().message;
    };
    EXPECT_EQ(check([](Graph&) {}), "valid");
    EXPECT_THAT(check([](Graph& g) { std::swap(g.equations[0], g.equations[1]); }), HasSubstr("nothing before it"));
    EXPECT_THAT(check([](Graph& g) { g.equations[1].results = g.equations[0].results; }), HasSubstr("again"));
    EXPECT_THAT(check([](Graph& g) { g.equations.pop_back(); }), AllOf(HasSubstr("output 1"), HasSubstr("variable 3")));
    EXPECT_THAT(check([](Graph& g) { g.outputs[0] = VariableId(99); }), HasSubstr("there are 4"));
    EXPECT_THAT(check([](Graph& g) {
                    g.variables[2].type = {ValueKind::Number, {}};
                }),
                HasSubstr("declared as number"));
    EXPECT_THAT(check([](Graph& g) { g.equations[0].operation = nullptr; }), HasSubstr("operations()"));
    EXPECT_THAT(check([](Graph& g) { g.equations[0].operands.pop_back(); }), HasSubstr("takes 2"));
    EXPECT_THAT(check([](Graph& g) { g.variables.push_back({}); }), HasSubstr("nothing defines variable 4"));
}

Graph hostile() {
    GraphBuilder builder("<script>\"&\\\n");
    const Atom x = builder.input("a\"]; <b>&amp;\x01\xff", {ValueKind::Tensor, {1}});
    const Atom y = builder.apply("multiply", {x, Value(2.0)}).value();
    const Atom text = builder.apply("format", {y}, {{"pattern", std::string("</svg>{}")}}).value();
    return std::move(builder).finish({text, y});
}

TEST(graph_text, shows_stages_places_and_reasons) {
    ASSERT_OK_AND_ASSIGN(const Graph call, as_call(cubic()));
    const std::vector<PlacedEquation> placed{{Placement::Host, "call has no kernel"}};
    EXPECT_EQ(to_text(call, placed).value(),
              "graph \"cubic\": 1 equations in 1 stages\n"
              "  %0: tensor [1] = input \"x\"\n"
              "  %1: tensor [1], %2: tensor [1] = call %0  # stage 0, host (call has no kernel)\n"
              "    graph \"cubic\": 3 equations in 2 stages\n"
              "      %0: tensor [1] = input \"x\"\n"
              "      %1: tensor [1] = multiply %0 %0  # stage 0\n"
              "      %2: tensor [1] = multiply %1 %0  # stage 1\n"
              "      %3: tensor [1] = add %0 2  # stage 0\n"
              "      output %2 %3\n"
              "  output %1 %2\n");
}

TEST(graph_text, escapes_hostile_names) {
    const Graph graph = hostile();
    const std::vector<PlacedEquation> placed{{Placement::Device, ""}, {Placement::Host, "<why>"}};
    const std::string text = to_text(graph, placed).value(), dot = to_dot(graph, placed).value(),
                      svg = to_svg(graph, placed).value();
    EXPECT_EQ(std::ranges::count(text, '\n'), 5) << text;
    EXPECT_EQ(dot.find("a\"]"), std::string::npos) << dot;
    EXPECT_THAT(dot, AllOf(HasSubstr("a\\\"]; <b>&amp;amp;"), HasSubstr("rank=same; e1;"), HasSubstr("palegreen")));
    EXPECT_EQ(svg.find("<script>"), std::string::npos);
    EXPECT_EQ(svg.find("<b>"), std::string::npos);
    EXPECT_EQ(svg.find("</svg>"), svg.size() - 7) << "the end, and nowhere before";
    EXPECT_THAT(svg,
                AllOf(HasSubstr("&lt;why&gt;"), HasSubstr("multiply"), HasSubstr("#cdeccb"), HasSubstr("#cfe3f7")));
    EXPECT_EQ(std::ranges::count_if(svg, [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\n'; }), 0);
}

}  // namespace
}  // namespace yolk::hyper
