// SPDX-License-Identifier: Apache-2.0
// Graphs and programs that do not hold: errors name the equation and the line of the program that made it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <source_location>

#include "fixtures.hpp"
#include "traced_graphs.hpp"
#include "yolk/graph.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/optimize.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

auto in_line(std::uint32_t line) { return HasSubstr(fmt::format("bad_input_test.cpp:{}", line)); }
std::uint32_t here(const std::source_location& line = std::source_location::current()) { return line.line(); }

TEST(bad_input, a_cycle) {
    Graph graph = traced("cycle", {{"x", tensor_type({1})}}, [](std::span<const Traced> in) {
        const Traced a = in[0] + 1.0;
        return TracedValues{a * 2.0};
    });
    const std::uint32_t line = here() - 3;
    graph.equations[0].operands[0] = graph.equations[1].results[0];  // a = a * 2 + 1
    EXPECT_THAT(refusal(validate(graph)),
                AllOf(HasSubstr("equation 0 (add"), in_line(line), HasSubstr("nothing before it defines")));
    EXPECT_THAT(refusal(call(graph, {.inputs = {vector({1})}})), AllOf(HasSubstr("equation 0 (add"), in_line(line)));
    auto pool = HostPool::create({.threads = 1});
    EXPECT_THAT(refusal(call_async(graph, {.inputs = {vector({1})}}, *pool)),
                AllOf(HasSubstr("equation 0 (add"), in_line(line)));
}

TEST(bad_input, shapes_that_do_not_go_together) {
    std::uint32_t line = 0;
    const auto program = [&](const Traced& a, const Traced& b) {
        line = here() + 1;
        return a + b;
    };
    System system("s", [&](const Inputs& in) { return program(in["a"], in["b"]); });
    const std::string run_once = refusal(system.call({{"a", vector({1, 2})}, {"b", vector({1, 2, 3})}}));
    EXPECT_THAT(run_once,
                AllOf(HasSubstr("equation 0"), HasSubstr("add"), HasSubstr("[2]"), HasSubstr("[3]"), in_line(line)));
    const InputTypes inputs{{"a", tensor_type({2})}, {"b", tensor_type({3})}};
    EXPECT_THAT(
        refusal(trace("t", inputs, [&](std::span<const Traced> in) { return TracedValues{program(in[0], in[1])}; })),
        AllOf(HasSubstr("add"), in_line(line)));
}

TEST(bad_input, a_transform_of_what_has_no_rule) {
    const auto tool = hyperfunction("tool", NoParameters{}, [](double x) { return x; });
    const Graph graph =
        traced("g", {{"x", number_type()}}, [&](std::span<const Traced> in) { return TracedValues{tool(in[0])}; });
    const std::uint32_t line = here() - 1;
    EXPECT_THAT(refusal(pushforward(graph)),
                AllOf(HasSubstr("pushforward"), HasSubstr("host_call"), HasSubstr("'tool'"), in_line(line)));
    EXPECT_THAT(refusal(pullback(graph)),
                AllOf(HasSubstr("pullback"), HasSubstr("host_call"), HasSubstr("'tool'"), in_line(line)));
}

TEST(bad_input, axes_that_do_not_fit_and_an_empty_batch) {
    const Graph graph =
        traced("g", {{"x", tensor_type({2})}}, [](std::span<const Traced> in) { return TracedValues{in[0] * 2.0}; });
    EXPECT_THAT(refusal(batch(graph, {.size = 0})), AllOf(HasSubstr("'g'"), HasSubstr("the batch is empty")));
    EXPECT_THAT(refusal(batch(graph, {.size = 2, .axes = {0, 0}})), HasSubstr("2 axes for 1 inputs"));
    EXPECT_THAT(refusal(batch(graph, {.size = 2, .axes = {2}})),
                AllOf(HasSubstr("input 'x'"), HasSubstr("dimension 2"), HasSubstr("from 0 to 1")));
    ASSERT_OK_AND_ASSIGN(const Graph two, batch(graph, {.size = 2}));
    EXPECT_THAT(refusal(call(two, {.inputs = {matrix(3, {1, 2, 3, 4, 5, 6})}})),
                AllOf(HasSubstr("input 'x'"), HasSubstr("[3, 2]"), HasSubstr("[2, 2]")));
}

