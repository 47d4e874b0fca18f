// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/hyper/control.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "fixtures.hpp"
#include "traced_graphs.hpp"
#include "yolk/graph.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// x doubled until it is at least `bound`.
Graph doubling(std::uint64_t limit = 20) {
    return traced("doubling", {{"x", number_type()}, {"bound", number_type()}}, [limit](std::span<const Traced> in) {
        return TracedValues{while_loop(
            in[0], [&](const Traced& x) { return less(x, in[1]); }, [](const Traced& x) { return x * 2.0; }, limit)};
    });
}

TEST(control, a_loop_runs_while_its_condition_holds) {
    const Graph graph = doubling();
    EXPECT_THAT(operations_of(graph), ElementsAre("while_loop"));
    EXPECT_EQ(run(graph, {3.0, 100.0}), std::vector<Value>{192.0});
    EXPECT_EQ(run(graph, {3.0, 1.0}), std::vector<Value>{3.0}) << "no step";
    const auto endless = call(doubling(5), {.inputs = {1.0, 100.0}});
    EXPECT_THAT(refusal(endless), AllOf(HasSubstr("while_loop"), HasSubstr("after 5 steps"), HasSubstr("limit")));
    EXPECT_EQ(run(doubling(5), {4.0, 100.0}), std::vector<Value>{128.0}) << "five steps are allowed";
}

TEST(control, a_loop_of_several_carries_in_a_system_uses_parameters) {
    const auto factor_of = hyperfunction("rate", VectorWeight{.size = 1, .values = Tensor::vector({3.0F})},
                                         [](const Traced& w, const Traced& x) { return w * x; });
    System system("loop", [=](const Inputs& in) {
        const TracedValues end = while_loop(
            std::vector<Traced>{in["x"], Traced(0.0)}, [&](std::span<const Traced> c) { return less(c[1], in["n"]); },
            [&](std::span<const Traced> c) {
                return TracedValues{factor_of(c[0]) + in["x"], c[1] + 1.0};
            },
            10);
        return end[0];
    });
    ASSERT_OK_AND_ASSIGN(const Value end, system.call({{"x", Tensor::vector({1.0F})}, {"n", 3.0}}));
    EXPECT_EQ(end, vector({40.0F})) << "1, 4, 13, 40";
    ASSERT_OK_AND_ASSIGN(const TracedExample trace, system.trace({{{"x", Tensor::vector({1.0F})}, {"n", 3.0}}, {}}));
    ASSERT_EQ(trace.graph.parameters.size(), 1U);
    EXPECT_OK(validate(trace.graph));
    const std::string text = to_text(trace.graph).value();
    EXPECT_THAT(text, AllOf(HasSubstr("while_loop"), HasSubstr("graph \"condition\""), HasSubstr("graph \"step\""),
                            HasSubstr("call 0 of \"rate\"")));
}

TEST(control, only_the_branch_that_is_taken_runs) {
    std::atomic<int> called = 0;
    const auto tool = hyperfunction("tool", NoParameters{}, [&](double x) {
        ++called;
        return x + 100.0;
    });
    System system("branches", [=](const Inputs& in) {
        return switch_on(in["key"],
                         {[&] { return tool(in["x"]); }, [&] { return in["x"] * 2.0; }, [&] { return Traced(7.0); }});
    });
    EXPECT_EQ(system.call({{"key", 1.0}, {"x", 5.0}}).value(), Value(10.0));
    EXPECT_EQ(called, 0);
    EXPECT_EQ(system.call({{"key", 0.0}, {"x", 5.0}}).value(), Value(105.0));
    EXPECT_EQ(called, 1);
    EXPECT_EQ(system.call({{"key", Tensor::vector({2.0F})}, {"x", 5.0}}).value(), Value(7.0));
    EXPECT_THAT(refusal(system.call({{"key", 3.0}, {"x", 5.0}})),
                AllOf(HasSubstr("switch"), HasSubstr("no branch for the key 3"), HasSubstr("0 to 2")));
    EXPECT_THAT(refusal(system.call({{"key", true}, {"x", 5.0}})), HasSubstr("takes two"));
}

