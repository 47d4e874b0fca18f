// SPDX-License-Identifier: Apache-2.0
// Training by derivatives, alone and beside EGGROLL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <numeric>
#include <random>

#include <unistd.h>

#include "gradient_graph.hpp"
#include "learning_systems.hpp"
#include "minibatch.hpp"
#include "scored_example.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper {
namespace {

using ::yolk::testing::expect_error;

Tensor drawn_from(std::mt19937& random, Shape shape) {
    std::normal_distribution<float> normal;
    std::vector<float> values(shape.element_count().value());
    for (float& value : values) value = normal(random);
    return Tensor::create(std::move(shape), std::move(values)).value();
}

Hyperfunction<MatrixWeight> dense(const std::string& name, std::uint32_t out, std::uint32_t in) {
    return hyperfunction(name, MatrixWeight{.out = out, .in = in},
                         [](const Traced& w, const Traced& x) { return linear(w, x); }, {.optimize = true});
}

/// 5-7-3 with tanh and a bias, over 6 examples.
Task network_task(std::uint64_t seed = 1) {
    const auto first = dense("first", 7, 5);
    const auto second = dense("second", 3, 7);
    const auto bias = hyperfunction("bias", VectorWeight{.size = 7, .values = Tensor::filled({7}, 0.1F)},
                                    [](const Traced& b, const Traced& x) { return x + b; }, {.optimize = true});
    Task task{System(
                  "network", [=](const Inputs& in) { return second(tanh(bias(first(in["x"])))); }, seed),
              {},
              numeric_distance()};
    std::mt19937 random(7);
    for (int i = 0; i < 6; ++i) task.examples.push_back({{{"x", drawn_from(random, {5})}}, drawn_from(random, {3})});
    return task;
}

/// A matrix that derivatives reach, and a number that no derivative does.
Task mixed_task() {
    const auto matrix = dense("matrix", 1, 2);
    const auto warm = hyperfunction(
        "warm", LmParam{.temperature = 0.0},
        [](const LmParam& p, const Tensor& x) { return p.temperature * double{x.values()[0]}; }, {.optimize = true});
    Task task{
        System("mixed", [=](const Inputs& in) { return matrix(slice(in["x"], 0, {.start = 1})) + warm(in["x"]); }),
        {},
        numeric_distance()};
    std::mt19937 random(3);
    for (int i = 0; i < 8; ++i) {
        const Tensor x = drawn_from(random, {3});
        task.examples.push_back({{{"x", x}}, Tensor::vector({0.5F * x.values()[0] - 0.25F * x.values()[2]})});
    }
    return task;
}

std::vector<float> values_in(const System& system) {
    std::vector<float> all;
    for (const ParameterGroup& group : system.parameters().groups())
        all.insert(all.end(), group.values.values().begin(), group.values.values().end());
    return all;
}

/// Looks at the derivatives and does nothing else.
class Probe final : public Search {
   public:
    [[nodiscard]] std::string name() const override { return "probe"; }
    [[nodiscard]] std::uint64_t candidates_per_generation(const OptimizeOptions&) const override { return 0; }
    [[nodiscard]] Result<void> run(Objective& objective) override {
        YOLK_TRY(const std::unique_ptr<Gradients> gradients, objective.gradients({}));
        const std::vector<float> mean = objective.space().mean;
        const Device& device = objective.dispatcher().device();
        YOLK_TRY(const Buffer on_device, device.create_buffer({.size_bytes = 4 * mean.size(), .label = "mean"}));
        YOLK_TRY_VOID(objective.dispatcher().upload(on_device, std::as_bytes(std::span(mean))));
        YOLK_TRY(reward, gradients->evaluate(on_device, mean, 0));
        gradient.resize(mean.size());
        YOLK_TRY_VOID(
            objective.dispatcher().download(gradients->gradient(), std::as_writable_bytes(std::span(gradient))));
        for (std::size_t i = 0; i < mean.size(); ++i) {
            std::vector<double> rewards;
            for (const float side : {1.0F, -1.0F}) {
                std::vector<float> moved = mean;
                moved[i] += side * kStep;
                YOLK_TRY(const std::vector<double> at, objective.evaluate(moved, 1));
                rewards.push_back(at.front());
            }
            differences.push_back((rewards[0] - rewards[1]) / (2.0 * double{kStep}));
        }
        return {};
    }
    static constexpr float kStep = 1e-2F;
    double reward = 0.0;
    std::vector<float> gradient{};
    std::vector<double> differences{};
};

double norm(std::span<const double> values) {
    return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
}

class gradient : public ::yolk::testing::DeviceTest {
   protected:
    [[nodiscard]] Task on_device(Task task) const {
        task.system.use(dispatcher());
        return task;
    }
    static OptimizeOptions by(OptimizerRule rule, float rate, std::uint32_t steps) {
        return {.generations = steps, .gradient = GradientOptions{.rule = rule, .learning_rate = rate}};
    }
};
YOLK_FOR_EACH_DEVICE(gradient);

TEST_P(gradient, is_what_differences_say) {
    Task task = on_device(network_task());
    Probe probe;
    ASSERT_OK(task.system.optimize(task.examples, task.metric, {.generations = 1, .search = &probe}));
    ASSERT_OK_AND_ASSIGN(const Evaluation start, network_task().system.evaluate(task.examples, task.metric));
    EXPECT_NEAR(probe.reward, start.reward, 1e-5 * std::abs(start.reward));
    const double scale = norm(probe.differences);
    ASSERT_GT(scale, 0.1);
    for (std::size_t i = 0; i < probe.gradient.size(); ++i)
        EXPECT_NEAR(double{probe.gradient[i]}, probe.differences[i], 2e-3 * scale) << i;
}

// Examples of two structures: their derivatives add up.
TEST_P(gradient, of_several_structures_is_what_differences_say) {
    const auto matrix = dense("matrix", 2, 3);
    Task task{System("two",
                     [=](const Inputs& in) {
                         const Traced y = matrix(in["x"]);
                         return in["twice"].number() > 0.5 ? tanh(y) * 2.0 : y;
                     }),
              {},
              numeric_distance()};
    std::mt19937 random(11);
    for (int i = 0; i < 5; ++i)
        task.examples.push_back({{{"x", drawn_from(random, {3})}, {"twice", i % 2}}, drawn_from(random, {2})});
    task.system.use(dispatcher());
    Probe probe;
    ASSERT_OK(task.system.optimize(task.examples, task.metric, {.generations = 1, .search = &probe}));
    const double scale = norm(probe.differences);
    ASSERT_GT(scale, 0.1);
    for (std::size_t i = 0; i < probe.gradient.size(); ++i)
        EXPECT_NEAR(double{probe.gradient[i]}, probe.differences[i], 2e-3 * scale) << i;
}

TEST_P(gradient, same_bits_on_every_device) {
    std::vector<std::vector<float>> results;
    for (const std::string& name : testing::devices()) {
        Task task = network_task();
        task.system.use(testing::shared_device(name).dispatcher);
        ASSERT_OK(task.system.optimize(task.examples, task.metric, by(OptimizerRule::Adam, 1e-2F, 5)));
        results.push_back(values_in(task.system));
    }
    for (const std::vector<float>& result : results) EXPECT_EQ(result, results.front());
}

/// Rows of a table by ids, then a matrix, against the number of a class.
Task lookup_task() {
    const auto table =
        hyperfunction("table", MatrixWeight{.out = 6, .in = 5},
                      [](const Traced& w, const Traced& ids) { return embedding(w, ids); }, {.optimize = true});
    const auto matrix = dense("matrix", 3, 5);
    Task task{System("lookup", [=](const Inputs& in) { return matrix(mean(table(in["ids"]), 0) * in["scale"]); }),
              {},
              cross_entropy()};
    for (int i = 0; i < 8; ++i) {
        const auto id = static_cast<float>(i % 6);
        task.examples.push_back({{{"ids", Tensor::vector({id, 5.0F - id, 2.0F})}, {"scale", 1.0 + 0.25 * i}}, i % 3});
    }
    return task;
}

// Steps that draw examples upload them as they are, and kernels compute what the host else computes once.
TEST_P(gradient, of_drawn_examples_has_the_bits_of_the_same_examples) {
    for (const auto& make : {+[] { return network_task(); }, +[] { return lookup_task(); }}) {
        constexpr std::uint32_t kDrawn = 4;
        Task task = on_device(make());
        OptimizeOptions options{.generations = 1};
        const std::vector<std::uint32_t> drawn =
            draw_examples(options.evolution.seed, 0, static_cast<std::uint32_t>(task.examples.size()), kDrawn);
        std::vector<Example> given;
        for (const std::uint32_t i : drawn) given.push_back(task.examples[i]);
        Probe of_given;
        options.search = &of_given;
        ASSERT_OK(task.system.optimize(given, task.metric, options));
        Task again = on_device(make());
        Probe of_drawn;
        options.search = &of_drawn;
        options.examples_per_generation = kDrawn;
        ASSERT_OK(again.system.optimize(again.examples, again.metric, options));
        EXPECT_EQ(of_drawn.reward, of_given.reward) << task.metric.name;
        EXPECT_EQ(of_drawn.gradient, of_given.gradient) << task.metric.name;
        EXPECT_GT(norm(of_given.differences), 0.01);
    }
}

TEST(gradient_graph, gives_inputs_on_which_no_ids_depend) {
    Task task = lookup_task();
    ASSERT_OK_AND_ASSIGN(const std::vector<TracedExample> traced, task.system.trace_all(task.examples));
    ASSERT_OK_AND_ASSIGN(const TracedExample scored,
                         scored_example(traced.front(), task.metric, task.examples.front().expected));
    ASSERT_OK_AND_ASSIGN(const Graph graph, gradient_graph(scored.graph, 4, std::vector<std::string>{"table"}));
    EXPECT_THAT(givable_inputs(graph), ::testing::UnorderedElementsAre("scale", kExpectedInput));
}

// One weight vector, so that the reward's derivative is known: -2 (w x - t) x.
TEST_P(gradient, steps_are_those_of_the_rules) {
    constexpr std::array<double, 3> kX{0.5, -1.0, 2.0};
    constexpr double kTarget = 1.5;
    constexpr double kRate = 0.005;  // without overshooting: the last mean is the best
    const auto steps_in_double = [&](OptimizerRule rule, std::array<double, 3> w) {
        std::array<double, 3> first{};
        std::array<double, 3> second{};
        for (int step = 1; step <= 6; ++step) {
            double error = -kTarget;
            for (std::size_t i = 0; i < 3; ++i) error += w[i] * kX[i];
            for (std::size_t i = 0; i < 3; ++i) {
                const double g = -2.0 * error * kX[i];
                first[i] = 0.9 * first[i] + (rule == OptimizerRule::Adam ? 0.1 : 1.0) * g;
                second[i] = 0.999 * second[i] + 0.001 * g * g;
                const double adam = first[i] / (1.0 - std::pow(0.9, step)) /
                                    (std::sqrt(second[i] / (1.0 - std::pow(0.999, step))) + 1e-8);
                w[i] += kRate * (rule == OptimizerRule::Sgd ? g : rule == OptimizerRule::Momentum ? first[i] : adam);
            }
        }
        return w;
    };
    for (const OptimizerRule rule : {OptimizerRule::Sgd, OptimizerRule::Momentum, OptimizerRule::Adam}) {
        const auto w =
            hyperfunction("w", MatrixWeight{.out = 1, .in = 3, .values = *Tensor::create({1, 3}, {.1F, .2F, .3F})},
                          [](const Traced& m, const Traced& x) { return linear(m, x); }, {.optimize = true});
        System system("line", [=](const Inputs& in) { return w(in["x"]); });
        system.use(dispatcher());
        const std::vector<Example> examples{
            {{{"x", Tensor::vector({.5F, -1.0F, 2.0F})}}, Tensor::vector({static_cast<float>(kTarget)})}};
        ASSERT_OK(system.optimize(examples, numeric_distance(), by(rule, static_cast<float>(kRate), 6)));
        const std::array<double, 3> wanted = steps_in_double(rule, {double{.1F}, double{.2F}, double{.3F}});
        for (std::size_t i = 0; i < 3; ++i)
            EXPECT_NEAR(double{values_in(system)[i]}, wanted[i], 2e-5) << to_string(rule) << " " << i;
    }
}

TEST_P(gradient, learns_beside_what_only_eggroll_can_search) {
    Task task = on_device(mixed_task());
    OptimizeOptions options = by(OptimizerRule::Adam, 3e-2F, 80);
    options.evolution = {.population = 32, .sigma = 0.05F, .learning_rate = 0.1F};
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, task.system.optimize(task.examples, task.metric, options));
    EXPECT_LT(outcome.start_reward, -0.1);
    EXPECT_GT(outcome.best_reward, -0.01);
    EXPECT_GT(outcome.cost.host_calls, 0U);
    const std::vector<float> matrix(task.system.parameters().find("matrix")->values.values().begin(),
                                    task.system.parameters().find("matrix")->values.values().end());
    EXPECT_NEAR(matrix[1], -0.25F, 0.1F);
    EXPECT_NEAR(task.system.parameters().find("warm")->values.values()[0], 0.5F, 0.1F);  // no derivative moved it
}

