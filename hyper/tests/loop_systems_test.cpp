// SPDX-License-Identifier: Apache-2.0
// Systems with branches and loops: populations of them, and searches.
#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "fixtures.hpp"
#include "pool_fixtures.hpp"
#include "population_fixtures.hpp"
#include "yolk/internal/hyper/control.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/optimize.hpp"

namespace yolk::hyper::loop_systems {  // its short names are others' as well
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

using loop_system = ::yolk::testing::DeviceTest;
YOLK_FOR_EACH_DEVICE(loop_system);

/// h = tanh(w h + f x) over a sequence, walked `steps` times on; f is not searched. Weights by element, so that kernels
/// and the host form candidates with the same bits.
System walker() {
    const auto product = [](const Traced& weight, const Traced& x) { return weight * x; };
    const auto w = hyperfunction("w", VectorWeight{.size = 3, .values = Tensor::vector({.5F, -.25F, 1})}, product,
                                 {.optimize = true});
    const auto b = hyperfunction("b", VectorWeight{.size = 3, .values = Tensor::vector({.1F, .2F, .3F})},
                                 [](const Traced& weight, const Traced& x) { return weight + x; }, {.optimize = true});
    const auto f = hyperfunction("f", VectorWeight{.size = 3, .values = Tensor::vector({1, 2, -1})}, product);
    return System("walker", [=](const Inputs& in) {
        const auto [last, all] = scan(in["h"], in["xs"], [&](const Traced& h, const Traced& x) {
            const Traced next = tanh(w(h) + f(x));
            return std::pair{next, f(x) * 0.5};
        });
        const TracedValues end = while_loop(
            std::vector{last, Traced(0.0)}, [&](std::span<const Traced> c) { return less(c[1], in["steps"]); },
            [&](std::span<const Traced> c) {
                return TracedValues{b(c[0]) * 0.75, c[1] + 1.0};
            },
            4);
        const Traced turned = switch_on(in["turn"], {[&] { return end[0]; }, [&] { return -w(end[0]); }});
        return turned + b(sum(all, 0));
    });
}

std::vector<Example> walks(std::uint32_t first, std::uint32_t count = 4) {
    std::vector<Example> examples;
    for (std::uint32_t e = first; e < first + count; ++e) {
        examples.push_back({{{"h", drawn_tensor({3}, 10 + e)},
                             {"xs", drawn_tensor({4, 3}, 50 + e)},
                             {"steps", static_cast<double>(e % 4)},
                             {"turn", static_cast<double>(e / 2 % 2)}},
                            drawn_tensor({3}, 90 + e)});
    }
    return examples;
}

void expect_single_calls(System& system, std::span<const Candidate> candidates, const std::vector<Example>& examples) {
    const ParameterSet before = system.parameters();
    ASSERT_OK_AND_ASSIGN(const auto population, system.evaluate_population(candidates, examples, numeric_distance()));
    EXPECT_THAT(population.fallbacks, IsEmpty());
    EXPECT_EQ(population.outputs.counts.host_equations, 0U);
    for (std::size_t c = 0; c < candidates.size(); ++c) {
        system.parameters() = before;
        for (const auto& [group, values] : candidates[c].values) ASSERT_OK(system.parameters().set(group, values));
        ASSERT_OK_AND_ASSIGN(const Evaluation single, system.evaluate(examples, numeric_distance()));
        EXPECT_EQ(population.rewards[c], single.reward) << c;
    }
    system.parameters() = before;
}

// Candidates of some groups, of all, of one that no search varies; parameters that were changed between calls; data
// that was the same in all examples, and is not any more.
TEST_P(loop_system, populations_are_single_calls_whatever_varies) {
    System system = walker();
    system.use(dispatcher());
    ASSERT_OK(system.evaluate(walks(0), numeric_distance()));  // registers the groups
    const Candidate only_w{{{"w", drawn_tensor({3}, 1)}}};
    const Candidate only_b{{{"b", drawn_tensor({3}, 2)}}};
    const Candidate only_f{{{"f", drawn_tensor({3}, 3)}}};
    const Candidate both{{{"w", drawn_tensor({3}, 4)}, {"b", drawn_tensor({3}, 5)}}};
    const std::vector<Example> same{walks(0)[0], walks(0)[0]};
    const std::vector<Example> two{walks(0)[3], walks(0)[2]};
    for (const auto& examples : {walks(0), walks(3), walks(0), same, two, same}) {
        expect_single_calls(system, std::vector{only_w}, examples);
        expect_single_calls(system, std::vector{only_b, only_b}, examples);
        expect_single_calls(system, std::vector{only_f, only_w, both}, examples);
        if (HasFailure()) return;
    }
    ASSERT_OK(system.parameters().set("b", drawn_tensor({3}, 7)));
    ASSERT_OK(system.parameters().set("f", drawn_tensor({3}, 8)));
    expect_single_calls(system, std::vector{only_w}, walks(0));
}

TEST_P(loop_system, searches_are_the_same_on_device_and_host) {
    std::vector<OptimizeOutcome> outcomes;
    for (const std::uint32_t most : {kMostUnrolled, 0U}) {
        System system = walker();
        system.use(dispatcher());
        OptimizeOptions options{.evolution = {.population = 16, .sigma = 0.1F, .learning_rate = 0.1F, .seed = 3},
                                .generations = 4};
        options.population_options.most_unrolled = most;
        ASSERT_OK_AND_ASSIGN(OptimizeOutcome outcome, system.optimize(walks(0), numeric_distance(), options));
        EXPECT_EQ(outcome.fallbacks.empty(), most > 0);
        EXPECT_GT(outcome.best_reward, outcome.start_reward);
        outcomes.push_back(std::move(outcome));
    }
    EXPECT_EQ(outcomes[0].state_hash, outcomes[1].state_hash);
    EXPECT_EQ(outcomes[0].best_reward, outcomes[1].best_reward);
}

TEST_P(loop_system, steps_on_some_of_the_examples) {
    System system = walker();
    system.use(dispatcher());
    const OptimizeOptions options{.evolution = {.population = 16, .sigma = 0.1F, .learning_rate = 0.1F, .seed = 3},
                                  .generations = 5,
                                  .examples_per_generation = 2};
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, system.optimize(walks(0), numeric_distance(), options));
    EXPECT_EQ(outcome.generations, 5U);
    EXPECT_THAT(outcome.fallbacks, IsEmpty());
}

