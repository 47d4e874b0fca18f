// SPDX-License-Identifier: Apache-2.0
// Populations of a whole system: against the same system called candidate by candidate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <stdexcept>
#include <thread>

#include "fixtures.hpp"
#include "population_fixtures.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper {
namespace {

using system_population = yolk::testing::DeviceTest;
YOLK_FOR_EACH_DEVICE(system_population);

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Knob {
    double value = 0.0;
    static FieldsOf<Knob> fields() { return {field_of("value", &Knob::value).between(-4.0, 4.0)}; }
};

std::vector<Candidate> knobs(std::initializer_list<float> values) {
    std::vector<Candidate> candidates;
    for (const float value : values) candidates.push_back({{{"knob", Tensor::vector({value})}}});
    return candidates;
}

/// 3 -> 4 -> 2 with a bias, and a host function behind it.
System network() {
    const auto hidden = hyperfunction("hidden", MatrixWeight{.out = 4, .in = 3},
                                      [](const Traced& w, const Traced& x) { return tanh(linear(w, x)); });
    const auto bias =
        hyperfunction("bias", VectorWeight{.size = 4}, [](const Traced& b, const Traced& x) { return gelu(x + b); });
    const auto out = hyperfunction("out", MatrixWeight{.out = 2, .in = 4},
                                   [](const Traced& w, const Traced& x) { return softmax(linear(w, x)); });
    const auto scale = hyperfunction("knob", Knob{}, [](const Knob& p, const Tensor& x) {
        std::vector<float> values(x.values().begin(), x.values().end());
        for (float& value : values) value += static_cast<float>(p.value);
        return Tensor::create(x.shape(), values);
    });
    return System("network", [=](const Inputs& in) { return scale(out(bias(hidden(in["x"])))); });
}

std::vector<Example> drawn_examples(std::uint32_t count) {
    std::vector<Example> examples;
    for (std::uint32_t i = 0; i < count; ++i)
        examples.push_back({{{"x", drawn_tensor({3}, 100 + i)}}, drawn_tensor({2}, 200 + i)});
    return examples;
}

std::vector<Candidate> drawn_candidates(std::uint32_t count) {
    std::vector<Candidate> candidates;
    for (std::uint32_t c = 0; c < count; ++c) {
        candidates.push_back({{{"hidden", drawn_tensor({4, 3}, 300 + c)}, {"out", drawn_tensor({2, 4}, 400 + c)}}});
        if (c % 2 == 0) candidates.back().values.emplace_back("bias", drawn_tensor({4}, 500 + c));
        if (c % 3 == 0) candidates.back().values.emplace_back("knob", drawn_tensor({1}, 600 + c));
    }
    return candidates;
}

TEST_P(system_population, rewards_are_those_of_single_evaluations) {
    System system = network();
    system.use(dispatcher());
    const std::vector<Example> examples = drawn_examples(6);
    const std::vector<Candidate> candidates = drawn_candidates(7);
    ASSERT_OK(system.evaluate(examples, numeric_distance()));
    const ParameterSet before = system.parameters();
    const std::uint64_t runs = system.function_runs();
    ASSERT_OK_AND_ASSIGN(const PopulationEvaluation population,
                         system.evaluate_population(candidates, examples, numeric_distance()));
    EXPECT_EQ(system.function_runs() - runs, 6U) << "once per example, whatever the population";
    ASSERT_EQ(population.rewards.size(), 7U);
    for (std::size_t i = 0; i < before.groups().size(); ++i)
        EXPECT_EQ(before.groups()[i].values, system.parameters().groups()[i].values);
    for (std::size_t c = 0; c < candidates.size(); ++c) {
        system.parameters() = before;
        for (const auto& [group, values] : candidates[c].values) ASSERT_OK(system.parameters().set(group, values));
        ASSERT_OK_AND_ASSIGN(const Evaluation single, system.evaluate(examples, numeric_distance()));
        EXPECT_EQ(population.rewards[c], single.reward) << "candidate " << c << ", to the last bit";
        for (std::size_t e = 0; e < examples.size(); ++e)
            EXPECT_EQ(population.outputs.values[e * candidates.size() + c], single.predictions[e]);
    }
}

TEST_P(system_population, the_right_knob_is_found) {
    const auto knob = hyperfunction("knob", Knob{}, [](const Knob& p, double x) { return x + p.value; });
    System system("knob", [=](const Inputs& in) { return knob(in["x"]); });
    system.use(dispatcher());
    const std::vector<Example> examples{{{{"x", 1.0}}, 1.5}};
    ASSERT_OK_AND_ASSIGN(const auto population,
                         system.evaluate_population(knobs({0.0F, 0.5F, 1.0F}), examples, numeric_distance()));
    EXPECT_LT(population.rewards[0], 0.0);
    EXPECT_EQ(population.rewards[1], 0.0);
    EXPECT_LT(population.rewards[2], 0.0);
}

TEST_P(system_population, chunks_change_nothing) {
    System system = network();
    system.use(dispatcher());
    const std::vector<Example> examples = drawn_examples(10);
    const std::vector<Candidate> candidates = drawn_candidates(50);
    ASSERT_OK_AND_ASSIGN(const auto whole, system.evaluate_population(candidates, examples, numeric_distance()));
    ASSERT_OK_AND_ASSIGN(const auto small,
                         system.evaluate_population(candidates, examples, numeric_distance(), {.max_batch_size = 20}));
    EXPECT_EQ(whole.outputs.counts.chunks, 1U);
    EXPECT_EQ(small.outputs.counts.chunks, 25U);
    EXPECT_EQ(whole.rewards, small.rewards);
    EXPECT_EQ(whole.outputs.values, small.outputs.values);
}

TEST_P(system_population, outputs_are_examples_by_candidates) {
    const auto layer = hyperfunction("layer", MatrixWeight{.out = 4, .in = 4},
                                     [](const Traced& w, const Traced& x) { return softmax(linear(w, x)); });
    System system("outputs", [=](const Inputs& in) { return layer(in["x"]); });
    system.use(dispatcher());
    std::vector<Example> examples;
    for (std::uint32_t i = 0; i < 10; ++i) examples.push_back({{{"x", drawn_tensor({4}, i)}}, 0.0});
    std::vector<Candidate> candidates;
    for (std::uint32_t c = 0; c < 5; ++c) candidates.push_back({{{"layer", drawn_tensor({4, 4}, 50 + c)}}});
    const Metric sums([](const Value& prediction, const Value&) {
        double sum = 0.0;
        for (const float value : prediction.tensor()->values()) sum += double{value};
        return sum;
    });
    ASSERT_OK_AND_ASSIGN(const auto population, system.evaluate_population(candidates, examples, sums));
    ASSERT_EQ(population.outputs.values.size(), 50U);
    EXPECT_EQ(type_of(population.outputs.values[49]), (ValueType{ValueKind::Tensor, {4}}));
    for (const double reward : population.rewards) EXPECT_NEAR(reward, 1.0, 1e-6);
}

TEST_P(system_population, examples_may_have_graphs_of_their_own) {
    const auto knob = hyperfunction("knob", Knob{}, [](const Knob& p, double x) { return x + p.value; });
    System system("loops", [=](const Inputs& in) {
        Traced x = in["x"];
        for (int i = 0; i < in["times"].number(); ++i) x = knob(x);
        return x;
    });
    system.use(dispatcher());
    std::vector<Example> examples;
    for (const int times : {0, 2, 1, 2}) examples.push_back({{{"x", 1.0}, {"times", times}}, 0.0});
    ASSERT_OK_AND_ASSIGN(const auto population,
                         system.evaluate_population(knobs({1.0F, 2.0F}), examples, numeric_distance()));
    const std::vector<Value> expected{1.0, 1.0, 3.0, 5.0, 2.0, 3.0, 3.0, 5.0};
    EXPECT_EQ(population.outputs.values, expected);
}

TEST_P(system_population, bad_input_leaves_the_system_as_it_was) {
    const auto knob = hyperfunction("knob", Knob{}, [](const Knob& p, double x) { return x + p.value; });
    System system("bad", [=](const Inputs& in) { return knob(in["x"]); });
    system.use(dispatcher());
    const std::vector<Example> examples{{{{"x", 1.0}}, 1.5}, {{{"x", 2.0}}, 1.5}};
    const Metric metric = numeric_distance();
    ASSERT_OK_AND_ASSIGN(const auto empty, system.evaluate_population({}, examples, metric));
    EXPECT_TRUE(empty.rewards.empty() && empty.outputs.values.empty());
    EXPECT_THAT(refusal(system.evaluate_population(knobs({1.0F}), {}, metric)), HasSubstr("no examples"));
    const std::vector<Candidate> unknown{{{{"nob", Tensor::vector({1.0F})}}}};
    EXPECT_THAT(refusal(system.evaluate_population(unknown, examples, metric)),
                AllOf(HasSubstr("nob"), HasSubstr("knob")));
    const std::vector<Candidate> shape{{{{"knob", Tensor::vector({1.0F, 2.0F})}}}};
    EXPECT_THAT(refusal(system.evaluate_population(shape, examples, metric)), HasSubstr("knob"));
    EXPECT_THAT(refusal(system.evaluate_population(knobs({5.0F}), examples, metric)), HasSubstr("bounds"));
    std::vector<Example> keys = examples;
    keys[1].inputs = {{"y", 1.0}};
    EXPECT_THAT(refusal(system.evaluate_population(knobs({1.0F}), keys, metric)),
                AllOf(HasSubstr("Example 1"), HasSubstr("'y'"), HasSubstr("'x'")));
    EXPECT_EQ(system.parameters().find("knob")->values, Tensor::vector({0.0F}));
    ASSERT_OK_AND_ASSIGN(const auto good, system.evaluate_population(knobs({1.0F}), examples, metric));
    EXPECT_EQ(good.rewards.size(), 1U);
}

TEST_P(system_population, failing_candidates_are_named_and_the_others_scored) {
    const auto knob = hyperfunction("knob", Knob{}, [](const Knob& p, double x) {
        if (p.value > 1.0) throw std::runtime_error("too far");
        return x + p.value;
    });
    System system("fails", [=](const Inputs& in) { return knob(in["x"]); });
    system.use(dispatcher());
    const std::vector<Example> examples{{{{"x", 1.0}}, 1.5}};
    const Metric metric(
        [](const Value& prediction, const Value&) -> double {
            const double x = prediction.as_number().value();
            if (x == 1.25) throw std::runtime_error("cannot judge that");
            return x == 1.5 ? NAN : x;
        },
        "judge");
    ASSERT_OK_AND_ASSIGN(const auto population,
                         system.evaluate_population(knobs({0.0F, 2.0F, 0.25F, 0.5F, 1.0F}), examples, metric));
    EXPECT_EQ(population.rewards[0], 1.0);
    EXPECT_EQ(population.rewards[4], 2.0);
    for (const std::size_t c : {1U, 2U, 3U}) {
        EXPECT_TRUE(std::isnan(population.rewards[c])) << c;
        ASSERT_TRUE(population.errors[c].has_value()) << c;
    }
    EXPECT_THAT(population.errors[1]->message, AllOf(HasSubstr("knob"), HasSubstr("too far")));
    EXPECT_THAT(population.errors[2]->message,
                AllOf(HasSubstr("candidate 2"), HasSubstr("judge"), HasSubstr("cannot judge")));
    EXPECT_THAT(population.errors[3]->message, AllOf(HasSubstr("candidate 3"), HasSubstr("finite")));
    EXPECT_FALSE(population.errors[0].has_value());
    EXPECT_THAT(refusal(system.evaluate(examples, Metric([](const Value&, const Value&) { return NAN; }, "nan"))),
                AllOf(HasSubstr("'nan' at example 0"), HasSubstr("finite")));
}

TEST(scoring, slow_metrics_overlap_unless_they_may_not) {
    PopulationOutputs outputs{.examples = 1, .candidates = 24};
    outputs.values.assign(24, Value(1.0));
    outputs.errors.resize(24);
    std::atomic<int> running = 0, most = 0, calls = 0;
    bool overlap = true;
    Metric metric([&](std::span<const Value>, std::span<const Value>) {
        const int now = ++running;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) continue;
        // The first is alone, and shows that the metric waits; then until enough others have come.
        const bool waits = ++calls > 1 && overlap;
        for (int i = 0; i < (waits ? 1000 : 1) && most <= 4; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        --running;
        return 1.0;
    });
    const std::vector<Value> expected{0.0};
    ASSERT_OK_AND_ASSIGN(const auto scored, score_population(outputs, expected, metric));
    EXPECT_EQ(scored.rewards, std::vector<double>(24, 1.0));
    EXPECT_GT(most.load(), 4) << "it waits, so there are more threads than cores";
    most = 0;
    overlap = false;
    metric.concurrent = false;
    ASSERT_OK(score_population(outputs, expected, metric));
    EXPECT_EQ(most.load(), 1);
    EXPECT_FALSE(score_population(outputs, {}, metric)) << "expected values of another number";
}

}  // namespace
}  // namespace yolk::hyper
