// SPDX-License-Identifier: Apache-2.0
// Derivatives of branches and loops, held against the same computation unrolled, which only has operations without
// bodies; and how transforms nest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "fixtures.hpp"
#include "traced_graphs.hpp"
#include "yolk/graph.hpp"
#include "yolk/internal/hyper/hyperfunction.hpp"

namespace yolk::hyper {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const InputTypes kCell{
    {"h", tensor_type({2})}, {"xs", tensor_type({3, 2})}, {"w", tensor_type({2, 2})}, {"k", number_type()}};

/// h = tanh(W h + x) k, three times; the last h, and all h^2.
Traced cell(const Traced& h, const Traced& x, std::span<const Traced> in) { return tanh(linear(in[2], h) + x) * in[3]; }

Graph scanned_cell(bool reverse = false) {
    return traced("cell", kCell, [&](std::span<const Traced> in) {
        const auto [last, all] = scan(in[0], in[1],
                                      [&](const Traced& h, const Traced& x) {
                                          const Traced next = cell(h, x, in);
                                          return std::pair{next, next * next};
                                      },
                                      {.reverse = reverse});
        return TracedValues{last, all};
    });
}

Graph unrolled_cell(bool reverse = false) {
    return traced("unrolled", kCell, [&](std::span<const Traced> in) {
        const std::vector<Traced> rows = split(in[1], {1, 1, 1}, 0);
        Traced h = in[0];
        std::vector<Traced> squares(3, Traced(0.0));
        for (int i = 0; i < 3; ++i) {
            const auto at = static_cast<std::size_t>(reverse ? 2 - i : i);
            h = cell(h, reshape(rows[at], {2}), in);
            squares[at] = reshape(h * h, {1, 2});
        }
        return TracedValues{h, concat(squares, 0)};
    });
}

std::vector<Value> cell_arguments() {
    return {vector({.5F, -.25F}), matrix(3, {.1F, .2F, -.3F, .4F, .5F, -.6F}), matrix(2, {.7F, -.2F, .3F, .9F}), 1.5};
}
std::vector<Value> cell_movements() {
    return {vector({1, .5F}), matrix(3, {1, 0, -1, .5F, .25F, 1}), matrix(2, {.5F, 1, -1, .25F}), .75};
}

void expect_near(const std::vector<Value>& a, const std::vector<Value>& b, double tolerance) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        ASSERT_EQ(type_of(a[i]), type_of(b[i])) << i;
        if (a[i].number() != nullptr) {
            EXPECT_NEAR(*a[i].number(), *b[i].number(), tolerance) << i;
        }
        for (std::size_t k = 0; a[i].tensor() != nullptr && k < a[i].tensor()->values().size(); ++k)
            EXPECT_NEAR(a[i].tensor()->values()[k], b[i].tensor()->values()[k], tolerance) << i << ", " << k;
    }
}