// One step of gradient ascent, over its rate.
TEST_P(loop_system, derivatives_are_what_differences_say) {
    constexpr float kRate = 1e-3F;
    constexpr float kStep = 1e-2F;
    System system = walker();
    system.use(dispatcher());
    ASSERT_OK(system.evaluate(walks(0), numeric_distance()));  // registers the groups
    const ParameterSet start = system.parameters();
    const auto reward_with = [&](const std::string& group, std::size_t at, float step) {
        const auto of = start.find(group)->values.values();
        std::vector<float> moved(of.begin(), of.end());
        moved[at] += step;
        EXPECT_OK(system.parameters().set(group, Tensor::vector(std::move(moved))));
        const auto evaluation = system.evaluate(walks(0), numeric_distance());
        EXPECT_OK(evaluation);
        system.parameters() = start;
        return evaluation ? evaluation->reward : NAN;
    };
    std::map<std::string, std::vector<double>> differences;
    for (const std::string group : {"w", "b"}) {
        for (std::size_t i = 0; i < 3; ++i) {
            differences[group].push_back((reward_with(group, i, kStep) - reward_with(group, i, -kStep)) /
                                         (2.0 * kStep));
        }
    }
    const OptimizeOptions options{.generations = 1,
                                  .gradient = GradientOptions{.rule = OptimizerRule::Sgd, .learning_rate = kRate}};
    ASSERT_OK(system.optimize(walks(0), numeric_distance(), options));
    for (const auto& [group, wanted] : differences) {
        for (std::size_t i = 0; i < 3; ++i) {
            const double moved = double{system.parameters().find(group)->values.values()[i]} -
                                 double{start.find(group)->values.values()[i]};
            // Differences over a hundredth, and a step of a thousandth of it that is rounded to fp32.
            EXPECT_NEAR(moved / kRate, wanted[i], 5e-3) << group << i;
        }
    }
}

TEST(loop_pool, devices_and_twins_agree) {
    std::string notices;
    ASSERT_OK_AND_ASSIGN(evolve::DevicePool both,
                         pool_of({another_device(), one_device()}, notices, {.audit = 1.0, .host_workers = 1}));
    System alone = walker();
    System system = walker();
    alone.use(both.dispatcher(0));
    system.use(both);
    std::vector<Candidate> candidates(9);
    for (std::uint32_t c = 0; c < 9; ++c) candidates[c].values.emplace_back("w", drawn_tensor({3}, 200 + c));
    ASSERT_OK_AND_ASSIGN(const auto wanted, alone.evaluate_population(candidates, walks(0), numeric_distance()));
    ASSERT_OK_AND_ASSIGN(const auto given, system.evaluate_population(candidates, walks(0), numeric_distance()));
    EXPECT_TRUE(given.outputs.values == wanted.outputs.values);
    EXPECT_EQ(given.outputs.pooled.lost, "");
}