TEST(bad_input, a_condition_that_steers_the_program) {
    const auto knob = hyperfunction("knob", VectorWeight{.size = 1, .values = Tensor::vector({1.0F})},
                                    [](const Traced& w, const Traced& x) { return w * x; });
    std::uint32_t line = 0;
    System system("s", [&](const Inputs& in) {
        Traced x = knob(in["x"]);
        line = here() + 1;
        while (x.number() < 9.0) x = x * 2.0;
        return x;
    });
    const std::string steered = refusal(system.call({{"x", vector({1})}}));
    EXPECT_THAT(steered, AllOf(HasSubstr("Control flow depends on a parameter"), HasSubstr("select()"), in_line(line)));
    const InputTypes inputs{{"x", number_type()}};
    const auto looked = trace("g", inputs, [&](std::span<const Traced> in) {
        return TracedValues{while_loop(
            in[0], [](const Traced& x) { return less(x, 9.0); },
            [&](const Traced& x) {
                line = here() + 1;
                return x.number() > 2.0 ? x : x * 2.0;
            },
            9)};
    });
    EXPECT_THAT(refusal(looked), AllOf(HasSubstr("body 'step'"), HasSubstr("switch_on"), in_line(line)));
}

TEST(bad_input, a_graph_that_is_too_deep) {
    // Functions that call themselves without an end.
    std::function<Traced(const Traced&)> inside = [&](const Traced& x) {
        return custom_call("again", std::span(&x, 1), [&](std::span<const Traced> in) { return inside(in[0]); });
    };
    const std::uint32_t line = here() - 2;
    const InputTypes inputs{{"x", number_type()}};
    EXPECT_THAT(refusal(trace("deep", inputs, [&](std::span<const Traced> in) { return TracedValues{inside(in[0])}; })),
                AllOf(HasSubstr("'again'"), HasSubstr("100 deep"), in_line(line)));
    Graph graph = traced("g", inputs, [](std::span<const Traced> in) { return TracedValues{in[0] * 2.0}; });
    Result<Graph> deeper = graph;
    std::size_t depth = 0;
    while ((deeper = as_call(graph))) {
        graph = *deeper;
        ASSERT_LE(++depth, kMostNesting);
    }
    EXPECT_EQ(depth, kMostNesting);
    EXPECT_THAT(refusal(deeper), AllOf(HasSubstr("as_call"), HasSubstr("100 deep")));
    EXPECT_EQ(run(graph, {3.0}), std::vector<Value>{6.0}) << "the deepest that is allowed runs";
    Graph by_hand{.name = "by hand"};
    by_hand.equations.push_back(
        {.operation = find_operation("call"), .bodies = {std::make_shared<const Graph>(graph)}});
    by_hand.variables = {{number_type(), "x"}, {number_type(), ""}};
    by_hand.inputs = {{"x", VariableId(0)}};
    by_hand.equations[0].operands = {VariableId(0)};
    by_hand.equations[0].results = {VariableId(1)};
    by_hand.outputs = {VariableId(1)};
    EXPECT_THAT(refusal(validate(by_hand)), AllOf(HasSubstr("(call"), HasSubstr("100 deep")));
}

TEST(bad_input, indices_out_of_range) {
    std::uint32_t line = 0;
    System one("s", [&](const Inputs& in) {
        line = here() + 1;
        return index(in["x"], 3);
    });
    const std::string sliced = refusal(one.call({{"x", vector({1, 2, 3})}}));
    EXPECT_THAT(sliced, AllOf(HasSubstr("slice"), HasSubstr("3"), in_line(line)));
    System looked("s", [&](const Inputs& in) {
        line = here() + 1;
        return gather(in["x"], in["ids"]);
    });
    const std::string gathered = refusal(looked.call({{"x", vector({1, 2, 3})}, {"ids", vector({0, 7})}}));
    EXPECT_THAT(gathered, AllOf(HasSubstr("gather"), HasSubstr("id 7"), in_line(line)));
}

TEST(bad_input, a_loop_without_an_end) {
    const Graph graph = traced("g", {{"x", number_type()}}, [](std::span<const Traced> in) {
        return TracedValues{while_loop(
            in[0], [](const Traced& x) { return less(x, 9.0); }, [](const Traced& x) { return x * 1.0; }, 50)};
    });
    const std::uint32_t line = here() - 3;
    EXPECT_THAT(refusal(call(graph, {.inputs = {1.0}})),
                AllOf(HasSubstr("equation 0, while_loop"), HasSubstr("after 50 steps"), in_line(line)));
}

TEST(bad_input, a_dynamic_value_in_a_fold) {
    const Graph graph = traced("g", {{"x", number_type()}}, [](std::span<const Traced> in) {
        const Traced known = depends(Traced(2.0), {}) * 3.0;
        return TracedValues{known, known + in[0] * 2.0};
    });
    const std::uint32_t line = here() - 2;
    EXPECT_THAT(refusal(folded_outputs(graph)), AllOf(HasSubstr("fold of graph 'g'"), HasSubstr("output 1"),
                                                      HasSubstr("multiply"), HasSubstr("input 'x'"), in_line(line)));
    ASSERT_OK_AND_ASSIGN(const Graph fixed,
                         with_static_inputs(graph, std::vector<std::pair<std::string, Value>>{{"x", 5.0}}));
    EXPECT_EQ(folded_outputs(fixed).value(), (std::vector<Value>{6.0, 16.0}));
    const auto weight =
        hyperfunction("w", VectorWeight{.size = 1}, [](const Traced& w, const Traced& x) { return w * x; });
    const Graph parameter = traced("p", {}, [&](std::span<const Traced>) { return TracedValues{weight(2.0)}; });
    EXPECT_THAT(refusal(folded_outputs(parameter)), AllOf(HasSubstr("multiply"), HasSubstr("'w'")));
}