TEST_P(gradient, named_groups_alone_are_trained_and_others_are_searched) {
    Task task = on_device(network_task());
    const auto before = [&](const char* name) { return task.system.parameters().find(name)->values; };
    ASSERT_OK(task.system.trace(task.examples[0]));
    const Tensor bias = before("bias");
    OptimizeOptions options = by(OptimizerRule::Sgd, 1e-2F, 3);
    options.gradient->groups = {"first"};
    options.evolution = {.population = 16, .sigma = 0.05F, .learning_rate = 0.05F, .freeze = {"bias"}};
    const Tensor first = before("first");
    const Tensor second = before("second");
    ASSERT_OK(task.system.optimize(task.examples, task.metric, options));
    EXPECT_EQ(before("bias"), bias);
    EXPECT_NE(before("first"), first);
    EXPECT_NE(before("second"), second);
}

TEST_P(gradient, an_interrupted_search_goes_on_to_the_same_parameters) {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("yolk_gradient_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    for (const bool is_mixed : {false, true}) {
        const auto make = [&] { return on_device(is_mixed ? mixed_task() : network_task()); };
        OptimizeOptions options = by(OptimizerRule::Adam, 1e-2F, 6);
        options.evolution = {.population = 8, .sigma = 0.05F, .learning_rate = 0.05F, .optimizer = OptimizerRule::Adam};
        Task whole = make();
        ASSERT_OK(whole.system.optimize(whole.examples, whole.metric, options));
        options.checkpoint = folder / (is_mixed ? "mixed" : "alone");
        options.generations = 3;
        Task part = make();
        ASSERT_OK(part.system.optimize(part.examples, part.metric, options));
        options.generations = 6;
        options.resume = true;
        Task rest = make();
        ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, rest.system.optimize(rest.examples, rest.metric, options));
        EXPECT_EQ(outcome.resumed_from, 3U);
        EXPECT_EQ(values_in(rest.system), values_in(whole.system)) << is_mixed;
    }
    std::filesystem::remove_all(folder);
}

