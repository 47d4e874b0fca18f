// SPDX-License-Identifier: Apache-2.0
// Rewards that kernels make stay on the device: what comes to the host does not grow with candidates and examples, and
// the mean over examples has the same bits wherever it is made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <memory>

#include "fixtures.hpp"
#include "pool_fixtures.hpp"
#include "population_fixtures.hpp"
#include "searched.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t kFive = 5;
constexpr std::int32_t kMean = -1;

/// Minus the mean square of the difference.
Metric mean_square() {
    return traced_metric("mean square", [](const Traced& p, const Traced& e) { return -mean((p - e) * (p - e), 0); });
}

/// in -> hidden -> hidden -> out, all tanh; every third input is of two rows with `mixed`, so that its graph is
/// another.
Task network_task(std::uint32_t examples, bool mixed = false) {
    const auto layer = [](const char* name, std::uint32_t out, std::uint32_t in, std::uint32_t seed) {
        return hyperfunction(name, MatrixWeight{.out = out, .in = in, .values = drawn_tensor({out, in}, seed)},
                             [](const Traced& w, const Traced& x) { return tanh(linear(w, x)); }, {.optimize = true});
    };
    const auto first = layer("first", 16, 8, 1), second = layer("second", 16, 16, 2), third = layer("third", 4, 16, 3);
    Task task{System("network",
                     [=](const Inputs& in) {
                         const Traced y = third(second(first(in["x"])));
                         return y.shape().rank() == 1 ? y : mean(y, 0);
                     }),
              {},
              mean_square()};
    for (std::uint32_t i = 0; i < examples; ++i) {
        const Shape shape = mixed && i % 3 == 1 ? Shape{2, 8} : Shape{8};
        task.examples.push_back({{{"x", drawn_tensor(shape, 20 + i)}}, drawn_tensor({4}, 80 + i)});
    }
    return task;
}

/// Five examples of three structures, none of a structure beside the next; the last one's reward is the same whatever
/// its input is.
std::vector<TracedExample> rewarding_examples(const ParameterSet& set) {
    std::vector<TracedExample> examples;
    for (std::uint32_t i = 0; i < kFive; ++i) {
        Sketch s(set);
        const Atom x = s.input("x", drawn_tensor({4}, 50 + i));
        Atom y = i % 2 == 0 ? s.one("linear", {s.parameter("w1"), x})
                            : s.one("tanh", {s.one("linear", {s.parameter("w1"), x})});
        if (i == 4) y = s.one("tanh", {s.parameter("b1")});
        const Atom sum = s.one("sum", {y});
        examples.push_back(s.finish(s.one("reshape", {sum}, {{"shape", std::vector<std::int64_t>{1}}})));
    }
    return examples;
}

/// docs/kernels/reduce.md, for five columns: element k joins chain k, then chains are halved.
float mean_of_five(const std::array<float, kFive>& r) {
    const float four = r[0] + r[4];
    const float two = four + r[2], other = r[1] + r[3];
    return (two + other) * (1.0F / 5.0F);
}

Perturbations perturbed(const SearchSpace& space, std::uint32_t members) {
    return {.table = space.table,
            .mean = space.mean,
            .when = {.seed = 9, .sigma = 0.25F},
            .first_member = kMean,
            .members = members};
}

class scores_stay : public ::yolk::testing::DeviceTest {
   protected:
    static constexpr std::uint32_t kCandidates = 21;  // the mean among them
    [[nodiscard]] Result<PopulationEvaluator> evaluator_of(std::span<const TracedExample> examples,
                                                           const ParameterSet& set, bool means) const {
        return PopulationEvaluator::create({.devices = dispatcher()}, examples, set,
                                           {.max_batch_size = 8 * kFive, .mean_outputs = means});
    }
};
YOLK_FOR_EACH_DEVICE(scores_stay);

TEST_P(scores_stay, means_are_those_of_the_rewards_in_the_order_of_the_examples) {
    const ParameterSet set = two_layers();
    const std::vector<TracedExample> examples = rewarding_examples(set);
    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(set));
    ASSERT_OK_AND_ASSIGN(PopulationEvaluator by_value, evaluator_of(examples, set, false));
    ASSERT_OK_AND_ASSIGN(PopulationEvaluator by_mean, evaluator_of(examples, set, true));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs values, by_value.evaluate(perturbed(space, kCandidates)));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs means, by_mean.evaluate(perturbed(space, kCandidates)));
    ASSERT_OK(by_mean.begin(perturbed(space, kCandidates)));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs twin,
                         by_mean.evaluate_part(PopulationEvaluator::kTwin, {.first = 0, .count = kCandidates}));
    EXPECT_TRUE(by_mean.means_stay());
    EXPECT_FALSE(by_value.means_stay());
    EXPECT_TRUE(means.values.empty());
    ASSERT_EQ(means.means.size(), kCandidates);
    for (std::uint32_t c = 0; c < kCandidates; ++c) {
        std::array<float, kFive> rewards{};
        for (std::uint32_t e = 0; e < kFive; ++e)
            rewards[e] = values.values[std::size_t{e} * kCandidates + c].tensor()->values()[0];
        EXPECT_EQ(means.means[c], mean_of_five(rewards)) << c;
    }
    EXPECT_EQ(twin.means, means.means);
}

