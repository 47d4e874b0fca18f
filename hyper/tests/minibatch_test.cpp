// SPDX-License-Identifier: Apache-2.0
// Steps that are evaluated on some of the examples.
#include "minibatch.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "fixtures.hpp"
#include "population_fixtures.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/optimize.hpp"

namespace yolk::hyper {
namespace {

using ::testing::HasSubstr;

TEST(draw_examples, each_pass_has_every_example_once) {
    for (const auto& [of, count] : {std::pair(12U, 4U), std::pair(10U, 4U), std::pair(5U, 5U), std::pair(1U, 1U)}) {
        const std::uint32_t steps = of / count;
        std::set<std::vector<std::uint32_t>> passes;
        for (std::uint32_t pass = 0; pass < 6; ++pass) {
            std::vector<std::uint32_t> order;
            std::set<std::uint32_t> seen;
            for (std::uint32_t step = pass * steps; step < (pass + 1) * steps; ++step) {
                const std::vector<std::uint32_t> drawn = draw_examples(3, step, of, count);
                ASSERT_EQ(drawn.size(), count);
                EXPECT_EQ(drawn, draw_examples(3, step, of, count));
                seen.insert(drawn.begin(), drawn.end());
                order.insert(order.end(), drawn.begin(), drawn.end());
            }
            EXPECT_EQ(seen.size(), steps * count) << "none twice in a pass";
            EXPECT_LT(*seen.rbegin(), of);
            passes.insert(order);
        }
        EXPECT_GE(passes.size(), of > 1 ? 5U : 1U) << "each pass has an order of its own";
    }
    EXPECT_NE(draw_examples(3, 0, 100, 10), draw_examples(4, 0, 100, 10));
    std::vector<std::uint32_t> times(10, 0);
    for (std::uint32_t step = 0; step < 3000; ++step) {
        for (const std::uint32_t i : draw_examples(1, step, 10, 3)) ++times[i];
    }
    for (const std::uint32_t n : times) EXPECT_NEAR(n, 900, 60) << "what a pass leaves out is left to chance";
}

class minibatch : public ::yolk::testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(minibatch);

/// A matrix that maps 4 to 2, and examples of a hidden one.
System student() {
    const auto net = hyperfunction("net", MatrixWeight{.out = 2, .in = 4, .values = Tensor::filled({2, 4}, 0.0F)},
                                   [](const Traced& w, const Traced& x) { return linear(w, x); }, {.optimize = true});
    return System("student", [=](const Inputs& in) { return net(in["x"]); });
}
std::vector<Example> lessons(std::uint32_t count, std::uint32_t seed, std::uint64_t rows = 1) {
    System teacher = student();
    std::vector<Example> examples;
    for (std::uint32_t i = 0; i < count; ++i) {
        const Tensor x = drawn_tensor({rows, 4}, seed + i);
        if (i == 0) static_cast<void>(teacher.call({{"x", x}}).has_value());
        EXPECT_OK(teacher.parameters().set("net", drawn_tensor({2, 4}, 9)));
        examples.push_back({{{"x", x}}, *teacher.call({{"x", x}})});
    }
    return examples;
}
OptimizeOptions small_generations() {
    return {.evolution = {.population = 32, .sigma = .1F, .learning_rate = .1F, .seed = 5},
            .generations = 40,
            .examples_per_generation = 4};
}

TEST_P(minibatch, learns_and_keeps_what_does_best_on_held_out_examples) {
    const std::vector<Example> examples = lessons(20, 100);
    const std::vector<Example> held_out = lessons(6, 500);
    System system = student();
    system.use(dispatcher());
    OptimizeOptions options = small_generations();
    options.held_out = held_out;
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, system.optimize(examples, numeric_distance(), options));
    EXPECT_EQ(system.function_runs(), 2U) << "once for the examples, once for those held out";
    EXPECT_GT(*outcome.held_out_best, *outcome.held_out_start / 4) << "a distance, negative";
    double best = *outcome.held_out_start;
    for (const GenerationReport& step : outcome.history) best = std::max(best, step.held_out.value());
    EXPECT_GE(*outcome.held_out_best, best) << "the last mean competes as well";
    ASSERT_OK_AND_ASSIGN(const Evaluation now, system.evaluate(held_out, numeric_distance()));
    EXPECT_EQ(now.reward, *outcome.held_out_best);
    EXPECT_EQ(outcome.cost.metric_calls, 1U + 40U * 33U + 1U);
}

TEST_P(minibatch, keeps_the_last_parameters_without_held_out_examples) {
    const std::vector<Example> examples = lessons(10, 100);
    System system = student();
    system.use(dispatcher());
    std::vector<double> rewards;
    OptimizeOptions options = small_generations();
    options.generations = 6;
    options.on_generation = [&](const GenerationReport& step) {
        rewards.push_back(step.unperturbed);
        return true;
    };
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, system.optimize(examples, numeric_distance(), options));
    EXPECT_EQ(rewards[0], outcome.start_reward);
    // Of the step after the last one, on its examples.
    std::vector<Example> drawn;
    for (const std::uint32_t i : draw_examples(5, 6, 10, 4)) drawn.push_back(examples[i]);
    ASSERT_OK_AND_ASSIGN(const Evaluation last, system.evaluate(drawn, numeric_distance()));
    EXPECT_EQ(last.reward, outcome.best_reward);
}