TEST_P(gradient, a_metric_over_traced_values_is_scored_on_the_device) {
    for (const bool is_sequence : {false, true}) {
        const auto matrix = dense("matrix", 4, 3);
        System system("rows", [=](const Inputs& in) { return matrix(in["x"]); });
        system.use(dispatcher());
        const Metric metric =
            is_sequence ? sequence_cross_entropy() : traced_metric("mean square", [](const Traced& p, const Traced& e) {
                return -mean((p - e) * (p - e), Integers{0, 1});
            });
        std::mt19937 random(5);
        std::vector<Example> examples;
        for (int i = 0; i < 3; ++i) {
            const Tensor wanted = is_sequence ? Tensor::vector({1.0F, 3.0F}) : drawn_from(random, {2, 4});
            examples.push_back({{{"x", drawn_from(random, {2, 3})}}, wanted});
        }
        ASSERT_OK_AND_ASSIGN(const Evaluation host, system.evaluate(examples, metric));
        const Tensor other = drawn_from(random, {4, 3});
        const std::vector<Candidate> candidates{{}, {{{"matrix", other}}}};
        ASSERT_OK_AND_ASSIGN(const PopulationEvaluation population,
                             system.evaluate_population(candidates, examples, metric));
        EXPECT_NEAR(population.rewards[0], host.reward, 1e-6);
        EXPECT_EQ(population.outputs.values.front().tensor()->shape(), Shape{1});
        ASSERT_OK(system.parameters().set("matrix", other));
        ASSERT_OK_AND_ASSIGN(const Evaluation moved, system.evaluate(examples, metric));
        EXPECT_NEAR(population.rewards[1], moved.reward, 1e-6);
        ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome,
                             system.optimize(examples, metric, by(OptimizerRule::Adam, 3e-2F, 20)));
        EXPECT_GT(outcome.best_reward, outcome.start_reward);
    }
}

