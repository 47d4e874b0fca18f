// SPDX-License-Identifier: Apache-2.0
// Transforms of transforms, against results worked out by hand. f(x) = 3 x, g(x) = x^2; the program is x -> (f x, g x).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "fixtures.hpp"
#include "traced_graphs.hpp"
#include "yolk/graph.hpp"
#include "yolk/internal/hyper/hyperfunction.hpp"

namespace yolk::hyper {
namespace {

using ::testing::HasSubstr;

Graph program() {
    return traced("program", {{"x", tensor_type({1})}}, [](std::span<const Traced> in) {
        return TracedValues{in[0] * 3.0, in[0] * in[0]};
    });
}

/// x, w -> w x^2, w being shared by a batch.
Graph shared_program() {
    return traced("shared", {{"x", tensor_type({1})}, {"w", tensor_type({1})}},
                  [](std::span<const Traced> in) { return TracedValues{in[1] * in[0] * in[0]}; });
}

using Axes = std::vector<std::optional<std::size_t>>;

Graph batched(const Graph& graph, std::uint64_t size, Axes axes = {}) {
    auto result = batch(graph, {.size = size, .axes = std::move(axes)});
    EXPECT_OK(result);
    return result ? *result : Graph{};
}
Graph pulled(const Graph& graph) {
    auto result = pullback(graph);
    EXPECT_OK(result);
    return result ? *result : Graph{};
}
Graph pushed(const Graph& graph) {
    auto result = pushforward(graph);
    EXPECT_OK(result);
    return result ? *result : Graph{};
}

TEST(nesting, one_transform) {
    EXPECT_EQ(run(batched(program(), 3), {matrix(3, {1, 2, 3})}),
              (std::vector<Value>{matrix(3, {3, 6, 9}), matrix(3, {1, 4, 9})}));
    EXPECT_EQ(run(pushed(program()), {vector({5}), vector({2})}),
              (std::vector<Value>{vector({15}), vector({25}), vector({6}), vector({20})}));
    EXPECT_EQ(run(pulled(program()), {vector({5}), vector({1}), vector({10})}),
              (std::vector<Value>{vector({15}), vector({25}), vector({103})}))
        << "fan-out adds up: 3 + 10 * 2 * 5";
}

TEST(nesting, a_batch_of_pullbacks_is_not_a_pullback_of_a_batch) {
    // Of two elements x = 2, 3 with w = 5 and cotangents 1, 10.
    const Value xs = matrix(2, {2, 3}), w = vector({5}), given = matrix(2, {1, 10});
    const Graph each = batched(pulled(shared_program()), 2, {0, std::nullopt, 0});
    EXPECT_EQ(run(each, {xs, w, given}),
              (std::vector<Value>{matrix(2, {20, 45}), matrix(2, {20, 300}), matrix(2, {4, 90})}))
        << "each element has its own cotangent of w: x^2 d";
    const Graph together = pulled(batched(shared_program(), 2, {0, std::nullopt}));
    EXPECT_EQ(run(together, {xs, w, given}),
              (std::vector<Value>{matrix(2, {20, 45}), matrix(2, {20, 300}), vector({94})}))
        << "w is one input: 4 + 90";
}

TEST(nesting, of_two) {
    const Value xs = matrix(2, {2, 3}), dx = matrix(2, {1, 10});
    const std::vector<Value> moved{matrix(2, {6, 9}), matrix(2, {4, 9}), matrix(2, {3, 30}), matrix(2, {4, 60})};
    EXPECT_EQ(run(batched(pushed(program()), 2), {xs, dx}), moved);
    EXPECT_EQ(run(pushed(batched(program(), 2)), {xs, dx}), moved);
    // Of a batch of batches: [3, 2, 1].
    const Graph twice = batched(batched(program(), 2), 3);
    const Value all = Tensor::create({3, 2, 1}, {1, 2, 3, 4, 5, 6}).value();
    EXPECT_EQ(run(twice, {all})[1], Value(Tensor::create({3, 2, 1}, {1, 4, 9, 16, 25, 36}).value()));
    // x^2 twice: along v = 1 then 1, d(2 x v) = 2.
    const Graph second = pushed(pushed(program()));
    EXPECT_EQ(run(second, {vector({5}), vector({1}), vector({1}), vector({0})}).back(), vector({2}));
    // <d, (3 v, 2 x v)> moved along x: 2 v d2; and back from the tangents: 3 d + 2 x d.
    const Graph forward_of_back = pushed(pulled(program()));
    const std::vector<Value> along =
        run(forward_of_back, {vector({5}), vector({1}), vector({10}), vector({1}), vector({0}), vector({0})});
    EXPECT_EQ(along,
              (std::vector<Value>{vector({15}), vector({25}), vector({103}), vector({3}), vector({10}), vector({20})}));
    const Graph back_of_forward = pulled(pushed(program()));
    const std::vector<Value> back =
        run(back_of_forward, {vector({5}), vector({2}), vector({0}), vector({0}), vector({1}), vector({10})});
    EXPECT_EQ(back[4], vector({40})) << "by x: 2 * 2 * 10";
    EXPECT_EQ(back[5], vector({103})) << "by dx: 3 + 10 * 2 * 5";
    // d(3 d1 + 2 x d2) by x: 2 d2; by d1: 3; by d2: 2 x.
    const std::vector<Value> twice_back =
        run(pulled(pulled(program())), {vector({5}), vector({1}), vector({10}), vector({0}), vector({0}), vector({1})});
    EXPECT_EQ((std::vector<Value>{twice_back.end() - 3, twice_back.end()}),
              (std::vector<Value>{vector({20}), vector({3}), vector({10})}));
}

TEST(nesting, of_three) {
    const Value xs = matrix(2, {2, 3}), given = matrix(2, {1, 10}), zero = matrix(2, {0, 0});
    // The second derivative of w x^2 by x, of each element: 2 w d.
    const Graph hessians = batched(pushed(pulled(shared_program())), 2, {0, std::nullopt, 0, 0, std::nullopt, 0});
    const std::vector<Value> each = run(hessians, {xs, vector({5}), given, matrix(2, {1, 1}), vector({0}), zero});
    EXPECT_EQ(each[4], matrix(2, {10, 100}));
    const Graph inside = pushed(batched(pulled(shared_program()), 2, {0, std::nullopt, 0}));
    EXPECT_EQ(run(inside, {xs, vector({5}), given, matrix(2, {1, 1}), vector({0}), zero})[4], matrix(2, {10, 100}));
    const Graph last = pushed(pulled(batched(shared_program(), 2, {0, std::nullopt})));
    EXPECT_EQ(run(last, {xs, vector({5}), given, matrix(2, {1, 1}), vector({0}), zero})[4], matrix(2, {10, 100}));
}

TEST(nesting, with_dead_code_calls_and_stages) {
    const Graph whole = pulled(as_call(program()).value());
    ASSERT_OK_AND_ASSIGN(const Graph lean, dce(whole, {false, false, true}));
    EXPECT_LT(lean.equations.size(), whole.equations.size());
    EXPECT_EQ(run(lean, {vector({5}), vector({1}), vector({10})}), std::vector<Value>{vector({103})});
    const Graph of_lean = batched(lean, 2);
    EXPECT_EQ(run(of_lean, {matrix(2, {5, 6}), matrix(2, {1, 1}), matrix(2, {10, 0})}),
              std::vector<Value>{matrix(2, {103, 3})});
    const auto any = [](const Equation&) { return true; };
    ASSERT_OK_AND_ASSIGN(const Graph staged, sched(of_lean, any));
    EXPECT_EQ(run(staged, {matrix(2, {5, 6}), matrix(2, {1, 1}), matrix(2, {10, 0})}),
              std::vector<Value>{matrix(2, {103, 3})});
    EXPECT_EQ(run(pushed(staged), {matrix(2, {5, 6}), matrix(2, {1, 1}), matrix(2, {10, 0}), matrix(2, {1, 1}),
                                   matrix(2, {0, 0}), matrix(2, {0, 0})})
                  .back(),
              matrix(2, {20, 0}));
}

TEST(nesting, equations_belong_to_the_hyperfunctions_that_they_came_from) {
    const auto look = hyperfunction("look", VectorWeight{.size = 3},
                                    [](const Traced& w, const Traced& ids) { return sum(gather(w, ids) * 2.0); });
    const Graph graph = traced("looked", {{"ids", tensor_type({2})}},
                               [&](std::span<const Traced> in) { return TracedValues{look(in[0])}; });
    const Graph each = batched(pulled(graph), 2);
    for (const Equation& equation : each.equations)
        EXPECT_EQ(equation.hyperfunction, "look") << equation.operation->name;
    const std::vector<Value> inputs{matrix(2, {0, 1, 1, 3}), matrix(2, {1, 1})};
    EXPECT_THAT(refusal(call(each, {.inputs = inputs, .parameters = {Tensor::vector({1, 2, 3})}})),
                ::testing::AllOf(HasSubstr("gather"), HasSubstr("'look'"), HasSubstr("id 3")));
}

TEST(nesting, of_branches_and_loops) {
    // x -> x^2 or 3 x by the key, then three times doubled.
    const Graph graph = traced("both", {{"k", number_type()}, {"x", tensor_type({1})}}, [](std::span<const Traced> in) {
        const Traced chosen = switch_on(in[0], {[&] { return in[1] * in[1]; }, [&] { return in[1] * 3.0; }});
        const auto [last, all] = scan(chosen, Traced(Tensor::filled({3}, 2.0F)), [](const Traced& c, const Traced& x) {
            const Traced next = c * x;
            return std::pair{next, next};
        });
        return TracedValues{last, all};
    });
    const Value keys = vector({0, 1}), xs = matrix(2, {5, 7});
    EXPECT_EQ(run(batched(graph, 2), {keys, xs})[0], matrix(2, {200, 168}));
    const Value last = matrix(2, {1, 1}), none = Tensor::filled({2, 3, 1}, 0.0F);
    const std::vector<Value> each = run(batched(pulled(graph), 2), {keys, xs, last, none});
    EXPECT_EQ(each.back(), matrix(2, {80, 24})) << "8 * 2 * 5, 8 * 3";
    const std::vector<Value> together = run(pulled(batched(graph, 2)), {keys, xs, last, none});
    EXPECT_EQ(together.back(), matrix(2, {80, 24}));
    const std::vector<Value> moved = run(pushed(batched(graph, 2)), {keys, xs, vector({0, 0}), matrix(2, {1, 1})});
    EXPECT_EQ(moved[2], matrix(2, {80, 24}));
    EXPECT_EQ(run(batched(pushed(graph), 2), {keys, xs, vector({0, 0}), matrix(2, {1, 1})}), moved);
}

TEST(nesting, of_loops_of_unknown_length) {
    const Graph graph = traced("loop", {{"x", number_type()}, {"w", number_type()}}, [](std::span<const Traced> in) {
        return TracedValues{while_loop(
            in[0], [](const Traced& x) { return less(x, 20.0); }, [&](const Traced& x) { return x * in[1]; }, 9)};
    });
    // 3 -> 6 12 24 (w^3), 1 -> 5 25 (w^2): by x: w^n; by w: n x w^(n - 1).
    const std::vector<Value> each = run(batched(pulled(graph), 2), {vector({3, 1}), vector({2, 5}), vector({1, 1})});
    EXPECT_EQ(each, (std::vector<Value>{vector({24, 25}), vector({8, 25}), vector({36, 10})}));
    const std::vector<Value> together =
        run(pulled(batched(graph, 2)), {vector({3, 1}), vector({2, 5}), vector({1, 1})});
    EXPECT_EQ(together, each);
    // Along x: w^n; then along w.
    const std::vector<Value> moved{vector({24, 25}), vector({8, 25})}, by_w{vector({24, 25}), vector({36, 10})};
    const Value xs = vector({3, 1}), ws = vector({2, 5}), ones = vector({1, 1}), none = vector({0, 0});
    for (const Graph& forward : {pushed(batched(graph, 2)), batched(pushed(graph), 2)}) {
        EXPECT_EQ(run(forward, {xs, ws, ones, none}), moved);
        EXPECT_EQ(run(forward, {xs, ws, none, ones}), by_w);
    }
}

}  // namespace
}  // namespace yolk::hyper
