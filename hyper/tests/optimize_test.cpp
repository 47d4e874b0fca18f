// SPDX-License-Identifier: Apache-2.0
#include "yolk/optimize.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <stdexcept>

#include <unistd.h>

#include "learning_systems.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/json.hpp"

namespace yolk::hyper {
namespace {

using ::testing::ElementsAre;
using ::yolk::testing::expect_error;

class optimize : public ::yolk::testing::DeviceTest {
   protected:
    [[nodiscard]] Task on_device(Task task) const {
        task.system.use(dispatcher());
        return task;
    }
    [[nodiscard]] static std::vector<float> values_of(const System& system) {
        std::vector<float> all;
        for (const ParameterGroup& group : system.parameters().groups())
            all.insert(all.end(), group.values.values().begin(), group.values.values().end());
        return all;
    }
};
YOLK_FOR_EACH_DEVICE(optimize);

TEST_P(optimize, keeps_the_best_mean_and_says_what_it_cost) {
    Task task = on_device(xor_task());
    OptimizeOptions options = xor_options(1);
    options.generations = 5;
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, task.system.optimize(task.examples, task.metric, options));
    EXPECT_EQ(outcome.generations, 5U);
    EXPECT_EQ(outcome.stopped_by, "generations");
    EXPECT_EQ(outcome.cost.metric_calls, 1U + 5U * 65U + 1U);
    EXPECT_EQ(outcome.cost.numbers, 12U);
    EXPECT_EQ(outcome.cost.host_calls, 0U);
    EXPECT_EQ(outcome.history.size(), 5U);
    EXPECT_EQ(outcome.history.front().unperturbed, outcome.start_reward);
    EXPECT_GE(outcome.best_reward, outcome.start_reward);
    ASSERT_OK_AND_ASSIGN(const Evaluation now, task.system.evaluate(task.examples, task.metric));
    EXPECT_EQ(now.reward, outcome.best_reward);
    EXPECT_EQ(task.system.function_runs(), 2U);  // once to optimize, once to evaluate: all examples are alike
}
TEST_P(optimize, same_seed_same_result_and_another_seed_another) {
    std::vector<std::vector<float>> results;
    for (const std::uint64_t seed : {1U, 1U, 2U}) {
        Task task = on_device(rotation_task());
        OptimizeOptions options = rotation_options(seed);
        options.generations = 4;
        ASSERT_OK(task.system.optimize(task.examples, task.metric, options));
        results.push_back(values_of(task.system));
    }
    EXPECT_EQ(results[0], results[1]);
    EXPECT_NE(results[0], results[2]);
}
TEST_P(optimize, same_result_on_every_device) {
    std::vector<std::vector<float>> results;
    for (const std::string& name : testing::devices()) {
        Task task = xor_task();
        task.system.use(testing::shared_device(name).dispatcher);
        OptimizeOptions options = xor_options(3);
        options.generations = 6;
        ASSERT_OK(task.system.optimize(task.examples, task.metric, options));
        results.push_back(values_of(task.system));
    }
    for (const std::vector<float>& result : results) EXPECT_EQ(result, results.front());
}
TEST_P(optimize, budget_stops_with_the_best_so_far) {
    Task task = on_device(xor_task());
    OptimizeOptions options = xor_options(1);
    options.metric_budget = 1 + 3 * 65 + 64;  // not quite a fourth step
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, task.system.optimize(task.examples, task.metric, options));
    EXPECT_EQ(outcome.stopped_by, "budget");
    EXPECT_EQ(outcome.generations, 3U);
    EXPECT_LE(outcome.cost.metric_calls, options.metric_budget);
    ASSERT_OK_AND_ASSIGN(const Evaluation now, task.system.evaluate(task.examples, task.metric));
    EXPECT_EQ(now.reward, outcome.best_reward);
    options.samples_per_example = 3;
    options.metric_budget = 2;
    EXPECT_TRUE(expect_error(task.system.optimize(task.examples, task.metric, options), ErrorKind::BadInput,
                             "does not even score the start"));
}
TEST_P(optimize, dry_run_says_what_it_costs_and_changes_nothing) {
    Task task = on_device(temperature_task());
    int calls = 0;
    const Metric counted([&](const Value&, const Value&) { return ++calls, 0.0; });
    OptimizeOptions options = temperature_options(1);
    options.dry_run = true;
    options.samples_per_example = 2;
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome dry, task.system.optimize(task.examples, counted, options));
    EXPECT_EQ(dry.stopped_by, "dry run");
    EXPECT_EQ(dry.cost.metric_calls, 2U * (20U * 21U + 2U));
    EXPECT_EQ(dry.cost.host_calls, 5U * dry.cost.metric_calls);
    EXPECT_EQ(calls, 0);
    options.dry_run = false;
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome real, task.system.optimize(task.examples, task.metric, options));
    EXPECT_EQ(real.cost.metric_calls, dry.cost.metric_calls);
    EXPECT_EQ(real.cost.host_calls, dry.cost.host_calls);
}
TEST_P(optimize, caller_stops_it_and_held_out_examples_are_scored_beside) {
    Task task = on_device(rotation_task());
    OptimizeOptions options = rotation_options(1);
    const std::vector<Example> held_out(task.examples.begin(), task.examples.begin() + 3);
    options.held_out = held_out;
    options.on_generation = [](const GenerationReport& step) { return step.generation < 2; };
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, task.system.optimize(task.examples, task.metric, options));
    EXPECT_EQ(outcome.stopped_by, "caller");
    EXPECT_EQ(outcome.generations, 3U);
    ASSERT_TRUE(outcome.held_out_best.has_value());
    ASSERT_OK_AND_ASSIGN(const Evaluation now, task.system.evaluate(held_out, task.metric));
    EXPECT_EQ(now.reward, *outcome.held_out_best);
    EXPECT_EQ(outcome.history.front().held_out, outcome.held_out_start);
}
TEST_P(optimize, frozen_groups_stay) {
    Task task = on_device(rotation_task());
    OptimizeOptions options = rotation_options(1);
    options.generations = 3;
    options.evolution.freeze = {"a"};
    ASSERT_OK(task.system.optimize(task.examples, task.metric, options));
    EXPECT_THAT(task.system.parameters().find("a")->values.values(), ElementsAre(1, 0, 0, 1));
    EXPECT_TRUE(task.system.parameters().find("a")->spec.optimize);
    EXPECT_FALSE(task.system.parameters().find("b")->values == task.system.parameters().find("b")->initial);
    options.evolution.freeze = {"a", "c"};
    EXPECT_TRUE(expect_error(task.system.optimize(task.examples, task.metric, options), ErrorKind::BadInput, "'c'"));
    options.evolution.freeze = {"a", "b"};
    EXPECT_TRUE(
        expect_error(task.system.optimize(task.examples, task.metric, options), ErrorKind::BadInput, "Freeze fewer"));
}
TEST_P(optimize, vectors_of_weights_are_frozen_together) {
    const auto layer = hyperfunction("layer", MatrixWeight{.out = 1, .in = 2},
                                     [](const Traced& w, const Traced& x) { return linear(w, x); }, {.optimize = true});
    const auto bias = hyperfunction("bias", VectorWeight{.size = 1},
                                    [](const Traced& b, const Traced& x) { return b + x; }, {.optimize = true});
    System system("affine", [=](const Inputs& in) { return bias(layer(in["x"])); });
    system.use(dispatcher());
    OptimizeOptions options = rotation_options(1);
    options.generations = 2;
    options.evolution.freeze_vectors = true;
    const std::vector<Example> examples{{{{"x", Tensor::vector({1, 2})}}, Tensor::vector({9})}};
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, system.optimize(examples, numeric_distance(), options));
    EXPECT_EQ(outcome.cost.numbers, 2U);
    EXPECT_EQ(system.parameters().find("bias")->values.values()[0], 0.0F);
    options.evolution.freeze = {"layer"};
    EXPECT_TRUE(
        expect_error(system.optimize(examples, numeric_distance(), options), ErrorKind::BadInput, "Freeze fewer"));
}
TEST(optimize_options, are_refused_in_the_words_of_training) {
    for (const evolve::EvolutionOptions& bad :
         {evolve::EvolutionOptions{.population = 7}, evolve::EvolutionOptions{.antithetic = false},
          evolve::EvolutionOptions{.rank = 33}, evolve::EvolutionOptions{.sigma = -1.0F},
          evolve::EvolutionOptions{.learning_rate_decay = 2.0F}, evolve::EvolutionOptions{.noise_reuse = 0},
          evolve::EvolutionOptions{.fitness = FitnessRule::ZScore}, evolve::EvolutionOptions{.beta1 = 1.0F}}) {
        const Result<void> of_a_system = validate(OptimizeOptions{.evolution = bad});
        ASSERT_FALSE(of_a_system);
        EXPECT_EQ(of_a_system.error().message, evolve::validate(bad).error().message);
    }
    EXPECT_OK(validate(OptimizeOptions{}));
    EXPECT_TRUE(expect_error(validate({.evolution = {.episodes = 2}}), ErrorKind::BadInput, "samples_per_example"));
    EXPECT_TRUE(expect_error(validate({.generations = 0}), ErrorKind::BadInput, "generations"));
    EXPECT_TRUE(expect_error(validate({.samples_per_example = 0}), ErrorKind::BadInput, "samples"));
}
TEST_P(optimize, bounds_hold_during_the_search) {
    double lowest = 0.0, highest = 0.0;
    const auto free = hyperfunction("free", LmParam{.temperature = 1.9},
                                    [&](const LmParam& p, double x) {
                                        lowest = std::min({lowest, p.temperature, p.top_p});
                                        highest = std::max(highest, p.temperature);
                                        return x * p.temperature;
                                    },
                                    {.optimize = true, .host = {.max_concurrency = 1}});
    System system("free", [=](const Inputs& in) { return free(in["x"]); });
    system.use(dispatcher());
    const std::vector<Example> examples{{{{"x", 1}}, 5}};  // as much as there is
    OptimizeOptions options = temperature_options(1);
    options.evolution.sigma = 0.5F;
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, system.optimize(examples, absolute_error(), options));
    EXPECT_EQ(highest, 2.0);
    EXPECT_EQ(lowest, 0.0);
    EXPECT_EQ(outcome.best_reward, -3.0);
    ASSERT_OK_AND_ASSIGN(const LmParam tuned, system.parameters(free));
    EXPECT_EQ(tuned.temperature, 2.0);
}
TEST_P(optimize, failed_candidates_count_as_the_worst_and_are_named_once) {
    Task task = on_device(temperature_task());
    const Metric fussy([](const Value& prediction, const Value& expected) {
        const double difference = *prediction.as_number() - *expected.as_number();
        if (difference < -0.45) throw std::runtime_error("far too cold");
        return difference > -0.1 ? NAN : -std::abs(difference);
    });
    ASSERT_OK(task.system.trace_all(task.examples));
    ASSERT_OK(task.system.parameters().set("warm", Tensor::vector({0.1F, 1, 0, 0, .25F})));
    ::testing::internal::CaptureStderr();
    const Result<OptimizeOutcome> outcome = task.system.optimize(task.examples, fussy, temperature_options(1));
    const std::string log = ::testing::internal::GetCapturedStderr();
    ASSERT_OK(outcome);
    EXPECT_GT(outcome->failed_candidates, 0U);
    const std::size_t named = log.find("counts as the worst");
    ASSERT_NE(named, std::string::npos) << log;
    EXPECT_EQ(log.find("counts as the worst", named + 1), std::string::npos) << log;
    EXPECT_TRUE(std::isfinite(outcome->best_reward));
}
TEST_P(optimize, after_an_error_the_parameters_are_what_they_were) {
    Task task = on_device(temperature_task());
    const Metric broken([](const Value&, const Value&) -> double { throw std::runtime_error("no score today"); });
    ASSERT_OK(task.system.trace_all(task.examples));
    const std::vector<float> before = values_of(task.system);
    EXPECT_FALSE(task.system.optimize(task.examples, broken, temperature_options(1)));
    EXPECT_EQ(values_of(task.system), before);
    EXPECT_OK(task.system.optimize(task.examples, task.metric, temperature_options(1)));
    OptimizeOptions options = temperature_options(1);
    options.evolution.population = 7;
    EXPECT_TRUE(expect_error(task.system.optimize(task.examples, task.metric, options), ErrorKind::BadInput, "even"));
    options.generations = 0;
    EXPECT_TRUE(
        expect_error(task.system.optimize(task.examples, task.metric, options), ErrorKind::BadInput, "generations"));
    EXPECT_TRUE(expect_error(task.system.optimize({}, task.metric), ErrorKind::BadInput, "example"));
}
TEST_P(optimize, every_rule_and_optimizer_improves) {
    struct Setting {
        FitnessRule rule;
        bool robust = false, antithetic = true;
        OptimizerRule optimizer = OptimizerRule::Sgd;
        std::uint32_t population = 32, group_size = 0;
    };
    for (const Setting& s :
         {Setting{FitnessRule::PairDifference, true}, Setting{FitnessRule::PairSign}, Setting{FitnessRule::CentredRank},
          Setting{.rule = FitnessRule::GroupZScore, .group_size = 8},
          Setting{FitnessRule::PairDifference, false, true, OptimizerRule::Adam},
          Setting{FitnessRule::PairDifference, false, true, OptimizerRule::Momentum},
          Setting{.rule = FitnessRule::CentredRank, .antithetic = false, .population = 33},
          Setting{.rule = FitnessRule::ZScore, .antithetic = false, .population = 33}}) {
        Task task = on_device(rotation_task());
        OptimizeOptions options = rotation_options(1);
        options.generations = 12;
        options.evolution.population = s.population;
        options.evolution.fitness = s.rule;
        options.evolution.robust = s.robust;
        options.evolution.antithetic = s.antithetic;
        options.evolution.optimizer = s.optimizer;
        options.evolution.group_size = s.group_size;
        if (!is_integer_rule(s.rule)) options.evolution.determinism = Determinism::Fast;
        ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, task.system.optimize(task.examples, task.metric, options));
        EXPECT_GT(outcome.best_reward, 0.7 * outcome.start_reward) << to_string(s.rule);
    }
}
TEST_P(optimize, a_constant_reward_changes_nothing) {
    Task task = on_device(xor_task());
    ASSERT_OK(task.system.trace_all(task.examples));
    const std::vector<float> before = values_of(task.system);
    const Metric same([](const Value&, const Value&) { return 7.5; });
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, task.system.optimize(task.examples, same, xor_options(1)));
    EXPECT_EQ(values_of(task.system), before);
    EXPECT_EQ(outcome.best_reward, 7.5);
}
TEST_P(optimize, noisy_metrics_are_averaged_over_samples) {
    Task task = on_device(temperature_task());
    std::mt19937 random(5);
    Metric noisy([&](const Value& prediction, const Value& expected) {
        return -std::abs(*prediction.as_number() - *expected.as_number()) +
               std::uniform_real_distribution<double>(-1.0, 1.0)(random);
    });
    noisy.concurrent = false;
    OptimizeOptions options = temperature_options(1);
    options.generations = 2;
    options.samples_per_example = 4;
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, task.system.optimize(task.examples, noisy, options));
    EXPECT_EQ(outcome.cost.metric_calls, 4U * (1U + 2U * 21U + 1U));
    EXPECT_EQ(outcome.cost.host_calls, 5U * outcome.cost.metric_calls);
}
TEST_P(optimize, log_has_a_line_per_step_and_ends_with_calls_and_latencies) {
    Task task = on_device(temperature_task());
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("yolk-optimize-" + std::to_string(::getpid()) + ".jsonl");
    OptimizeOptions options = temperature_options(1);
    options.generations = 3;
    options.log = path;
    ASSERT_OK(task.system.optimize(task.examples, task.metric, options));
    std::ifstream file(path);
    std::vector<Json> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
    std::filesystem::remove(path);
    ASSERT_EQ(lines.size(), 5U);
    EXPECT_EQ(lines[0]["optimizer"], "eggroll");
    EXPECT_EQ(lines[3]["generation"], 2);
    const Json& functions = lines[4]["hyperfunctions"];
    ASSERT_EQ(functions.size(), 1U);
    EXPECT_EQ(functions[0]["function"], "warm");
    EXPECT_EQ(functions[0]["calls"], 5 * (1 + 1 + 3 * 21 + 1)) << "the trace calls it once for each example";
    EXPECT_TRUE(functions[0].contains("p99_ms"));
    options.log = "/nowhere/at/all";
    EXPECT_TRUE(expect_error(task.system.optimize(task.examples, task.metric, options), ErrorKind::Io, "/nowhere"));
}