TEST_P(gradient, what_has_no_derivative_is_refused) {
    Task task = on_device(network_task());
    EXPECT_TRUE(expect_error(task.system.optimize(task.examples, exact_match(), by(OptimizerRule::Sgd, 0.1F, 1)),
                             ErrorKind::BadInput, "no form over traced values"));
    OptimizeOptions options = by(OptimizerRule::Sgd, 0.1F, 1);
    options.gradient->groups = {"third"};
    EXPECT_TRUE(expect_error(task.system.optimize(task.examples, task.metric, options), ErrorKind::BadInput,
                             "first, bias, second"));
    for (const float rate : {0.0F, -1.0F, NAN}) {
        EXPECT_TRUE(expect_error(task.system.optimize(task.examples, task.metric, by(OptimizerRule::Sgd, rate, 1)),
                                 ErrorKind::BadInput, "learning rate is"));
    }
    // A host function stands between the matrix and the reward.
    const auto matrix = dense("matrix", 1, 2);
    const auto twice = hyperfunction("twice", NoParameters{}, [](double x) { return 2.0 * x; });
    Task behind{System("behind", [=](const Inputs& in) { return twice(matrix(in["x"])); }), {}, numeric_distance()};
    behind.examples.push_back({{{"x", Tensor::vector({1.0F, 2.0F})}}, 1.0});
    behind.system.use(dispatcher());
    options.gradient->groups = {"matrix"};
    EXPECT_TRUE(expect_error(behind.system.optimize(behind.examples, behind.metric, options), ErrorKind::BadInput,
                             "'matrix' has no derivative"));
    EXPECT_TRUE(expect_error(behind.system.optimize(behind.examples, behind.metric, by(OptimizerRule::Sgd, 0.1F, 1)),
                             ErrorKind::BadInput, "Nothing can be trained by derivatives"));
    std::vector<Example> wrong{{{{"x", Tensor::filled({2, 5}, 1.0F)}}, Tensor::vector({0.0F, 3.0F})}};
    EXPECT_TRUE(expect_error(task.system.optimize(wrong, sequence_cross_entropy(), by(OptimizerRule::Sgd, 0.1F, 1)),
                             ErrorKind::BadInput, "from 0 to 2"));
}