TEST(loop_placement, is_that_of_the_unrolled_form) {
    System system = walker();
    ASSERT_OK_AND_ASSIGN(const TracedExample trace, system.trace(walks(0)[0]));
    const std::vector<std::string> groups{"w", "b"};
    const std::vector<PlacedEquation> all = place(trace.graph, groups).value();
    for (const PlacedEquation& placed : all) EXPECT_NE(placed.placement, Placement::Host);
    const std::vector<std::string> none{"f"};
    EXPECT_EQ(place(trace.graph, none).value().front().placement, Placement::Device);
}

/// Scores of classes and a length, both of a candidate.
System reader() {
    const auto net = hyperfunction("net", MatrixWeight{.out = 3, .in = 4, .values = drawn_tensor({3, 4}, 1)},
                                   [](const Traced& w, const Traced& x) { return linear(w, x); }, {.optimize = true});
    return System("reader", [=](const Inputs& in) {
        const Traced scores = net(in["x"]);
        return pack({{"scores", scores}, {"length", sum(absolute(scores))}});
    });
}
std::vector<Example> readings() {
    std::vector<Example> examples;
    for (std::uint32_t e = 0; e < 5; ++e)
        examples.push_back({{{"x", drawn_tensor({4}, 20 + e)}}, static_cast<int>(e % 3)});
    return examples;
}
Metric short_and_right() {
    return traced_metric("short and right", [](const Traced& prediction, const Traced& expected) {
        const Traced classes = Traced(Tensor::vector({0, 1, 2}));
        return sum(log_softmax(field(prediction, "scores")) * equal_to(classes, expected)) -
               field(prediction, "length") * 0.125;
    });
}

TEST_P(loop_system, records_are_scored_on_the_device) {
    std::vector<Candidate> candidates(3);
    for (std::uint32_t c = 0; c < 3; ++c) candidates[c].values.emplace_back("net", drawn_tensor({3, 4}, 50 + c));
    Metric one =
        traced_metric("scores", [](const Traced& scores, const Traced& expected) { return sum(scores * expected); });
    for (const Metric& metric : {short_and_right(), metric_of("scores", one)}) {
        System system = reader();
        system.use(dispatcher());
        ASSERT_OK_AND_ASSIGN(const auto population, system.evaluate_population(candidates, readings(), metric));
        EXPECT_THAT(population.fallbacks, IsEmpty());
        for (std::size_t c = 0; c < candidates.size(); ++c) {
            ASSERT_OK(system.parameters().set("net", candidates[c].values[0].second));
            ASSERT_OK_AND_ASSIGN(const Evaluation single, system.evaluate(readings(), metric));
            EXPECT_EQ(population.rewards[c], single.reward) << metric.name << c;
        }
    }
}

TEST_P(loop_system, records_are_trained_by_derivatives) {
    for (const Metric& metric : {short_and_right(), metric_of("scores", cross_entropy())}) {
        for (const bool kfac : {false, true}) {
            System system = reader();
            system.use(dispatcher());
            OptimizeOptions options{.generations = 8,
                                    .gradient = GradientOptions{.rule = OptimizerRule::Adam, .learning_rate = 0.05F}};
            if (kfac) options.gradient->kfac = KfacOptions{.learning_rate = 0.1F, .damping = 1e-2F};
            ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, system.optimize(readings(), metric, options));
            EXPECT_GT(outcome.best_reward, outcome.start_reward + 0.05) << metric.name << kfac;
        }
    }
}

TEST(metric_of_a_field, says_which_there_are) {
    System system = reader();
    const auto other = system.evaluate(readings(), metric_of("score", exact_match()));
    EXPECT_THAT(refusal(other), HasSubstr("'score', and a prediction is a record {scores: tensor [3], length"));
    const auto searched = system.optimize(readings(), metric_of("score", short_and_right()), {.generations = 1});
    EXPECT_THAT(refusal(searched), HasSubstr("the output 'score' of a system that has 'scores', 'length'"));
}

}  // namespace
}  // namespace yolk::hyper::loop_systems