std::vector<Value> joined_values(std::vector<Value> a, const std::vector<Value>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

constexpr double kRoundings = 1e-5;  // some tens of operations on numbers around 1 in fp32

TEST(loop_derivatives, of_scan_are_those_of_the_unrolled_loop) {
    for (const bool reverse : {false, true}) {
        const Graph loop = scanned_cell(reverse), flat = unrolled_cell(reverse);
        expect_near(run(loop, cell_arguments()), run(flat, cell_arguments()), kRoundings);
        const std::vector<Value> forward = joined_values(cell_arguments(), cell_movements());
        expect_near(run(pushforward(loop).value(), forward), run(pushforward(flat).value(), forward), kRoundings);
        const std::vector<Value> back =
            joined_values(cell_arguments(), {vector({1, -2}), matrix(3, {.5F, 1, -1, .25F, 2, -.5F})});
        expect_near(run(pullback(loop).value(), back), run(pullback(flat).value(), back), kRoundings);
        ASSERT_OK_AND_ASSIGN(const Graph one, pullback(loop, {.inputs = {{"w"}}}));
        expect_near(run(one, back), run(pullback(flat, {.inputs = {{"w"}}}).value(), back), kRoundings);
    }
}

TEST(loop_derivatives, of_scan_nest) {
    const Graph loop = scanned_cell(), flat = unrolled_cell();
    const std::vector<Value> given{vector({1, -2}), matrix(3, {.5F, 1, -1, .25F, 2, -.5F})};
    const std::vector<Value> back = joined_values(cell_arguments(), given);
    const std::vector<Value> moved = joined_values(joined_values(back, cell_movements()), given);
    const auto second = [](const Graph& graph) { return pushforward(pullback(graph).value()).value(); };
    expect_near(run(second(loop), moved), run(second(flat), moved), 10 * kRoundings);
    const auto twice = [](const Graph& graph) { return pullback(pullback(graph).value()).value(); };
    const std::vector<Value> again = joined_values(joined_values(back, given), cell_movements());
    expect_near(run(twice(loop), again), run(twice(flat), again), 10 * kRoundings);
}

TEST(loop_derivatives, of_a_while_loop_replay_its_steps) {
    // x -> x w + x^2 / 8 while below the bound; how many steps depends on x.
    const InputTypes inputs{{"x", number_type()}, {"w", number_type()}, {"bound", number_type()}};
    const auto step = [](const Traced& x, const Traced& w) { return x * w + x * x * .125; };
    const Graph loop = traced("loop", inputs, [&](std::span<const Traced> in) {
        return TracedValues{while_loop(
            in[0], [&](const Traced& x) { return less(x, in[2]); }, [&](const Traced& x) { return step(x, in[1]); },
            50)};
    });
    for (const int steps : {0, 1, 4}) {
        const Graph flat = traced("flat", inputs, [&](std::span<const Traced> in) {
            Traced x = in[0];
            for (int i = 0; i < steps; ++i) x = step(x, in[1]);
            return TracedValues{x};
        });
        const double bound = steps == 0 ? .5 : steps == 1 ? 1.5 : 9.0;
        const std::vector<Value> at{1.0, 1.5, bound, 2.0};
        ASSERT_OK_AND_ASSIGN(const Graph pulled, pullback(loop, {.inputs = {{"x", "w"}}}));
        const std::vector<Value> got = run(pulled, at);
        EXPECT_EQ(got, run(pullback(flat, {.inputs = {{"x", "w"}}}).value(), at)) << steps << " steps";
        EXPECT_GE(*got[0].number(), bound) << "the loop went to its end";
        // Forward, forward twice, and backward through what went forward: as the flat graph does.
        const std::vector<Value> along{1.0, 1.5, bound, 1.0, -2.0, 0.0};
        const auto pushed = [](const Graph& graph) { return pushforward(graph).value(); };
        EXPECT_EQ(run(pushed(loop), along), run(pushed(flat), along)) << steps << " steps";
        const std::vector<Value> twice = joined_values(along, {.5, 3.0, 0.0, 0.0, 0.0, 0.0});
        EXPECT_EQ(run(pushed(pushed(loop)), twice), run(pushed(pushed(flat)), twice)) << steps << " steps";
        const std::vector<Value> back = joined_values(along, {1.0, 2.0});
        expect_near(run(pullback(pushed(loop)).value(), back), run(pullback(pushed(flat)).value(), back), kRoundings);
    }
    const Graph pulled = pullback(loop).value();
    EXPECT_THAT(refusal(pullback(pulled)), AllOf(HasSubstr("while_loop_pullback"), HasSubstr("second order")));
    EXPECT_THAT(refusal(pushforward(pulled)), HasSubstr("while_loop"));
}

TEST(loop_derivatives, of_branches_are_those_of_the_one_that_is_taken) {
    const Graph graph = traced(
        "branches", {{"key", number_type()}, {"x", number_type()}, {"y", number_type()}},
        [](std::span<const Traced> in) {
            return TracedValues{switch_on(
                in[0], {[&] { return in[1] * in[1]; }, [&] { return in[1] * in[2]; }, [&] { return in[2] * 5.0; }})};
        });
    ASSERT_OK_AND_ASSIGN(const Graph pushed, pushforward(graph));
    ASSERT_OK_AND_ASSIGN(const Graph pulled, pullback(graph));
    EXPECT_EQ(run(pushed, {0.0, 3.0, 4.0, 9.0, 1.0, 2.0}), (std::vector<Value>{9.0, 6.0}));
    EXPECT_EQ(run(pushed, {1.0, 3.0, 4.0, 9.0, 1.0, 2.0}), (std::vector<Value>{12.0, 10.0}));
    EXPECT_EQ(run(pulled, {1.0, 3.0, 4.0, 10.0}), (std::vector<Value>{12.0, 0.0, 40.0, 30.0})) << "0 for the key";
    EXPECT_EQ(run(pulled, {2.0, 3.0, 4.0, 10.0}), (std::vector<Value>{20.0, 0.0, 0.0, 50.0}));
}

TEST(loop_derivatives, stop_where_they_are_told_to) {
    const Graph graph = traced("stop", {{"x", number_type()}}, [](std::span<const Traced> in) {
        const Traced kept = checkpoint(in[0] * 2.0, "double");
        return TracedValues{depends(kept * stop_gradient(in[0]), {in[0] * 7.0})};
    });
    EXPECT_EQ(run(pullback(graph).value(), {3.0, 1.0}), (std::vector<Value>{18.0, 6.0})) << "2 x, not 4 x";
    EXPECT_EQ(run(pushforward(graph).value(), {3.0, 1.0}), (std::vector<Value>{18.0, 6.0}));
    ASSERT_OK_AND_ASSIGN(const Graph left, dce(graph, {false}));
    EXPECT_THAT(operations_of(left), ::testing::ElementsAre("multiply", "checkpoint")) << "never dropped";
}

TEST(loop_derivatives, name_what_has_no_rule) {
    const auto tool = hyperfunction("oracle", NoParameters{}, [](double x) { return x * 3.0; });
    const Graph graph = traced("asks", {{"x", number_type()}},
                               [&](std::span<const Traced> in) { return TracedValues{tool(in[0] * 2.0)}; });
    EXPECT_THAT(refusal(pullback(graph)), AllOf(HasSubstr("pullback of graph 'asks'"), HasSubstr("host_call"),
                                                HasSubstr("'oracle'"), HasSubstr("stop_gradient")));
    EXPECT_THAT(refusal(pushforward(graph)), AllOf(HasSubstr("pushforward of graph 'asks'"), HasSubstr("'oracle'")));
    PullbackOptions options;
    options.hyperfunctions["oracle"] = [](GraphBuilder& builder, const Equation&, std::span<const Atom> operands,
                                          std::span<const Atom>, std::span<const Tangent> given,
                                          const std::vector<bool>&) -> Result<std::vector<Tangent>> {
        YOLK_TRY(Atom back, builder.apply("multiply", {*given[0], Value(3.0)}));
        std::vector<Tangent> all(operands.size());
        all[1] = back;
        return all;
    };
    ASSERT_OK_AND_ASSIGN(const Graph pulled, pullback(graph, options));
    EXPECT_EQ(run(pulled, {5.0, 1.0}), (std::vector<Value>{30.0, 6.0}));
}

TEST(loop_derivatives, of_a_custom_call_go_by_its_own_rule) {
    const Graph graph = traced("custom", {{"x", number_type()}}, [](std::span<const Traced> in) {
        return TracedValues{custom_call("round trip", in, [](std::span<const Traced> x) { return x[0] * x[0]; })};
    });
    EXPECT_EQ(run(pullback(graph).value(), {3.0, 1.0}), (std::vector<Value>{9.0, 6.0})) << "its body's";
    PullbackOptions options;
    options.hyperfunctions["round trip"] =
        [](GraphBuilder&, const Equation&, std::span<const Atom>, std::span<const Atom>, std::span<const Tangent> given,
           const std::vector<bool>&) -> Result<std::vector<Tangent>> { return std::vector<Tangent>{given[0]}; };
    EXPECT_EQ(run(pullback(graph, options).value(), {3.0, 1.0}), (std::vector<Value>{9.0, 1.0})) << "straight through";
    const HyperfunctionRules<PushRule> rules{
        {"round trip",
         [](GraphBuilder&, const Equation&, std::span<const Atom>, std::span<const Tangent> tangents,
            std::span<const Atom>) -> Result<std::vector<Tangent>> { return std::vector<Tangent>{tangents[0]}; }}};
    EXPECT_EQ(run(pushforward(graph, pushforward_rules(), rules).value(), {3.0, 7.0}), (std::vector<Value>{9.0, 7.0}));
}

}  // namespace
}  // namespace yolk::hyper