TEST_P(gradient, a_reward_that_is_not_finite_ends_with_its_step) {
    const auto w = hyperfunction("w", VectorWeight{.size = 1, .values = Tensor::vector({0.5F})},
                                 [](const Traced& v, const Traced& x) { return sqrt(v * x); }, {.optimize = true});
    System system("root", [=](const Inputs& in) { return w(in["x"]); });
    system.use(dispatcher());
    const std::vector<Example> examples{{{{"x", Tensor::vector({1.0F})}}, Tensor::vector({-9.0F})}};
    EXPECT_TRUE(expect_error(system.optimize(examples, numeric_distance(), by(OptimizerRule::Sgd, 1.0F, 5)),
                             ErrorKind::Failed, "of step 1"));
    EXPECT_EQ(values_in(system), std::vector<float>{0.5F});
}

/// Eq. of the expected cosine between the estimate of N pairs and the gradient of an m x n matrix: see docs/hyper.md.
TEST_P(gradient, eggrolls_estimate_is_as_near_to_it_as_theory_says) {
    constexpr std::uint32_t kSide = 32, kPairs = 1024, kRepeats = 20;
    constexpr double kKurtosis = 2.698;  // of the noise: sums of four nibbles
    std::mt19937 random(1);
    double sum = 0.0;
    for (std::uint32_t repeat = 0; repeat < kRepeats; ++repeat) {
        const auto layer = dense("layer", kSide, kSide);
        System system(
            "layer", [=](const Inputs& in) { return layer(in["x"]); }, repeat + 1);
        system.use(dispatcher());
        std::vector<Example> examples;
        for (int i = 0; i < 4; ++i)
            examples.push_back({{{"x", drawn_from(random, {kSide})}}, drawn_from(random, {kSide})});
        ASSERT_OK(system.trace(examples[0]));
        const std::vector<float> start = values_in(system);
        const auto moved = [&](const OptimizeOptions& options) -> Result<std::vector<double>> {
            YOLK_TRY_VOID(system.parameters().set("layer", *Tensor::create({kSide, kSide}, start)));
            YOLK_TRY_VOID(system.optimize(examples, numeric_distance(), options));
            std::vector<double> difference;
            for (std::size_t i = 0; i < start.size(); ++i)
                difference.push_back(double{values_in(system)[i]} - double{start[i]});
            return difference;
        };
        ASSERT_OK_AND_ASSIGN(const std::vector<double> exact, moved(by(OptimizerRule::Sgd, 1e-3F, 1)));
        ASSERT_OK_AND_ASSIGN(
            const std::vector<double> estimate,
            moved({.evolution = {.population = 2 * kPairs, .sigma = 1e-2F, .learning_rate = 1e-2F, .seed = repeat + 1},
                   .generations = 1}));
        ASSERT_GT(norm(exact), 0.0);
        ASSERT_GT(norm(estimate), 0.0);
        sum += std::inner_product(exact.begin(), exact.end(), estimate.begin(), 0.0) / norm(exact) / norm(estimate);
    }
    const double side = kSide - 1.0 + kKurtosis;
    EXPECT_NEAR(sum / kRepeats, 1.0 / std::sqrt(1.0 + (side * side - 1.0) / kPairs), 0.03);
}

}  // namespace
}  // namespace yolk::hyper