TEST(control, branches_of_a_truth_value_and_of_other_shapes) {
    const Graph graph =
        traced("truth", {{"t", boolean_type()}, {"x", tensor_type({2})}}, [](std::span<const Traced> in) {
            return switch_on(in[0], {[&] {
                                         return TracedValues{in[1], in[1] * 2.0};
                                     },
                                     [&] {
                                         return TracedValues{in[1] * 3.0, Traced(Tensor::filled({2}, 1.0F))};
                                     }});
        });
    EXPECT_EQ(run(graph, {false, vector({1, 2})}), (std::vector<Value>{vector({1, 2}), vector({2, 4})}));
    EXPECT_EQ(run(graph, {true, vector({1, 2})}), (std::vector<Value>{vector({3, 6}), vector({1, 1})}));
    const auto uneven = trace("uneven", InputTypes{{"x", tensor_type({2})}}, [](std::span<const Traced> in) {
        return TracedValues{switch_on(Traced(0.0), {[&] { return in[0]; }, [&] { return sum(in[0]); }})};
    });
    EXPECT_THAT(refusal(uneven), AllOf(HasSubstr("branch 1"), HasSubstr("same types and shapes")));
}

Graph running_sums(bool reverse) {
    return traced("sums", {{"start", tensor_type({2})}, {"xs", tensor_type({3, 2})}, {"by", number_type()}},
                  [reverse](std::span<const Traced> in) {
                      const auto [last, all] = scan(in[0], in[1],
                                                    [&](const Traced& carry, const Traced& x) {
                                                        const Traced next = carry + x * in[2];
                                                        return std::pair{next, next * 10.0};
                                                    },
                                                    {.reverse = reverse});
                      return TracedValues{last, all};
                  });
}

TEST(control, scan_stacks_results_in_either_direction) {
    const Value xs = matrix(3, {1, 2, 3, 4, 5, 6}), start = vector({100, 200});
    EXPECT_EQ(run(running_sums(false), {start, xs, 2.0}),
              (std::vector<Value>{vector({118, 224}), matrix(3, {1020, 2040, 1080, 2120, 1180, 2240})}));
    EXPECT_EQ(run(running_sums(true), {start, xs, 2.0}),
              (std::vector<Value>{vector({118, 224}), matrix(3, {1180, 2240, 1160, 2200, 1100, 2120})}));
}

TEST(control, scan_of_numbers_of_no_elements_and_of_a_length) {
    const Graph counted = traced("counted", {{"x", number_type()}}, [](std::span<const Traced> in) {
        const Scanned all = scan(std::vector<Traced>{in[0]}, {},
                                 [](std::span<const Traced> carries, std::span<const Traced>) {
                                     return Scanned{{carries[0] * 2.0}, {carries[0]}};
                                 },
                                 {.length = 4});
        return TracedValues{all.carries[0], all.results[0]};
    });
    EXPECT_EQ(run(counted, {1.0}), (std::vector<Value>{16.0, vector({1, 2, 4, 8})}));
    const Graph empty =
        traced("empty", {{"x", tensor_type({2})}, {"xs", tensor_type({0, 3})}}, [](std::span<const Traced> in) {
            const auto [last, all] = scan(in[0], in[1], [](const Traced& c, const Traced& x) {
                return std::pair{c, x};
            });
            return TracedValues{last, all};
        });
    EXPECT_EQ(run(empty, {vector({1, 2}), Tensor::filled({0, 3}, 0.0F)}),
              (std::vector<Value>{vector({1, 2}), Tensor::filled({0, 3}, 0.0F)}));
}

