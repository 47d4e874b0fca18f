// SPDX-License-Identifier: Apache-2.0
// Branches and loops of populations, unrolled into kernels: the bits, and the errors, of calling the graph once for
// each candidate and example.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "loop_fixtures.hpp"
#include "yolk/graph.hpp"

namespace yolk::hyper {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class population_loops : public LoopTest {};
YOLK_FOR_EACH_DEVICE(population_loops);

std::vector<std::vector<Value>> sequences(std::uint64_t length, std::uint32_t count = 2) {
    std::vector<std::vector<Value>> inputs;
    for (std::uint32_t e = 0; e < count; ++e) inputs.push_back({drawn_tensor({length, 3}, 40 + e)});
    return inputs;
}

/// h = tanh(w h + x), and h^2 of each step: the last h and the sum of all squares.
Graph cell_over(std::uint64_t length, bool reverse) {
    return traced("cell", {{"w", tensor_type({3})}, {"xs", tensor_type({length, 3})}}, [&](std::span<const Traced> in) {
        const auto [last, all] = scan(in[1].shape()[0] > 0 ? Traced(vector({.5F, .25F, -1})) : in[0], in[1],
                                      [&](const Traced& h, const Traced& x) {
                                          const Traced next = tanh(in[0] * h + x);
                                          return std::pair{next, next * next};
                                      },
                                      {.reverse = reverse});
        return TracedValues{length > 0 ? last + cumulative_sum(all, 0) : last * 2.0};
    });
}

TEST_P(population_loops, scans_are_unrolled) {
    for (const bool reverse : {false, true})
        EXPECT_THAT(check(loop_task(cell_over(5, reverse), sequences(5))), IsEmpty());
    EXPECT_THAT(check(loop_task(cell_over(1, false), sequences(1))), IsEmpty());
    EXPECT_THAT(check(loop_task(cell_over(0, false), sequences(0))), IsEmpty());
}

// A sequence that varies, numbers as elements, a carry that begins as data.
TEST_P(population_loops, scans_over_what_candidates_differ_in) {
    const Graph graph = traced("sums", {{"w", tensor_type({4})}, {"k", number_type()}}, [](std::span<const Traced> in) {
        const Scanned all = scan(std::vector<Traced>{Traced(vector({1})), Traced(0.0)}, std::vector<Traced>{in[0]},
                                 [&](std::span<const Traced> c, std::span<const Traced> x) {
                                     return Scanned{{c[0] * x[0] + in[1], c[1] + 1.0}, {c[0] - x[0], to_number(x[0])}};
                                 });
        return TracedValues{concat({all.carries[0] * all.carries[1], all.results[1], reshape(all.results[0], {4})}, 0)};
    });
    EXPECT_THAT(check(loop_task(graph, {{0.1}, {-2.0}})), IsEmpty());
}

/// The logarithm of a negative number is not a number, where that branch is not taken.
Graph chosen(const ValueType& key_type, const std::function<Traced(std::span<const Traced>)>& key) {
    return traced("chosen", {{"w", tensor_type({3})}, {"key", key_type}}, [&](std::span<const Traced> in) {
        const Traced& w = in[0];
        const Traced chosen = switch_on(
            key(in), {[&] { return tanh(w); }, [&] { return log(w - 0.5) * w; }, [&] { return w / (w - w); }});
        return TracedValues{chosen};
    });
}

TEST_P(population_loops, the_branch_that_a_candidate_takes) {
    const std::vector<Tensor> candidates{Tensor::vector({3, 1, .25F}), Tensor::vector({1, 7, 6}),
                                         Tensor::vector({.25F, 2, 9}), Tensor::vector({9, -8, 6})};
    const auto largest = [](std::span<const Traced> in) { return argmax(in[0]); };
    EXPECT_THAT(check(loop_task(chosen(number_type(), largest), {{0.0}}, candidates)), IsEmpty());
    const auto rounded = [](std::span<const Traced> in) { return floor(slice(in[0], 0, {.start = 0, .stop = 1})); };
    const std::vector<Tensor> keys{Tensor::vector({0, 1, 2}), Tensor::vector({1, 7, 6}), Tensor::vector({2.5F, 2, 9}),
                                   Tensor::vector({3, 1, 1}), Tensor::vector({-1, 1, 1})};
    EXPECT_THAT(check(loop_task(chosen(number_type(), rounded), {{0.0}, {1.0}}, keys)), IsEmpty());
}

TEST_P(population_loops, branches_by_data) {
    const std::vector<Tensor> kPositive{Tensor::vector({1, 7, 6}), Tensor::vector({3, 1, .75F})};
    const auto given = [](std::span<const Traced> in) { return in[1]; };
    EXPECT_THAT(check(loop_task(chosen(number_type(), given), {{0.0}, {1.0}, {2.0}}, kPositive)), IsEmpty());
    EXPECT_THAT(check(loop_task(chosen(tensor_type({1}), given), {{vector({1})}, {vector({1})}}, kPositive)),
                IsEmpty());
}

TEST_P(population_loops, branches_by_what_is_true_of_a_candidate) {
    const Graph graph = traced(
        "true", {{"w", tensor_type({3})}, {"x", tensor_type({3})}, {"b", number_type()}},
        [](std::span<const Traced> in) {
            const Traced sum_of = sum(in[0] * in[1]);
            const Traced low = less(sum_of, in[2]);
            const Traced high = less(0.25, max(in[0]));
            const Traced some = logical_or(low, logical_not(high));
            const Traced moved = switch_on(some, {[&] { return in[0] + in[1]; }, [&] { return sqrt(in[0] + 2.0); }});
            const Traced both = logical_and(low, high);
            return TracedValues{select(both, moved, -moved) + select(some, in[0], in[1])};
        });
    std::vector<std::vector<Value>> inputs;
    for (const double bound : {-.3, 0.1, .7}) inputs.push_back({drawn_tensor({3}, 70), bound});
    EXPECT_THAT(check(loop_task(graph, inputs)), IsEmpty());
}

/// x = (x + a / x) / 2 until x^2 is near a, and how many steps.
Graph roots(std::uint64_t limit) {
    return traced("roots", {{"w", tensor_type({1})}, {"near", number_type()}}, [&](std::span<const Traced> in) {
        const TracedValues end = while_loop(
            std::vector<Traced>{Traced(vector({1})), Traced(vector({0}))},
            [&](std::span<const Traced> c) { return less(in[1], absolute(c[0] * c[0] - in[0])); },
            [&](std::span<const Traced> c) {
                return TracedValues{(c[0] + in[0] / c[0]) * 0.5, c[1] + 1.0};
            },
            limit);
        return TracedValues{concat({end[0], end[1]}, 0)};
    });
}

TEST_P(population_loops, a_loop_ends_where_its_condition_says) {
    const std::vector<Tensor> squares{Tensor::vector({1}), Tensor::vector({2}), Tensor::vector({9}),
                                      Tensor::vector({1e6F}), Tensor::vector({0})};
    EXPECT_THAT(check(loop_task(roots(12), {{1e-3}, {1e-1}}, squares)), IsEmpty());
    EXPECT_THAT(check(loop_task(roots(3), {{1e-3}}, squares)), IsEmpty()) << "some are not done by then";
    EXPECT_THAT(check(loop_task(roots(0), {{1e-3}}, squares)), IsEmpty());
}

// A counter that all candidates begin with finds its element, and not those behind the last one.
TEST_P(population_loops, a_loop_over_data_looks_no_further) {
    const Graph graph = traced("found", {{"w", tensor_type({1})}, {"xs", tensor_type({4})}, {"n", tensor_type({1})}},
                               [](std::span<const Traced> in) {
                                   const TracedValues end = while_loop(
                                       std::vector<Traced>{Traced(vector({0})), Traced(vector({0}))},
                                       [&](std::span<const Traced> c) { return less(c[1], in[2]); },
                                       [&](std::span<const Traced> c) {
                                           return TracedValues{c[0] * in[0] + gather(in[1], c[1]), c[1] + 1.0};
                                       },
                                       6);
                                   return TracedValues{end[0]};
                               });
    const Value xs = drawn_tensor({4}, 3);
    EXPECT_THAT(check(loop_task(graph, {{xs, vector({4})}, {xs, vector({2})}, {xs, vector({0})}})), IsEmpty());
}

TEST_P(population_loops, inside_each_other) {
    const Graph graph =
        traced("nested", {{"w", tensor_type({2})}, {"xs", tensor_type({3, 2})}}, [](std::span<const Traced> in) {
            const auto outer = [&](const Traced& h, const Traced& x) {
                const Traced grown = while_loop(
                    h + x, [&](const Traced& y) { return less(sum(absolute(y)), 4.0); },
                    [&](const Traced& y) {
                        return scan(y, in[1],
                                    [&](const Traced& c, const Traced& z) {
                                        return std::pair{c * 1.25 + z * in[0] * 0.125, c};
                                    })
                            .first;
                    },
                    5);
                const Traced next = switch_on(
                    less(0.0, sum(grown)),
                    {[&] { return -grown; },
                     [&] { return custom_call("halved", std::vector{grown}, [](auto v) { return v[0] * 0.5; }); }});
                return std::pair{next, grown};
            };
            const auto [last, all] = scan(in[0], in[1], outer);
            return TracedValues{last + sum(all, 0)};
        });
    EXPECT_THAT(check(loop_task(graph, {{matrix(3, {.5F, .25F, 1, -1, .75F, .5F})}, {matrix(3, {1, 1, 1, 1, 1, 1})}})),
                IsEmpty());
}

TEST_P(population_loops, have_their_derivatives_there) {
    const std::vector<Tensor> squares{Tensor::vector({2}), Tensor::vector({9}), Tensor::vector({1.5F})};
    for (const bool forward : {false, true}) {
        const auto derived = [&](const Graph& graph) {
            return joined_outputs(forward ? pushforward(graph).value() : pullback(graph).value());
        };
        const Graph scanned = derived(cell_over(3, true));
        std::vector<std::vector<Value>> inputs = sequences(3);
        for (auto& each : inputs) {
            if (forward) {
                each = {each[0], drawn_tensor({3}, 5), drawn_tensor({3, 3}, 6)};
            } else {
                each.emplace_back(drawn_tensor({3, 3}, 7));
            }
        }
        EXPECT_THAT(check(loop_task(scanned, inputs)), IsEmpty()) << forward;
        const Graph looped = derived(roots(6));
        std::vector<Value> moved{1e-2, vector({1}), 0.5};
        if (!forward) moved = {1e-2, vector({1, .5F})};
        EXPECT_THAT(check(loop_task(looped, {moved}, squares)), IsEmpty()) << forward;
    }
}

TEST_P(population_loops, stay_on_the_host_for_a_reason) {
    const auto one = [](const std::function<Traced(const Traced&, const Traced&)>& step, std::uint64_t length) {
        return traced("stays", {{"w", tensor_type({1})}, {"x", tensor_type({1})}}, [&](std::span<const Traced> in) {
            const Scanned all = scan(std::vector{in[0]}, {},
                                     [&](std::span<const Traced> c, std::span<const Traced>) {
                                         return Scanned{{step(c[0], in[1])}, {}};
                                     },
                                     {.length = length});
            return TracedValues{all.carries[0]};
        });
    };
    const std::vector<std::vector<Value>> inputs{{vector({.5F})}};
    EXPECT_THAT(check(loop_task(one([](const Traced& h, const Traced& x) { return h * x; }, 30), inputs),
                      {.most_unrolled = 16}),
                ElementsAre(AllOf(HasSubstr("loops_test.cpp"), HasSubstr("more than 16 equations"))));
    EXPECT_THAT(
        check(loop_task(one([](const Traced& h, const Traced& x) { return checkpoint(h * x, "h"); }, 2), inputs)),
        ElementsAre(HasSubstr("checkpoint is in its body")));
    EXPECT_THAT(
        check(loop_task(one([](const Traced& h, const Traced& x) { return x * (to_number(h) + 1.5); }, 2), inputs)),
        ElementsAre(HasSubstr("add takes a number or boolean that differs between candidates")));
}

// What is small enough is unrolled, beside a loop that is not.
TEST_P(population_loops, each_by_itself) {
    const Graph graph =
        traced("two", {{"w", tensor_type({1})}, {"x", tensor_type({1})}}, [](std::span<const Traced> in) {
            const auto of = [&](const Traced& h, std::uint64_t length) {
                return scan(std::vector{h}, {},
                            [&](std::span<const Traced> c, std::span<const Traced>) {
                                return Scanned{{c[0] * in[1]}, {}};
                            },
                            {.length = length})
                    .carries[0];
            };
            return TracedValues{of(of(of(in[0], 3), 30), 4)};
        });
    EXPECT_THAT(check(loop_task(graph, {{vector({.999F})}}), {.most_unrolled = 16}),
                ElementsAre(HasSubstr("more than 16 equations")));
}

}  // namespace
}  // namespace yolk::hyper
