// SPDX-License-Identifier: Apache-2.0
#include "yolk/graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "fixtures.hpp"
#include "traced_graphs.hpp"
#include "yolk/internal/hyper/hyperfunction.hpp"

namespace yolk::hyper {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

/// Four rounds of four host calls each; a round reads the sum of the one before.
Graph rounds(const std::function<Traced(const Traced&)>& ask) {
    return traced("rounds", {{"x", number_type()}}, [&](std::span<const Traced> in) {
        Traced x = in[0];
        for (int round = 0; round < 4; ++round) {
            Traced next(0.0);
            std::vector<Traced> answers;
            for (int i = 0; i < 4; ++i) answers.push_back(ask(x + static_cast<double>(i)));
            for (const Traced& answer : answers) next = next + answer;
            x = next;
        }
        return TracedValues{x};
    });
}

TEST(sched, stages_of_host_functions_overlap) {
    // Each call of a round waits for the other three, so that none of them returns where they do not overlap.
    std::mutex mutex;
    std::condition_variable arrival;
    int arrived = 0;
    bool meet = true;
    const auto meeting = hyperfunction("meeting", NoParameters{}, [&](double x) -> Result<double> {
        std::unique_lock lock(mutex);
        if (!meet) return x * .25;
        const int all_of_round = 4 * (arrived / 4 + 1);
        ++arrived;
        arrival.notify_all();
        if (!arrival.wait_for(lock, 60s, [&] { return arrived >= all_of_round; }))
            return bad_input("call {} waited for the others of its round", arrived);
        return x * .25;
    });
    const Graph graph = rounds([&](const Traced& x) { return meeting(x); });
    ASSERT_OK_AND_ASSIGN(const Graph inner, as_call(graph));
    ASSERT_OK_AND_ASSIGN(const Graph staged, sched(inner));
    ASSERT_OK(validate(staged));
    EXPECT_EQ(std::ranges::count(operations_of(*staged.equations[0].bodies[0]), "parallel"), 4);
    const GraphArguments arguments{.inputs = {2.0}};
    auto pool = HostPool::create();
    ASSERT_OK_AND_ASSIGN(const auto overlapped, call_async(staged, arguments, *pool));
    EXPECT_EQ(arrived, 16);
    meet = false;
    EXPECT_EQ(overlapped, call(inner, arguments).value());
    EXPECT_EQ(overlapped, call(staged, arguments).value());
}

TEST(sched, takes_what_the_predicate_names_and_keeps_the_rest) {
    const Graph graph = traced("four", {{"x", number_type()}}, [](std::span<const Traced> in) {
        return TracedValues{(in[0] * 2.0) + (in[0] * 3.0), relu(in[0])};
    });
    ASSERT_OK_AND_ASSIGN(const Graph staged, sched(graph, [](const Equation& equation) {
                             return equation.operation->name == std::string_view("multiply");
                         }));
    EXPECT_THAT(operations_of(staged), ElementsAre("parallel", "relu", "add"));
    EXPECT_THAT(operations_of(*staged.equations[0].bodies[0]), ElementsAre("multiply", "multiply"));
    EXPECT_EQ(run(staged, {2.0}), (std::vector<Value>{10.0, 2.0}));
    EXPECT_THAT(operations_of(sched(graph).value()), ElementsAre("multiply", "multiply", "relu", "add")) << "in stages";
    EXPECT_EQ(run(pullback(staged).value(), {2.0, 1.0, 1.0}), (std::vector<Value>{10.0, 2.0, 6.0}));
    EXPECT_EQ(run(pushforward(staged).value(), {2.0, 1.0}), (std::vector<Value>{10.0, 2.0, 5.0, 1.0}));
    EXPECT_EQ(run(batch(staged, {.size = 2}).value(), {vector({1, 2})}),
              (std::vector<Value>{vector({5, 10}), vector({1, 2})}));
}

TEST(sched, passes_errors_on) {
    const auto picky = hyperfunction("picky", NoParameters{}, [](double x) -> Result<double> {
        if (x > 2.5) return bad_input("too large: {}", x);
        return x;
    });
    const Graph graph = rounds([&](const Traced& x) { return picky(x); });
    ASSERT_OK_AND_ASSIGN(const Graph staged, sched(graph));
    auto pool = HostPool::create();
    const auto results = call_async(staged, {.inputs = {0.0}}, *pool);
    EXPECT_THAT(refusal(results), AllOf(HasSubstr("'picky'"), HasSubstr("too large: 3")));
}

Graph two_factors() {
    return traced("path", {{"x", number_type()}, {"a", number_type()}, {"b", number_type()}},
                  [](std::span<const Traced> in) {
                      static_cast<void>(factor(in[1]));
                      static_cast<void>(factor(in[2]));
                      return TracedValues{in[0] * 2.0};
                  });
}

TEST(weighted, multiplies_the_factors_of_a_path) {
    EXPECT_EQ(run(two_factors(), {3.0, .5, 4.0}), std::vector<Value>{6.0}) << "without it they mean nothing";
    ASSERT_OK_AND_ASSIGN(const Graph graph, weighted(two_factors()));
    EXPECT_EQ(run(graph, {3.0, .5, 4.0}), (std::vector<Value>{6.0, 2.0}));
    EXPECT_EQ(run(graph, {3.0, .5, 0.0}), (std::vector<Value>{6.0, 0.0}));
    const Graph none =
        traced("none", {{"x", number_type()}}, [](std::span<const Traced> in) { return TracedValues{in[0]}; });
    EXPECT_EQ(run(weighted(none).value(), {3.0}), (std::vector<Value>{3.0, 1.0}));
    EXPECT_THAT(refusal(call(graph, {.inputs = {3.0, -.5, 4.0}})), AllOf(HasSubstr("factor"), HasSubstr("-0.5")));
    EXPECT_THAT(refusal(pushforward(graph)),
                AllOf(HasSubstr("pushforward"), HasSubstr("'path'"), HasSubstr("weighted")));
    EXPECT_THAT(refusal(pullback(graph)), AllOf(HasSubstr("pullback"), HasSubstr("'path'"), HasSubstr("weighted")));
}

TEST(weighted, of_a_batch_is_the_product_and_a_batch_of_weighted_has_one_each) {
    const Value xs = vector({1, 2, 3}), a = vector({.5F, 2, 1}), b = vector({4, 1, .25F});
    ASSERT_OK_AND_ASSIGN(const Graph each, batch(weighted(two_factors()).value(), {.size = 3}));
    EXPECT_EQ(run(each, {xs, a, b}), (std::vector<Value>{vector({2, 4, 6}), vector({2, 2, .25F})}));
    ASSERT_OK_AND_ASSIGN(const Graph product, weighted(batch(two_factors(), {.size = 3}).value()));
    EXPECT_EQ(run(product, {xs, a, b}), (std::vector<Value>{vector({2, 4, 6}), 1.0}));
}

TEST(weighted, follows_branches_and_loops) {
    const Graph branch = traced("branch", {{"k", number_type()}}, [](std::span<const Traced> in) {
        return TracedValues{
            switch_on(in[0], {[&] { return factor(Traced(.25)) + in[0]; }, [&] { return in[0] * 2.0; }})};
    });
    ASSERT_OK_AND_ASSIGN(const Graph of_branch, weighted(branch));
    EXPECT_EQ(run(of_branch, {0.0}), (std::vector<Value>{.25, .25}));
    EXPECT_EQ(run(of_branch, {1.0}), (std::vector<Value>{2.0, 1.0}));
    const Graph loop = traced("loop", {{"x", number_type()}, {"xs", tensor_type({3})}}, [](std::span<const Traced> in) {
        const Traced end = while_loop(
            in[0], [](const Traced& x) { return less(x, 3.5); }, [](const Traced& x) { return factor(x) + 1.0; }, 9);
        const auto [last, all] = scan(end, in[1], [](const Traced& c, const Traced& x) {
            return std::pair{c, factor(x)};
        });
        return TracedValues{last, all};
    });
    EXPECT_EQ(run(weighted(loop).value(), {1.0, vector({2, 3, .5F})}),
              (std::vector<Value>{4.0, matrix(3, {2, 3, .5F}), 18.0}))
        << "1 2 3, and 2 3 .5";
}

TEST(named_values, come_out_and_go_in) {
    const Graph graph = traced("named", {{"x", number_type()}}, [](std::span<const Traced> in) {
        const Traced a = checkpoint(in[0] * 2.0, "double", "debug"), b = checkpoint(a + 1.0, "next", "debug");
        return TracedValues{checkpoint(b * 10.0, "other") + checkpoint(a, "double", "debug")};
    });
    ASSERT_OK_AND_ASSIGN(const Collected debug, collect(graph, "debug"));
    EXPECT_THAT(debug.keys, ElementsAre("double", "next", "double"));
    EXPECT_EQ(run(debug.graph, {3.0}), (std::vector<Value>{76.0, 6.0, 7.0, 6.0}));
    EXPECT_THAT(collect(graph)->keys, ElementsAre("other"));
    const std::vector<std::pair<std::string, Value>> values{{"double", 1.0}, {"double", 100.0}};
    ASSERT_OK_AND_ASSIGN(const Graph changed, inject(graph, "debug", values));
    EXPECT_EQ(run(changed, {3.0}), std::vector<Value>{120.0}) << "(1 + 1) 10 + 100: first come, first served";
    const std::vector<std::pair<std::string, Value>> unknown{{"triple", 1.0}}, wrong{{"next", "text"}};
    EXPECT_THAT(refusal(inject(graph, "debug", unknown)), HasSubstr("no checkpoint 'triple'"));
    EXPECT_THAT(refusal(inject(graph, "debug", wrong)), HasSubstr("a text for the checkpoint 'next'"));
    const Graph inside = traced("inside", {{"x", number_type()}}, [](std::span<const Traced> in) {
        return TracedValues{switch_on(Traced(0.0), {[&] { return checkpoint(in[0], "deep"); }})};
    });
    EXPECT_THAT(refusal(collect(inside)), AllOf(HasSubstr("collect of graph 'inside'"), HasSubstr("switch")));
}

TEST(named_values, static_inputs_are_folded) {
    const Graph graph = traced("static", {{"x", number_type()}, {"n", number_type()}}, [](std::span<const Traced> in) {
        return TracedValues{in[0] * (in[1] + 1.0), in[1] * 2.0};
    });
    const std::vector<std::pair<std::string, Value>> fixed{{"n", 4.0}}, unknown{{"m", 4.0}}, wrong{{"n", true}};
    ASSERT_OK_AND_ASSIGN(const Graph baked, with_static_inputs(graph, fixed));
    EXPECT_EQ(run(baked, {3.0}), (std::vector<Value>{15.0, 8.0}));
    ASSERT_OK_AND_ASSIGN(const Graph folded, fold(baked));
    EXPECT_THAT(operations_of(folded), ElementsAre("multiply"));
    EXPECT_EQ(run(folded, {3.0}), (std::vector<Value>{15.0, 8.0}));
    EXPECT_THAT(refusal(with_static_inputs(graph, unknown)), HasSubstr("no input 'm'"));
    EXPECT_THAT(refusal(with_static_inputs(graph, wrong)), HasSubstr("a boolean; it is a number"));
}

TEST(memo, knows_equal_work_again) {
    std::atomic<int> calls = 0;
    const auto tool = hyperfunction("tool", NoParameters{}, [&](double x) {
        ++calls;
        return x * 2.0;
    });
    const Graph graph = traced("memo", {{"x", number_type()}}, [&](std::span<const Traced> in) {
        return TracedValues{tool(in[0]) + tool(in[0] * 1.0), checkpoint(in[0], "x")};
    });
    Memo memo;
    const auto with = [&](double x) { return call(graph, {.inputs = {x}}, memo).value(); };
    EXPECT_EQ(with(3.0), (std::vector<Value>{12.0, 3.0}));
    EXPECT_EQ(calls, 1) << "both ask the same";
    EXPECT_EQ(with(3.0), (std::vector<Value>{12.0, 3.0}));
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(memo.hits(), 1U + 4U);
    EXPECT_EQ(with(-0.0), (std::vector<Value>{0.0, -0.0}));
    EXPECT_EQ(with(0.0), (std::vector<Value>{0.0, 0.0}));
    EXPECT_EQ(calls, 3) << "-0 and 0 are not the same bits";
}

}  // namespace
}  // namespace yolk::hyper