TEST(control, bodies_cannot_look_at_values) {
    const auto error_of = [](const std::function<Traced(const Traced&)>& step) {
        return refusal(trace("look", InputTypes{{"x", number_type()}}, [&](std::span<const Traced> in) {
            return TracedValues{while_loop(
                in[0], [](const Traced& x) { return less(x, 9.0); }, step, 5)};
        }));
    };
    EXPECT_THAT(error_of([](const Traced& x) { return x.number() > 1 ? x : x + 1.0; }),
                AllOf(HasSubstr("body 'step'"), HasSubstr("select")));
    EXPECT_THAT(error_of([](const Traced& x) { return Traced(double{x.number()}); }), HasSubstr("read as a number"));
    EXPECT_THAT(error_of([](const Traced& x) { return Traced(x.read()); }), HasSubstr("past the tracer"));
    EXPECT_THAT(error_of([](const Traced& x) { return format("{}", {x}); }),
                AllOf(HasSubstr("carry 0"), HasSubstr("must keep its type")));
    Traced leaked(0.0);
    EXPECT_THAT(refusal(trace("leak", InputTypes{{"x", number_type()}},
                              [&](std::span<const Traced> in) {
                                  const Traced end = while_loop(
                                      in[0], [](const Traced& x) { return less(x, 9.0); },
                                      [&](const Traced& x) {
                                          leaked = x + 1.0;
                                          return leaked;
                                      },
                                      5);
                                  return TracedValues{end + leaked};
                              })),
                AllOf(HasSubstr("from inside body 'step'"), HasSubstr("return it")));
    const auto tool = hyperfunction("table", NoParameters{}, [](double) { return Tensor::vector({1.0F}); });
    EXPECT_THAT(error_of([&](const Traced& x) { return tool(x); }), HasSubstr("'table'"));
}

TEST(control, outside_a_trace_loops_run_at_once) {
    const Traced end = while_loop(
        Traced(1.0), [](const Traced& x) { return less(x, 50.0); }, [](const Traced& x) { return x * 3.0; }, 10);
    EXPECT_EQ(end.read(), Value(81.0));
}

TEST(control, dead_carries_and_captured_values_go) {
    const Graph graph = traced("dead", {{"x", number_type()}, {"y", number_type()}, {"n", number_type()}},
                               [](std::span<const Traced> in) {
                                   return while_loop(
                                       std::vector<Traced>{in[0], in[1], Traced(0.0)},
                                       [&](std::span<const Traced> c) { return less(c[2], in[2]); },
                                       [&](std::span<const Traced> c) {
                                           return TracedValues{c[0] * 2.0, c[1] + c[0] + in[1], c[2] + 1.0};
                                       },
                                       9);
                               });
    EXPECT_EQ(run(graph, {1.0, 10.0, 2.0}), (std::vector<Value>{4.0, 33.0, 2.0}));
    ASSERT_OK_AND_ASSIGN(const Graph first, dce(graph, {true, false, false}));
    EXPECT_EQ(run(first, {1.0, 10.0, 2.0}), std::vector<Value>{4.0});
    ASSERT_EQ(first.equations.size(), 1U);
    EXPECT_EQ(first.equations[0].results.size(), 2U) << "x, and the count that the condition reads";
    EXPECT_THAT(operations_of(*first.equations[0].bodies[1]), ElementsAre("multiply", "add"));
    ASSERT_OK_AND_ASSIGN(const Graph second, dce(graph, {false, true, false}));
    EXPECT_EQ(second.equations[0].results.size(), 3U) << "y needs x";
    EXPECT_EQ(run(second, {1.0, 10.0, 2.0}), std::vector<Value>{33.0});
}

TEST(control, dead_results_of_scans_and_branches_go) {
    ASSERT_OK_AND_ASSIGN(const Graph last, dce(running_sums(false), {true, false}));
    const Value xs = matrix(3, {1, 2, 3, 4, 5, 6}), start = vector({100, 200});
    EXPECT_EQ(run(last, {start, xs, 2.0}), std::vector<Value>{vector({118, 224})});
    EXPECT_EQ(last.equations[0].results.size(), 1U);
    const Graph branches =
        traced("b", {{"k", number_type()}, {"x", number_type()}, {"y", number_type()}}, [](std::span<const Traced> in) {
            return switch_on(in[0], {[&] {
                                         return TracedValues{in[1], in[2]};
                                     },
                                     [&] {
                                         return TracedValues{in[2], in[2] * 2.0};
                                     }});
        });
    ASSERT_OK_AND_ASSIGN(const Graph second, dce(branches, {false, true}));
    EXPECT_EQ(second.equations[0].operands.size(), 2U) << "the key and y";
    EXPECT_EQ(run(second, {1.0, 3.0, 4.0}), std::vector<Value>{8.0});
}