TEST_P(scores_stay, members_go_where_they_are_wanted_and_the_centre_to_the_host) {
    const ParameterSet set = two_layers();
    const std::vector<TracedExample> examples = rewarding_examples(set);
    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(set));
    ASSERT_OK_AND_ASSIGN(PopulationEvaluator evaluator, evaluator_of(examples, set, true));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs expected, evaluator.evaluate(perturbed(space, kCandidates)));
    const std::uint64_t bytes = 4 * (kCandidates - 1);
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, device().create_buffer({.size_bytes = 256 + bytes, .label = "scores"}));
    const OperationCounts before = device().counts();
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs got,
                         evaluator.evaluate_into(perturbed(space, kCandidates), {buffer, 256, bytes}));
    EXPECT_EQ(device().counts().bytes_read_back - before.bytes_read_back, 4U);
    EXPECT_EQ(got.counts.chunks, 3U);
    EXPECT_EQ(got.means, std::vector<float>{expected.means.front()});
    std::vector<float> members(kCandidates - 1);
    ASSERT_OK(dispatcher().download({buffer, 256, bytes}, std::as_writable_bytes(std::span(members))));
    EXPECT_EQ(members, std::vector<float>(expected.means.begin() + 1, expected.means.end()));
    EXPECT_THAT(refusal(evaluator.evaluate_into(perturbed(space, kCandidates), {buffer, 0, bytes - 4})),
                HasSubstr("The means of 20 members take 80 bytes; the view has 76."));
    ASSERT_OK_AND_ASSIGN(PopulationEvaluator by_value, evaluator_of(examples, set, false));
    EXPECT_THAT(refusal(by_value.evaluate_into(perturbed(space, kCandidates), {buffer, 256, bytes})),
                HasSubstr("cannot stay on the device"));
}

// A host function makes the reward of one example: means are made on the host, and failures are NaN.
TEST_P(scores_stay, means_are_the_hosts_where_it_makes_a_reward) {
    const ParameterSet set = two_layers();
    std::vector<TracedExample> examples = rewarding_examples(set);
    Sketch s(set);
    const Atom sum = s.one("sum", {s.one("linear", {s.parameter("w1"), s.input("x", drawn_tensor({4}, 50))})});
    const float limit = s.value(sum).tensor()->values()[0] + 0.01F;  // the mean is fine
    const auto picky = std::make_shared<const HostFunction>(
        HostFunction{.name = "picky", .run = [limit](const HostCall& call) -> Result<Value> {
                         if (call.operands[0].tensor()->values()[0] > limit) return failed_work("too much");
                         return call.operands[0];
                     }});
    examples[0] = s.finish(s.one("host_call", {Value(Tensor()), sum}, {}, picky));
    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(set));
    ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create());
    const auto evaluated = [&](bool means) -> Result<PopulationOutputs> {
        YOLK_TRY(PopulationEvaluator evaluator, PopulationEvaluator::create({.devices = dispatcher(), .pool = &pool},
                                                                            examples, set, {.mean_outputs = means}));
        EXPECT_FALSE(evaluator.means_stay());
        return evaluator.evaluate(perturbed(space, kCandidates));
    };
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs values, evaluated(false));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs means, evaluated(true));
    EXPECT_TRUE(means.values.empty());
    std::uint32_t failed = 0;
    for (std::uint32_t c = 0; c < kCandidates; ++c) {
        ASSERT_EQ(means.errors[c].has_value(), values.errors[c].has_value());
        EXPECT_EQ(std::isnan(means.means[c]), means.errors[c].has_value()) << c;
        failed += means.errors[c] ? 1U : 0U;
        if (means.errors[c]) continue;
        std::array<float, kFive> rewards{};
        for (std::uint32_t e = 0; e < kFive; ++e)
            rewards[e] = values.values[std::size_t{e} * kCandidates + c].tensor()->values()[0];
        EXPECT_EQ(means.means[c], mean_of_five(rewards)) << c;
    }
    EXPECT_GT(failed, 0U);
    EXPECT_LT(failed, kCandidates);
}

