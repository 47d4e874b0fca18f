// SPDX-License-Identifier: Apache-2.0
// Loops of populations end soon after the last candidate is done: values, errors and bits are those of all steps up to
// the limit.
#include <gmock/gmock.h>

#include <algorithm>

#include "loop_fixtures.hpp"

namespace yolk::hyper {
namespace {

using ::testing::IsEmpty;

constexpr std::uint64_t kManySteps = 400;

class population_stopped_loops : public LoopTest {
   protected:
    /// The same values whenever the device is asked.
    void check_blocks(const LoopTask& task, std::initializer_list<std::uint32_t> blocks = {0, 1, 3, kLoopBlock}) {
        for (const std::uint32_t block : blocks) {
            SCOPED_TRACE(::testing::Message() << "blocks of " << block);
            EXPECT_THAT(check(task, {.loop_block = block}), IsEmpty());
        }
    }
};
YOLK_FOR_EACH_DEVICE(population_stopped_loops);

/// As many steps as w says.
Graph halved(std::uint64_t limit) {
    return traced("halved", {{"w", tensor_type({1})}, {"more", tensor_type({1})}}, [&](std::span<const Traced> in) {
        const TracedValues end = while_loop(
            std::vector<Traced>{Traced(vector({0})), Traced(vector({1}))},
            [&](std::span<const Traced> c) { return less(c[0], in[0]); },
            [&](std::span<const Traced> c) {
                return TracedValues{c[0] + 1.0, c[1] * 0.5 + in[0]};
            },
            limit);
        return TracedValues{end[1] + in[1]};
    });
}

/// As many steps as w and the example's `more` add up to, with equations before and behind them.
Graph counted(std::uint64_t limit) {
    return traced("counted", {{"w", tensor_type({1})}, {"more", tensor_type({1})}}, [&](std::span<const Traced> in) {
        const Traced before = in[0] * 0.25 + in[1];
        const TracedValues end = while_loop(
            std::vector<Traced>{Traced(vector({0})), Traced(vector({1})), before},
            [&](std::span<const Traced> c) { return less(c[0], in[0] + in[1]); },
            [&](std::span<const Traced> c) {
                return TracedValues{c[0] + 1.0, c[1] * 0.75 + c[2], tanh(c[2] + c[0] * in[0])};
            },
            limit);
        return TracedValues{concat({end[0], end[1] - before, end[2] * in[1], before}, 0)};
    });
}

std::vector<Tensor> steps(std::initializer_list<float> counts) {
    std::vector<Tensor> candidates;
    for (const float count : counts) candidates.push_back(Tensor::vector({count}));
    return candidates;
}

TEST_P(population_stopped_loops, at_the_ends_of_blocks_and_beside_them) {
    constexpr float kLimit = 17.0F;
    const Graph graph = counted(static_cast<std::uint64_t>(kLimit));
    for (const float count : {0.0F, 1.0F, 3.0F, 4.0F, 5.0F, 7.0F, 8.0F, 9.0F, 16.0F, kLimit})
        check_blocks(loop_task(graph, {{vector({0})}}, steps({count, count / 2})), {4});
    check_blocks(loop_task(graph, {{vector({0})}, {vector({2})}}, steps({9, 0, kLimit - 2, 1, 8})), {0, 1, kLoopBlock});
    check_blocks(loop_task(graph, {{vector({0})}}, steps({3, kLimit + 1, 0, kLimit, 1e9F})), {3, kLoopBlock});
}

TEST_P(population_stopped_loops, take_the_dispatches_of_the_slowest_candidate) {
    const Graph graph = halved(kManySteps);
    const auto dispatches = [&](std::initializer_list<float> counts, std::uint32_t block) {
        EXPECT_THAT(check(loop_task(graph, {{vector({0})}}, steps(counts)), {.loop_block = block}), IsEmpty());
        return counts_of_last();
    };
    const PopulationCounts all = dispatches({400, 2}, 0);
    EXPECT_EQ(all.submissions, 1U);
    for (const float slowest : {0.0F, 3.0F, 150.0F}) {
        const PopulationCounts few = dispatches({1, slowest, 0}, kLoopBlock);
        const double share = std::max(2.0 * slowest, double{kLoopBlock}) / double{kManySteps};
        EXPECT_LT(static_cast<double>(few.dispatches), share * static_cast<double>(all.dispatches) + 20) << slowest;
        EXPECT_LE(few.submissions, 7U);  // questions after 8, 16, 32, 64, 128 and 256
    }
}

TEST_P(population_stopped_loops, within_and_after_each_other) {
    const Graph graph =
        traced("nested", {{"w", tensor_type({2})}, {"xs", tensor_type({2, 2})}}, [](std::span<const Traced> in) {
            const auto grown = [&](const Traced& from, double bound, std::uint64_t limit) {
                return while_loop(
                    from, [&](const Traced& y) { return less(sum(absolute(y)), bound); },
                    [&](const Traced& y) { return y * 1.25 + in[0] * 0.125; }, limit);
            };
            const Traced outer = while_loop(
                grown(in[0], 3.0, 10), [&](const Traced& y) { return less(sum(absolute(y)), 15.0); },
                [&](const Traced& y) { return grown(y * 0.75, 9.0, 10) * 1.5; }, 5);
            const Traced key = floor(slice(absolute(in[0]), 0, {.start = 0, .stop = 1}));
            const Traced branch = switch_on(key, {[&] { return grown(outer * 0.01, 2.0, 18); },
                                                  [&] {
                                                      return scan(in[0], in[1],
                                                                  [&](const Traced& h, const Traced& x) {
                                                                      return std::pair{grown(h * 0.5 + x, 4.0, 10), h};
                                                                  })
                                                          .first;
                                                  }});
            return TracedValues{branch + outer};
        });
    const std::vector<Tensor> candidates{Tensor::vector({.5F, .25F}), Tensor::vector({1.5F, -.75F}),
                                         Tensor::vector({-1, 2}), Tensor::vector({.0625F, -.9375F})};
    check_blocks(loop_task(graph, {{matrix(2, {.5F, .25F, 1, -1})}, {matrix(2, {1, 1, -.5F, 2})}}, candidates), {1, 3});
    EXPECT_EQ(failed_of_last(), 0) << "all of them end within the limits";
}

// A value moves through carries, so that it is first computed with in steps that nobody takes, and again behind them.
TEST_P(population_stopped_loops, what_is_made_on_first_use_is_made_again_behind_them) {
    const Graph graph = traced("moved", {{"w", tensor_type({3})}}, [](std::span<const Traced> in) {
        const Traced found = argmax(in[0]);
        const Traced one{vector({1})};
        const TracedValues end = while_loop(
            std::vector<Traced>{one, one, one, one, found},
            [&](std::span<const Traced> c) { return less(c[0], max(in[0])); },
            [&](std::span<const Traced> c) {
                return TracedValues{c[0] + 1.0, c[1] * 0.5 + c[2], c[3], c[4], Traced(vector({2}))};
            },
            12);
        return TracedValues{concat({end[0], end[1], found + 0.5}, 0)};
    });
    const std::vector<Tensor> candidates{Tensor::vector({0, 1, 1.5F}), Tensor::vector({-1, .5F, 0})};
    check_blocks(loop_task(graph, {{}}, candidates), {0, 1, 2, 3});
}

// What a step would refuse is no error where it is left out.
TEST_P(population_stopped_loops, errors_are_those_of_steps_that_run) {
    const Graph graph =
        traced("keyed", {{"w", tensor_type({1})}, {"xs", tensor_type({4})}}, [](std::span<const Traced> in) {
            const TracedValues end = while_loop(
                std::vector<Traced>{Traced(vector({0})), in[0]},
                [&](std::span<const Traced> c) { return less(c[0], in[0]); },
                [&](std::span<const Traced> c) {
                    const Traced chosen = switch_on(c[0], {[&] { return c[1] + 1.0; }, [&] { return c[1] * 2.0; },
                                                           [&] { return c[1] - 3.0; }, [&] { return c[1] * c[1]; }});
                    return TracedValues{c[0] + 1.0, chosen + gather(in[1], c[0])};
                },
                12);
            return TracedValues{end[1]};
        });
    check_blocks(loop_task(graph, {{drawn_tensor({4}, 7)}}, steps({2, 4, 0})), {0, 1, 2, kLoopBlock});
    check_blocks(loop_task(graph, {{drawn_tensor({4}, 7)}}, steps({2, 5, 3, 11, 13})), {0, 1, 2, kLoopBlock});
}

// What the examples say alone needs no question.
TEST_P(population_stopped_loops, over_data_that_changes) {
    const Graph graph =
        traced("data", {{"w", tensor_type({1})}, {"n", tensor_type({1})}}, [](std::span<const Traced> in) {
            const TracedValues end = while_loop(
                std::vector<Traced>{Traced(vector({0})), Traced(vector({0}))},
                [&](std::span<const Traced> c) { return less(c[1], in[1]); },
                [&](std::span<const Traced> c) {
                    return TracedValues{tanh(c[0] * 0.5 + in[0]), c[1] + 1.0};
                },
                kManySteps);
            return TracedValues{end[0] * 2.0};
        });
    const std::vector<Tensor> candidates = steps({.5F, -.25F, 2});
    const auto dispatches = [&](float first, float second) {
        const LoopTask task = loop_task(graph, {{vector({first})}, {vector({second})}}, candidates);
        EXPECT_THAT(check(task), IsEmpty());
        EXPECT_EQ(counts_of_last().submissions, counts_of_last().chunks);
        return counts_of_last().dispatches;
    };
    const std::uint64_t all = dispatches(2, kManySteps), few = dispatches(3, 5), one = dispatches(0, 1);
    EXPECT_LE(few, 5 * all / kManySteps + 5);
    EXPECT_LT(one, few);
    EXPECT_LE(dispatches(0, 0), one);

    const LoopTask task = loop_task(graph, {{vector({3})}}, candidates);
    ParameterSet set;
    ASSERT_OK(set.add(vector_spec("w", 1), Tensor::vector({0})));
    std::vector<TracedExample> examples{example(task.graph, {vector({3})}, set)};
    ASSERT_OK_AND_ASSIGN(PopulationEvaluator evaluator, PopulationEvaluator::create({.devices = dispatcher()}, examples,
                                                                                    set, {.examples_change = true}));
    std::uint64_t before = 0;
    for (const float n : {3.0F, 40.0F, 399.0F}) {
        examples[0] = example(task.graph, {vector({n})}, set);
        ASSERT_OK(evaluator.set_examples(examples));
        ASSERT_OK_AND_ASSIGN(const PopulationOutputs out,
                             evaluator.evaluate(std::vector<Candidate>{{{{"w", candidates[0]}}}}));
        ASSERT_OK_AND_ASSIGN(const auto wanted,
                             call(task.graph, {.inputs = {vector({n})}, .parameters = {candidates[0]}}));
        EXPECT_EQ(out.values[0], wanted.front()) << n;
        EXPECT_GT(out.counts.dispatches, before);
        before = out.counts.dispatches;
    }
}

TEST_P(population_stopped_loops, have_their_derivatives) {
    const Graph graph =
        traced("power", {{"w", tensor_type({1})}, {"x", tensor_type({1})}}, [](std::span<const Traced> in) {
            const TracedValues end = while_loop(
                std::vector<Traced>{in[0], Traced(vector({1}))},
                [&](std::span<const Traced> c) { return less(c[1], 4.0); },
                [&](std::span<const Traced> c) {
                    return TracedValues{tanh(c[0] * in[1]), c[1] + absolute(in[0])};
                },
                40);
            return TracedValues{end[0] * 3.0};
        });
    const std::vector<Tensor> candidates = steps({.5F, -1.25F, 3, -.125F});
    const Graph pulled = joined_outputs(pullback(graph).value());
    check_blocks(loop_task(pulled, {{vector({.75F}), vector({2})}, {vector({-.5F}), vector({1})}}, candidates));
    const Graph pushed = joined_outputs(pushforward(graph).value());
    check_blocks(loop_task(pushed, {{vector({.75F}), vector({2}), vector({1})}}, candidates));
    const auto dispatches = [&](std::uint32_t block) {
        EXPECT_THAT(check(loop_task(pulled, {{vector({.75F}), vector({2})}}, steps({2, 3})), {.loop_block = block}),
                    IsEmpty());
        return counts_of_last().dispatches;
    };
    EXPECT_LT(dispatches(kLoopBlock), dispatches(0) / 3) << "8 of 40 steps, there and back";
}

// Numbers of candidates are added in double, on the host: before the loop, and to what comes out of it.
TEST_P(population_stopped_loops, between_equations_of_the_host) {
    for (const bool host_says_when : {true, false}) {
        const Graph graph = traced("between", {{"w", tensor_type({1})}}, [&](std::span<const Traced> in) {
            const Traced made = in[0] * (to_number(in[0]) + 0.5);
            const Traced& until = host_says_when ? made : in[0];
            const TracedValues end = while_loop(
                std::vector<Traced>{Traced(vector({0})), made},
                [&](std::span<const Traced> c) { return less(c[0], until); },
                [&](std::span<const Traced> c) {
                    return TracedValues{c[0] + 1.0, c[1] * 0.5 + until};
                },
                30);
            return TracedValues{end[1] * (to_number(end[0]) + 0.25)};
        });
        const auto dispatches = [&](std::uint32_t block) {
            EXPECT_THAT(check(loop_task(graph, {{}}, steps({2, 0, 1.5F, 3})), {.loop_block = block}),
                        ::testing::Not(IsEmpty()));
            return counts_of_last().dispatches;
        };
        const std::uint64_t all = dispatches(0), few = dispatches(2);
        // Steps that wait for the host are apart from those that do not: then all of them are made, as before.
        if (host_says_when) {
            EXPECT_LT(few, all);
        } else {
            EXPECT_EQ(few, all);
        }
    }
}

// Chunks take turns, and each ends when its own candidates are done.
TEST_P(population_stopped_loops, chunk_by_chunk) {
    const Graph graph = counted(60);
    const LoopTask task =
        loop_task(graph, {{vector({0})}, {vector({1})}}, steps({3, 50, 0, 17, 8, 59, 2, 1, 33, 7, 61}));
    for (const std::uint32_t batch : {2U, 6U, 64U}) {
        EXPECT_THAT(check(task, {.max_batch_size = batch}), IsEmpty());
        EXPECT_EQ(failed_of_last(), 1) << "61 and 60 + 1 steps are more than 60";
        EXPECT_EQ(counts_of_last().chunks, (11 + batch / 2 - 1) / (batch / 2));
    }
}

}  // namespace
}  // namespace yolk::hyper