TEST(control, tags_are_seen_and_chosen_by) {
    const Graph graph = traced("tagged", {{"x", number_type()}}, [](std::span<const Traced> in) {
        const Tag outer("slow");
        const Traced a = in[0] * 2.0;
        const Traced b = [&] {
            const Tag inner("very");
            return in[0] * 3.0;
        }();
        return TracedValues{a + b};
    });
    EXPECT_THAT(graph.equations[1].tags, ElementsAre("slow", "very"));
    EXPECT_THAT(to_text(graph).value(), HasSubstr(", tag \"slow\", tag \"very\""));
    ASSERT_OK_AND_ASSIGN(const Graph staged, sched(graph, [](const Equation& equation) {
                             return std::ranges::find(equation.tags, "slow") != equation.tags.end();
                         }));
    EXPECT_THAT(operations_of(staged), ElementsAre("parallel", "add"));
}

TEST(control, signatures_tell_bodies_by_their_literals) {
    const auto with = [](double inside, double outside) {
        return traced("literals", {{"x", number_type()}}, [=](std::span<const Traced> in) {
            return TracedValues{switch_on(Traced(0.0), {[&] { return in[0] * inside; }}) + outside};
        });
    };
    EXPECT_EQ(signature(with(2.0, 1.0)).value(), signature(with(2.0, 5.0)).value());
    EXPECT_NE(signature(with(2.0, 1.0)).value(), signature(with(3.0, 1.0)).value())
        << "a group of examples shares one body";
}

TEST(control, populations_run_loops_on_the_host) {
    const auto rate = hyperfunction("rate", VectorWeight{.size = 2, .values = Tensor::vector({1.0F, 2.0F})},
                                    [](const Traced& w, const Traced& x) { return w * x; }, {.optimize = true});
    System system("loop", [=](const Inputs& in) {
        const auto [last, all] = scan(in["start"], in["xs"], [&](const Traced& carry, const Traced& x) {
            const Traced next = rate(carry) + x;
            return std::pair{next, next};
        });
        return last;
    });
    const std::vector<Example> examples{
        {{{"start", Tensor::vector({1, 2})}, {"xs", matrix(2, {1, 2, 3, 4})}}, Tensor::vector({0, 0})},
        {{{"start", Tensor::vector({3, 1})}, {"xs", matrix(2, {4, 3, 2, 1})}}, Tensor::vector({0, 0})}};
    const std::vector<Candidate> candidates{{{{"rate", Tensor::vector({1, 2})}}},
                                            {{{"rate", Tensor::vector({.5F, 0})}}}};
    ASSERT_OK_AND_ASSIGN(const PopulationEvaluation all,
                         system.evaluate_population(candidates, examples, numeric_distance()));
    ASSERT_OK_AND_ASSIGN(const Evaluation first, system.evaluate(examples, numeric_distance()));
    ASSERT_EQ(all.rewards.size(), 2U);
    EXPECT_EQ(all.rewards[0], first.reward) << "the first candidate is the system as it is";
    EXPECT_NE(all.rewards[1], first.reward);
}