TEST_P(scores_stay, what_comes_to_the_host_does_not_grow) {
    const auto bytes_of_steps = [&](std::uint32_t population, std::uint32_t examples) {
        std::array<std::uint64_t, 2> bytes{};
        for (const std::uint32_t i : {0U, 1U}) {
            Task task = network_task(examples);
            task.system.use(dispatcher());
            OptimizeOptions options = few_generations(i == 0 ? 2 : 5);
            options.evolution.population = population;
            const OperationCounts before = device().counts();
            EXPECT_OK(task.system.optimize(task.examples, task.metric, options));
            const OperationCounts after = device().counts();
            bytes[i] =
                after.bytes_read_back + after.bytes_downloaded - before.bytes_read_back - before.bytes_downloaded;
        }
        return bytes[1] - bytes[0];
    };
    const std::uint64_t few = bytes_of_steps(32, 4);
    EXPECT_GT(few, 0U);
    EXPECT_EQ(bytes_of_steps(256, 4), few);
    EXPECT_EQ(bytes_of_steps(32, 12), few);
}

// The start is scored as a candidate, and by itself: one definition of the mean.
TEST_P(scores_stay, rewards_are_the_same_on_every_road) {
    for (const bool mixed : {false, true}) {
        Task task = network_task(7, mixed);
        task.system.use(dispatcher());
        ASSERT_OK_AND_ASSIGN(const Evaluation alone, task.system.evaluate(task.examples, task.metric));
        const std::vector<Candidate> candidates(2);
        ASSERT_OK_AND_ASSIGN(const PopulationEvaluation population,
                             task.system.evaluate_population(candidates, task.examples, task.metric));
        ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome,
                             task.system.optimize(task.examples, task.metric, few_generations(2)));
        EXPECT_EQ(population.rewards, std::vector<double>(2, alone.reward));
        EXPECT_EQ(population.outputs.values.size(), 14U);
        EXPECT_EQ(outcome.start_reward, alone.reward);
        ASSERT_OK_AND_ASSIGN(const Evaluation best, task.system.evaluate(task.examples, task.metric));
        EXPECT_EQ(outcome.best_reward, best.reward);
    }
}

// What the metric makes of an output that no candidate changes is data.
TEST_P(scores_stay, outputs_that_do_not_vary_are_scored) {
    const auto make = [] {
        const auto net =
            hyperfunction("net", MatrixWeight{.out = 3, .in = 4, .values = drawn_tensor({3, 4}, 1)},
                          [](const Traced& w, const Traced& x) { return linear(w, x); }, {.optimize = true});
        const auto fixed =
            hyperfunction("fixed", MatrixWeight{.out = 2, .in = 4, .values = drawn_tensor({2, 4}, 2)},
                          [](const Traced& w, const Traced& x) { return linear(w, x); }, {.optimize = true});
        Task task{System("two",
                         [=](const Inputs& in) {
                             return pack({{"near", net(in["x"])}, {"length", fixed(in["x"])}});
                         }),
                  {},
                  traced_metric("near and short", [](const Traced& p, const Traced& e) {
                      return -sum(absolute(field(p, "near") - e)) - sum(absolute(field(p, "length")));
                  })};
        for (std::uint32_t i = 0; i < 6; ++i)
            task.examples.push_back({{{"x", drawn_tensor({4}, 20 + i)}}, drawn_tensor({3}, 80 + i)});
        return task;
    };
    Task task = make();
    task.system.use(dispatcher());
    ASSERT_OK_AND_ASSIGN(const Evaluation alone, task.system.evaluate(task.examples, task.metric));
    const std::vector<Candidate> candidates{{{{"net", drawn_tensor({3, 4}, 1)}}}};
    ASSERT_OK_AND_ASSIGN(const PopulationEvaluation population,
                         task.system.evaluate_population(candidates, task.examples, task.metric));
    EXPECT_EQ(population.rewards.front(), alone.reward);
    OptimizeOptions options = few_generations(3);
    options.evolution.freeze = {"fixed"};
    for (const std::uint32_t examples_per_generation : {0U, 6U}) {
        options.examples_per_generation = examples_per_generation;
        Task again = make();
        again.system.use(dispatcher());
        ASSERT_OK_AND_ASSIGN(const Searched searched, optimized(again, options));
        // All six, but in another order where they are drawn.
        EXPECT_NEAR(searched.outcome.start_reward, alone.reward, 1e-5);
    }
}

