// SPDX-License-Identifier: Apache-2.0
// Systems of several outputs, by candidates: records with the values that one call gives.
#include <gmock/gmock.h>

#include "fixtures.hpp"
#include "pool_fixtures.hpp"
#include "population_fixtures.hpp"
#include "yolk/graph.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/optimize.hpp"

namespace yolk::hyper {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class population_outputs : public ::yolk::testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(population_outputs);

struct Guess {
    Traced scores;
    Traced best;
    Traced told;
};
NamedValues outputs_of(const Guess& guess) {
    return {{"scores", guess.scores}, {"best", guess.best}, {"told", guess.told}};
}

/// An output of the device, one that the host reads as well, and data.
System guesser(bool on_host) {
    const auto net = hyperfunction("net", MatrixWeight{.out = 3, .in = 4, .values = drawn_tensor({3, 4}, 1)},
                                   [](const Traced& w, const Traced& x) { return linear(w, x); }, {.optimize = true});
    const auto half = hyperfunction("half", NoParameters{}, [](double x) { return x / 2; });
    return System("guesser", [=](const Inputs& in) {
        const Traced scores = net(in["x"]);
        const Traced best = max(scores);
        return Guess{scores, on_host ? half(best) : best, in["x"]};
    });
}
std::vector<Example> guesses() {
    std::vector<Example> examples;
    for (std::uint32_t i = 0; i < 3; ++i) examples.push_back({{{"x", drawn_tensor({4}, 30 + i)}}, 0.0});
    return examples;
}
std::vector<Candidate> five_nets() {
    std::vector<Candidate> candidates(5);
    for (std::uint32_t c = 0; c < 5; ++c) candidates[c].values.emplace_back("net", drawn_tensor({3, 4}, 50 + c));
    return candidates;
}
/// Only a record's fields are looked at.
Metric largest() {
    return {[](const Value& prediction, const Value&) -> Result<double> {
                return prediction.record()->find("best")->as_number();
            },
            "largest"};
}

TEST_P(population_outputs, are_those_of_one_call) {
    for (const bool on_host : {false, true}) {
        System system = guesser(on_host);
        system.use(dispatcher());
        ASSERT_OK_AND_ASSIGN(const PopulationEvaluation population,
                             system.evaluate_population(five_nets(), guesses(), largest(), {.max_batch_size = 6}));
        ASSERT_EQ(population.outputs.values.size(), 15U);
        EXPECT_EQ(population.outputs.counts.chunks, 3U);
        EXPECT_EQ(population.fallbacks.empty(), !on_host);
        for (std::size_t c = 0; c < 5; ++c) {
            ASSERT_OK(system.parameters().set("net", five_nets()[c].values[0].second));
            ASSERT_OK_AND_ASSIGN(const Evaluation single, system.evaluate(guesses(), largest()));
            EXPECT_EQ(population.rewards[c], single.reward);
            for (std::size_t e = 0; e < 3; ++e)
                EXPECT_EQ(population.outputs.values[e * 5 + c], single.predictions[e]) << e << " " << c;
        }
    }
}

TEST_P(population_outputs, are_searched_over) {
    System system = guesser(false);
    system.use(dispatcher());
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, system.optimize(guesses(), largest(), {.generations = 5}));
    EXPECT_GT(outcome.best_reward, outcome.start_reward);
    ASSERT_OK_AND_ASSIGN(const Evaluation now, system.evaluate(guesses(), largest()));
    EXPECT_EQ(now.reward, outcome.best_reward);
}

TEST_P(population_outputs, plans_are_kept_between_calls) {
    System system = guesser(false);
    system.use(dispatcher());
    std::vector<Example> others = guesses();
    for (Example& example : others) example.inputs["x"] = drawn_tensor({4}, 77);  // the same in all examples
    System fresh = guesser(false);
    fresh.use(dispatcher());
    for (const std::vector<Example>& examples : {guesses(), others, guesses(), others}) {
        ASSERT_OK_AND_ASSIGN(const auto kept, system.evaluate_population(five_nets(), examples, largest()));
        fresh.use(dispatcher());  // forgets
        ASSERT_OK_AND_ASSIGN(const auto made, fresh.evaluate_population(five_nets(), examples, largest()));
        EXPECT_EQ(kept.rewards, made.rewards);
        EXPECT_TRUE(kept.outputs.values == made.outputs.values);
    }
}

TEST(outputs_of_a_trace, are_named_and_the_pack_is_gone) {
    System system = guesser(false);
    ASSERT_OK_AND_ASSIGN(const TracedExample trace, system.trace(guesses()[0]));
    EXPECT_THAT(trace.graph.output_names, ElementsAre("scores", "best", "told"));
    EXPECT_THAT(operations_of(trace.graph), ElementsAre("linear", "max"));
    EXPECT_EQ(trace.values.size(), trace.graph.variables.size());
    EXPECT_OK(validate(trace.graph));
    EXPECT_THAT(to_text(trace.graph).value(), HasSubstr("\"best\""));
    EXPECT_THAT(to_svg(trace.graph).value(), HasSubstr("best = "));
    // Packed early, and read by something else as well.
    const auto both = hyperfunction("both", NoParameters{}, [](const Traced& x) {
        return std::tuple{x * 2.0, exp(x)};
    });
    const auto text = hyperfunction("text", NoParameters{}, [](const std::string& s) { return s + "!"; });
    System early("early", [=](const Inputs& in) {
        const Traced pair = both(in["x"]);
        static_cast<void>(text(in["name"]));
        return pair;
    });
    const std::map<std::string, Value> inputs{{"x", Tensor::vector({1, 2})}, {"name", "it"}};
    ASSERT_OK_AND_ASSIGN(const TracedExample dissolved, early.trace({inputs, {}}));
    EXPECT_OK(validate(dissolved.graph));
    EXPECT_THAT(operations_of(dissolved.graph), ElementsAre("multiply", "exp", "host_call"));
    ASSERT_OK_AND_ASSIGN(const Value answer, early.call(inputs));
    EXPECT_EQ(*answer.record()->find("0"), Value(Tensor::vector({2, 4})));
}

TEST(outputs_of_a_trace, agree_over_a_pool_and_with_the_twins) {
    std::string notices;
    ASSERT_OK_AND_ASSIGN(evolve::DevicePool both,
                         pool_of({another_device(), one_device()}, notices, {.audit = 1.0, .host_workers = 1}));
    System alone = guesser(true);
    System system = guesser(true);
    alone.use(both.dispatcher(0));
    system.use(both);
    ASSERT_OK_AND_ASSIGN(const auto wanted, alone.evaluate_population(five_nets(), guesses(), largest()));
    ASSERT_OK_AND_ASSIGN(const auto given, system.evaluate_population(five_nets(), guesses(), largest()));
    EXPECT_TRUE(given.outputs.values == wanted.outputs.values);
    EXPECT_EQ(given.outputs.pooled.lost, "");
}

}  // namespace
}  // namespace yolk::hyper