TEST(control, a_candidate_steers_its_own_loop) {
    // w doubled until it is 10: each candidate makes as many steps as it needs.
    const auto grow = hyperfunction("grow", VectorWeight{.size = 1, .values = Tensor::vector({1.0F})},
                                    [](const Traced& w, const Traced& x) {
                                        return while_loop(
                                            w * x, [](const Traced& y) { return less(y, 10.0); },
                                            [](const Traced& y) { return y * 2.0; }, 8);
                                    },
                                    {.optimize = true});
    System system("steered", [=](const Inputs& in) { return grow(in["x"]) + in["x"]; });
    const Example example{{{"x", Tensor::vector({1.0F})}}, Tensor::vector({0.0F})};
    std::vector<Candidate> candidates;
    for (const float w : {1.0F, 3.0F, 20.0F, -1.0F}) candidates.push_back({{{"grow", Tensor::vector({w})}}});
    ASSERT_OK_AND_ASSIGN(const PopulationEvaluation all,
                         system.evaluate_population(candidates, std::vector{example}, numeric_distance()));
    EXPECT_EQ(all.outputs.values[0], vector({17})) << "1, 2, 4, 8, 16";
    EXPECT_EQ(all.outputs.values[1], vector({13})) << "3, 6, 12";
    EXPECT_EQ(all.outputs.values[2], vector({21})) << "no step";
    ASSERT_TRUE(all.errors[3].has_value()) << "-1 never gets there";
    EXPECT_THAT(all.errors[3]->message, AllOf(HasSubstr("while_loop"), HasSubstr("8 steps"), HasSubstr("'grow'"),
                                              HasSubstr("control_test.cpp:")));
    EXPECT_THAT(all.fallbacks, ::testing::IsEmpty()) << "unrolled into kernels";
    ASSERT_OK_AND_ASSIGN(const TracedExample trace, system.trace(example));
    const std::vector<std::string> groups{"grow"};
    const std::vector<PlacedEquation> placed = place(trace.graph, groups).value();
    const auto loop = std::ranges::find(trace.graph.equations, std::string_view("while_loop"),
                                        [](const Equation& equation) { return equation.operation->name; });
    ASSERT_NE(loop, trace.graph.equations.end());
    EXPECT_EQ(placed[static_cast<std::size_t>(loop - trace.graph.equations.begin())].placement, Placement::Device);
    // Where it may not be unrolled it runs on the host, has the same answers, and that is said.
    ASSERT_OK_AND_ASSIGN(
        const PopulationEvaluation rolled,
        system.evaluate_population(candidates, std::vector{example}, numeric_distance(), {.most_unrolled = 0}));
    EXPECT_EQ(rolled.outputs.values[0], all.outputs.values[0]);
    ASSERT_TRUE(rolled.errors[3].has_value());
    EXPECT_EQ(rolled.errors[3]->message, all.errors[3]->message);
    ASSERT_THAT(rolled.fallbacks, ::testing::SizeIs(1));
    EXPECT_THAT(rolled.fallbacks[0], AllOf(HasSubstr("while_loop"), HasSubstr("for each candidate")));
}

TEST(control, populations_pass_named_values_on_where_they_are) {
    const auto layer = hyperfunction("layer", MatrixWeight{.out = 2, .in = 2}, [](const Traced& w, const Traced& x) {
        return stop_gradient(checkpoint(linear(w, x), "hidden")) * 2.0;
    });
    System system("passing", [=](const Inputs& in) { return layer(in["x"]); });
    const Example example{{{"x", Tensor::vector({1, 2})}}, Tensor::vector({0, 0})};
    ASSERT_OK_AND_ASSIGN(const TracedExample trace, system.trace(example));
    const std::vector<std::string> groups{"layer"};
    const std::vector<PlacedEquation> everywhere = place(trace.graph, groups).value();
    for (const PlacedEquation& placed : everywhere) EXPECT_EQ(placed.placement, Placement::Device) << placed.reason;
    const std::vector<Candidate> candidates{{{{"layer", Tensor::create({2, 2}, {1, 2, 3, 4}).value()}}},
                                            {{{"layer", Tensor::create({2, 2}, {5, 6, 7, 8}).value()}}}};
    ASSERT_OK_AND_ASSIGN(const PopulationEvaluation all,
                         system.evaluate_population(candidates, std::vector{example}, numeric_distance()));
    EXPECT_EQ(all.rewards[0], -(100.0 + 484.0)) << "2 (1 + 4), 2 (3 + 8)";
    EXPECT_EQ(all.rewards[1], -(1156.0 + 2116.0));
}

TEST(control, calls_in_bodies_are_inlined) {
    const Graph graph = traced("outer", {{"x", number_type()}}, [](std::span<const Traced> in) {
        return TracedValues{switch_on(
            Traced(0.0),
            {[&] { return custom_call("inner", in.first(1), [](std::span<const Traced> x) { return x[0] * 3.0; }); }})};
    });
    EXPECT_EQ(run(graph, {2.0}), std::vector<Value>{6.0});
    EXPECT_THAT(operations_of(*graph.equations[0].bodies[0]), ElementsAre("call"));
    ASSERT_OK_AND_ASSIGN(const Graph flat, inline_calls(graph));
    EXPECT_THAT(operations_of(*flat.equations[0].bodies[0]), ElementsAre("multiply"));
    EXPECT_EQ(run(flat, {2.0}), std::vector<Value>{6.0});
}

}  // namespace
}  // namespace yolk::hyper