TEST_P(scores_stay, samples_cost_and_change_nothing) {
    OptimizeOptions options = few_generations();
    Task once = network_task(3), thrice = network_task(3);
    once.system.use(dispatcher());
    thrice.system.use(dispatcher());
    ASSERT_OK_AND_ASSIGN(const Searched one, optimized(once, options));
    options.samples_per_example = 3;
    ASSERT_OK_AND_ASSIGN(const Searched three, optimized(thrice, options));
    EXPECT_EQ(three.values, one.values);
    EXPECT_EQ(three.outcome.cost.metric_calls, 3 * one.outcome.cost.metric_calls);
    options.metric_budget = 3 * (1 + 2 * 33);
    Task brief = network_task(3);
    brief.system.use(dispatcher());
    ASSERT_OK_AND_ASSIGN(const Searched some, optimized(brief, options));
    EXPECT_EQ(some.outcome.generations, 2U);
    EXPECT_EQ(some.outcome.stopped_by, "budget");
}

/// The root of what some candidates make negative.
Task failing_task() {
    const auto root = hyperfunction("root", VectorWeight{.size = 2, .values = Tensor::vector({0.5F, 0.75F})},
                                    [](const Traced& v, const Traced& x) { return sqrt(v * x); }, {.optimize = true});
    Task task{System("roots", [=](const Inputs& in) { return root(in["x"]); }), {}, mean_square()};
    for (const float x : {1.0F, 2.0F, 3.0F})
        task.examples.push_back({{{"x", Tensor::vector({x, 1.0F})}}, Tensor::vector({x, 1.0F})});
    return task;
}

class scores_of_several : public ::testing::Test {
   protected:
    void SetUp() override {
        static_cast<void>(one_device());
        static_cast<void>(another_device());
    }
};

void expect_same_search(const Searched& got, const Searched& expected) {
    EXPECT_EQ(got.outcome.state_hash, expected.outcome.state_hash);
    EXPECT_EQ(got.values, expected.values);
    EXPECT_EQ(got.outcome.best_reward, expected.outcome.best_reward);
    EXPECT_EQ(got.outcome.held_out_best, expected.outcome.held_out_best);
    EXPECT_EQ(got.outcome.failed_candidates, expected.outcome.failed_candidates);
    EXPECT_EQ(got.outcome.cost.metric_calls, expected.outcome.cost.metric_calls);
    ASSERT_EQ(got.outcome.history.size(), expected.outcome.history.size());
    for (std::size_t i = 0; i < got.outcome.history.size(); ++i) {
        const GenerationReport &step = got.outcome.history[i], &other = expected.outcome.history[i];
        EXPECT_EQ(step.mean, other.mean) << i;
        EXPECT_EQ(step.best, other.best) << i;
        EXPECT_EQ(step.unperturbed, other.unperturbed) << i;
        EXPECT_EQ(step.held_out, other.held_out) << i;
        EXPECT_EQ(step.failed, other.failed) << i;
    }
}

// On one device scores stay; over two they come to the host, and with audits the twin makes all of them again.
TEST_F(scores_of_several, have_the_bits_of_one_device) {
    struct Case {
        std::function<Task()> make;
        std::uint32_t examples_per_generation = 0;
        bool fails = false;
    };
    for (const Case& each : {Case{[] { return network_task(7, true); }}, Case{[] { return network_task(7, true); }, 4},
                             Case{[] { return failing_task(); }, 0, true}}) {
        OptimizeOptions options = few_generations(4);
        options.examples_per_generation = each.examples_per_generation;
        ASSERT_OK_AND_ASSIGN(const Searched expected, search(each.make(), options));
        EXPECT_EQ(expected.outcome.failed_candidates > 0, each.fails);
        std::string notices;
        ASSERT_OK_AND_ASSIGN(evolve::DevicePool other, pool_of({another_device()}, notices));
        ASSERT_OK_AND_ASSIGN(const Searched alone, search(each.make(), options, &other));
        expect_same_search(alone, expected);
        for (const double audit : {0.0, 1.0}) {
            ASSERT_OK_AND_ASSIGN(evolve::DevicePool pool,
                                 pool_of({another_device(), one_device()}, notices, {.audit = audit}));
            ASSERT_OK_AND_ASSIGN(const Searched both, search(each.make(), options, &pool));
            expect_same_search(both, expected);
            EXPECT_EQ(pool.in_use(), 2U) << notices;
        }
    }
}

}  // namespace
}  // namespace yolk::hyper