class bad_numbers : public ::yolk::testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(bad_numbers);

TEST_P(bad_numbers, log_has_a_floor) {
    // It is log(2^-100) below 2^-100, so that no candidate is lost to it.
    const auto knob =
        hyperfunction("knob", VectorWeight{.size = 3}, [](const Traced& w, const Traced& x) { return log(w + x); });
    System system("s", [=](const Inputs& in) { return knob(in["x"]); });
    system.use(dispatcher());
    const std::vector<Example> examples{{{{"x", Tensor::filled({3}, 0.0F)}}, Tensor::filled({3}, 1.0F)}};
    const std::vector<Candidate> candidates{{{{"knob", Tensor::vector({0.0F, -2.0F, 0x1p-101F})}}}};
    ASSERT_OK_AND_ASSIGN(const PopulationEvaluation all,
                         system.evaluate_population(candidates, examples, numeric_distance()));
    for (const float value : all.outputs.values[0].tensor()->values()) EXPECT_NEAR(value, -100 * std::log(2.0), 1e-4);
    ASSERT_OK(system.parameters().set("knob", candidates[0].values[0].second));
    EXPECT_EQ(system.call(examples[0].inputs).value(), all.outputs.values[0]) << "the host's bits";
}

/// What is left of w after an operation that has no finite value for some w, and the host's value of it.
struct Undefined {
    const char* name;
    Traced (*operation)(const Traced& w);
    std::vector<float> bad;
};
const std::vector<Undefined> kUndefined{
    {"divide", [](const Traced& w) { return 1.0 / maximum(w, 0.0); }, {0.0F, -1.0F}},
    {"sqrt", [](const Traced& w) { return sqrt(w); }, {-1.0F, -0.25F}},
    {"rsqrt", [](const Traced& w) { return rsqrt(w); }, {0.0F, -1.0F}},
    {"power", [](const Traced& w) { return power(w, 0.5); }, {-1.0F, -3.0F}},
};

TEST_P(bad_numbers, follow_ieee_on_both_sides_and_count_as_the_worst) {
    for (const Undefined& of : kUndefined) {
        SCOPED_TRACE(of.name);
        const auto knob =
            hyperfunction("knob", VectorWeight{.size = 1, .values = Tensor::vector({0.5F})},
                          [&](const Traced& w, const Traced& x) { return of.operation(w + x); }, {.optimize = true});
        System system("s", [=](const Inputs& in) { return knob(in["x"]); });
        system.use(dispatcher());
        const std::vector<Example> examples{{{{"x", Tensor::vector({0.0F})}}, Tensor::vector({1.0F})}};
        std::vector<Candidate> candidates{{{{"knob", Tensor::vector({1.0F})}}}};
        for (const float bad : of.bad) candidates.push_back({{{"knob", Tensor::vector({bad})}}});
        ASSERT_OK_AND_ASSIGN(const PopulationEvaluation all,
                             system.evaluate_population(candidates, examples, numeric_distance()));
        EXPECT_TRUE(std::isfinite(all.rewards[0]));
        for (std::size_t i = 1; i < candidates.size(); ++i) {
            EXPECT_TRUE(std::isnan(all.rewards[i])) << of.bad[i - 1];
            EXPECT_TRUE(all.errors[i].has_value());
            ASSERT_OK(system.parameters().set("knob", Tensor::vector({of.bad[i - 1]})));
            EXPECT_EQ(system.call(examples[0].inputs).value(), all.outputs.values[i]) << "the host's bits";
        }
        ASSERT_OK(system.parameters().set("knob", Tensor::vector({0.5F})));
        ::testing::internal::CaptureStderr();
        const auto outcome =
            system.optimize(examples, numeric_distance(),
                            {.evolution = {.population = 16, .sigma = 1.0F, .learning_rate = .05F}, .generations = 4});
        const std::string log = ::testing::internal::GetCapturedStderr();
        ASSERT_OK(outcome);
        EXPECT_GT(outcome->failed_candidates, 0U);
        EXPECT_TRUE(std::isfinite(outcome->best_reward));
        EXPECT_THAT(log, HasSubstr("counts as the worst"));
    }
}

}  // namespace
}  // namespace yolk::hyper