TEST_P(minibatch, of_all_examples_is_a_step_over_all) {
    const std::vector<Example> examples = lessons(6, 100);
    std::vector<double> means;
    for (const std::uint32_t count : {0U, 6U}) {
        System system = student();
        system.use(dispatcher());
        OptimizeOptions options = small_generations();
        options.generations = 1;
        options.examples_per_generation = count;
        ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, system.optimize(examples, numeric_distance(), options));
        means.push_back(outcome.history[0].mean);
    }
    EXPECT_NEAR(means[0], means[1], 1e-12) << "in another order";
}

TEST_P(minibatch, structures_and_values_in_the_function_may_differ) {
    std::vector<Example> examples = lessons(6, 100);
    for (const Example& example : lessons(6, 200, 3)) examples.push_back(example);
    const auto net = hyperfunction("net", MatrixWeight{.out = 2, .in = 4, .values = Tensor::filled({2, 4}, 0.0F)},
                                   [](const Traced& w, const Traced& x) { return linear(w, x); }, {.optimize = true});
    System system("reader", [=](const Inputs& in) {
        const double first = in["x"].read().tensor()->values()[0];
        return net(in["x"]) + 0.0 * first;
    });
    system.use(dispatcher());
    OptimizeOptions options = small_generations();
    options.generations = 8;
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, system.optimize(examples, numeric_distance(), options));
    EXPECT_EQ(system.function_runs(), 12U) << "its graphs hold values of the examples";
    std::vector<Example> drawn;
    for (const std::uint32_t i : draw_examples(5, 8, 12, 4)) drawn.push_back(examples[i]);
    std::ranges::stable_sort(drawn, {}, [](const Example& e) { return e.expected.tensor()->values().size(); });
    ASSERT_OK_AND_ASSIGN(const Evaluation last, system.evaluate(drawn, numeric_distance()));
    EXPECT_EQ(last.reward, outcome.best_reward);
}

TEST_P(minibatch, goes_on_from_a_checkpoint_to_the_same_parameters) {
    const std::vector<Example> examples = lessons(10, 100);
    const std::filesystem::path file =
        std::filesystem::temp_directory_path() / ("yolk_minibatch_" + std::string(GetParam()) + ".state");
    std::filesystem::remove(file);
    std::vector<std::string> hashes;
    for (const std::uint32_t until : {9U, 4U, 9U}) {
        System system = student();
        system.use(dispatcher());
        OptimizeOptions options = small_generations();
        options.generations = until;
        options.resume = hashes.size() == 2;
        if (!hashes.empty()) options.checkpoint = file;
        ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, system.optimize(examples, numeric_distance(), options));
        hashes.push_back(outcome.state_hash);
        EXPECT_EQ(outcome.resumed_from, hashes.size() == 3 ? 4U : 0U);
    }
    EXPECT_EQ(hashes[0], hashes[2]);
    System system = student();
    system.use(dispatcher());
    OptimizeOptions options = small_generations();
    options.checkpoint = file;
    options.resume = true;
    options.examples_per_generation = 5;
    EXPECT_THAT(refusal(system.optimize(examples, numeric_distance(), options)), HasSubstr("examples per step is 4"));
    std::filesystem::remove(file);
    options = small_generations();
    options.examples_per_generation = 11;
    EXPECT_THAT(refusal(system.optimize(examples, numeric_distance(), options)),
                HasSubstr("11 examples per generation were asked for, but 10 are there"));
}

}  // namespace
}  // namespace yolk::hyper