TEST_P(optimize, log_counts_the_calls_of_tensor_hyperfunctions) {
    Task task = on_device(xor_task());
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("yolk-optimize-" + std::to_string(::getpid()) + ".jsonl");
    OptimizeOptions options = xor_options(1);
    options.generations = 2;
    options.log = path;
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, task.system.optimize(task.examples, task.metric, options));
    std::ifstream file(path);
    Json last;
    for (std::string line; std::getline(file, line);) last = Json::parse(line);
    std::filesystem::remove(path);
    const Json& functions = last["hyperfunctions"];
    ASSERT_EQ(functions.size(), 2U);
    EXPECT_EQ(functions[0]["function"], "hidden");
    EXPECT_EQ(functions[1]["function"], "output");
    for (const Json& function : functions) {
        EXPECT_EQ(function["calls"], 4 * outcome.cost.metric_calls);  // once for each example
        EXPECT_EQ(function["batched"], true);
    }
}

/// What a user would write: the best of points drawn around the best so far.
class RandomSearch final : public Search {
   public:
    [[nodiscard]] std::string name() const override { return "random search"; }
    [[nodiscard]] std::uint64_t candidates_per_generation(const OptimizeOptions& options) const override {
        return options.evolution.population;
    }
    [[nodiscard]] Result<void> run(Objective& objective) override {
        std::mt19937 random(static_cast<unsigned>(objective.options().evolution.seed));
        std::normal_distribution<float> normal(0.0F, objective.options().evolution.sigma);
        std::vector<float> best = objective.space().mean;
        double best_reward = -std::numeric_limits<double>::infinity();
        const std::size_t size = best.size();
        for (std::uint32_t step = 0; step < objective.options().generations; ++step) {
            std::vector<float> points;
            for (std::uint32_t i = 0; i < objective.options().evolution.population; ++i)
                for (const float x : best) points.push_back(x + normal(random));
            YOLK_TRY(const std::vector<double> rewards,
                     objective.evaluate(points, objective.options().evolution.population));
            if (rewards.empty()) return {};
            const auto at = std::ranges::max_element(rewards) - rewards.begin();
            const auto first = points.begin() + at * static_cast<std::ptrdiff_t>(size);
            if (rewards[static_cast<std::size_t>(at)] > best_reward) {
                best_reward = rewards[static_cast<std::size_t>(at)];
                best.assign(first, first + static_cast<std::ptrdiff_t>(size));
            }
            if (!objective.report({.generation = step, .best = best_reward, .unperturbed = best_reward}, best))
                return {};
        }
        return {};
    }
};

TEST_P(optimize, users_own_searches_use_the_same_interface) {
    RandomSearch search;
    for (auto* const make : {&rotation_task, &temperature_task}) {
        Task task = on_device(make(1));
        OptimizeOptions options = rotation_options(1);
        options.generations = 15;
        options.search = &search;
        ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, task.system.optimize(task.examples, task.metric, options));
        EXPECT_EQ(outcome.cost.metric_calls, 1U + 15U * 32U);
        EXPECT_GT(outcome.best_reward, 0.6 * outcome.start_reward);
        ASSERT_OK_AND_ASSIGN(const Evaluation now, task.system.evaluate(task.examples, task.metric));
        EXPECT_EQ(now.reward, outcome.best_reward);
        options.metric_budget = 100;
        ASSERT_OK_AND_ASSIGN(const OptimizeOutcome cut, task.system.optimize(task.examples, task.metric, options));
        EXPECT_EQ(cut.stopped_by, "budget");
        EXPECT_EQ(cut.cost.metric_calls, 1U + 3U * 32U);
    }
}

}  // namespace
}  // namespace yolk::hyper
