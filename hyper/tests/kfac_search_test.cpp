// SPDX-License-Identifier: Apache-2.0
// K-FAC over the layers of a system: what it is told of them, what it makes of that, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "curvature_graph.hpp"
#include "gradient_graph.hpp"
#include "learning_systems.hpp"
#include "population_fixtures.hpp"
#include "scored_example.hpp"
#include "yolk/internal/hyper/executor.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::yolk::testing::expect_error;

Hyperfunction<MatrixWeight> layer_of(const std::string& name, std::uint32_t out, std::uint32_t in) {
    return hyperfunction(name, MatrixWeight{.out = out, .in = in},
                         [](const Traced& w, const Traced& x) { return linear(w, x); }, {.optimize = true});
}

/// 6-8-4 with tanh and a bias, towards another such network; inputs of scales 1 to 1/32, which makes steps along the
/// derivative slow.
Task uneven_task() {
    const auto first = layer_of("first", 8, 6);
    const auto second = layer_of("second", 4, 8);
    const auto bias = hyperfunction("bias", VectorWeight{.size = 8},
                                    [](const Traced& b, const Traced& x) { return x + b; }, {.optimize = true});
    Task task{
        System("uneven", [=](const Inputs& in) { return second(tanh(bias(first(in["x"])))); }), {}, numeric_distance()};
    const std::vector<float> inner = drawn(48, 1);
    const std::vector<float> outer = drawn(32, 2);
    for (std::uint32_t e = 0; e < 48; ++e) {
        std::vector<float> x = drawn(6, 100 + e);
        std::vector<float> y(4, 0.0F);
        for (std::size_t h = 0; h < 8; ++h) {
            float sum = 0.0F;
            for (std::size_t i = 0; i < 6; ++i) sum += 2.0F * inner[6 * h + i] * x[i];
            for (std::size_t o = 0; o < 4; ++o) y[o] += outer[8 * o + h] * std::tanh(sum);
        }
        for (std::size_t i = 0; i < 6; ++i) x[i] *= std::exp2(-static_cast<float>(i));
        task.examples.push_back({{{"x", Tensor::vector(std::move(x))}}, Tensor::vector(std::move(y))});
    }
    return task;
}

OptimizeOptions by_kfac(std::uint32_t steps, const KfacOptions& kfac = {}) {
    return {.generations = steps, .gradient = GradientOptions{.learning_rate = 1e-2F, .kfac = kfac}};
}

class kfac_search : public ::yolk::testing::DeviceTest {
   protected:
    [[nodiscard]] Task on_device(Task task) const {
        task.system.use(dispatcher());
        return task;
    }
};
YOLK_FOR_EACH_DEVICE(kfac_search);

// By hand: numeric distance is -|p - e|^2, whose derivative for e = p + n / sqrt(2) is sqrt(2) n.
TEST(curvature_graph, has_what_goes_into_a_layer_and_what_comes_back) {
    constexpr std::uint32_t kSize = 3;
    const auto layer = layer_of("layer", 2, 4);
    System system("layer", [=](const Inputs& in) { return layer(in["x"]); });
    ASSERT_OK_AND_ASSIGN(const TracedExample example,
                         system.trace({{{"x", drawn_tensor({5, 4}, 1)}}, drawn_tensor({5, 2}, 2)}));
    ASSERT_OK_AND_ASSIGN(const TracedExample scored,
                         scored_example(example, numeric_distance(), drawn_tensor({5, 2}, 2)));
    const std::vector<std::string> groups{"layer"};
    ASSERT_OK_AND_ASSIGN(const Graph gradient, gradient_graph(scored.graph, kSize, groups));
    ASSERT_OK_AND_ASSIGN(const std::optional<Graph> sampled, sampled_graph(example.graph, numeric_distance()));
    ASSERT_TRUE(sampled.has_value());
    ASSERT_OK_AND_ASSIGN(const CurvatureGraph made, curvature_graph(gradient, *sampled, kSize, groups));
    ASSERT_EQ(made.layers.size(), 1U);
    EXPECT_EQ(made.layers[0].samples, 15U);
    EXPECT_EQ(made.layers[0].n_out, 2U);
    EXPECT_EQ(made.layers[0].n_in, 4U);
    const Tensor noise = drawn_tensor({kSize, 5, 2}, 3);
    const Tensor x = drawn_tensor({kSize, 5, 4}, 4);
    std::vector<Value> inputs;
    for (const auto& [name, id] : made.graph.inputs) {
        const ValueType& type = made.graph.variables[id.value].type;
        const Value ones = Tensor::filled({1}, 1.0F);
        inputs.push_back(name == kNoiseInput  ? Value(noise)
                         : name == "x"        ? Value(x)
                         : name == kSeedInput ? ones
                                              : blank_of(type));
    }
    ASSERT_OK_AND_ASSIGN(const std::vector<Value> outputs,
                         call(made.graph, {.inputs = inputs, .parameters = {drawn_tensor({2, 4}, 5)}}));
    const Tensor& in = *outputs[made.layers[0].inputs].tensor();
    const Tensor& back = *outputs[made.layers[0].derivatives].tensor();
    ASSERT_EQ(in.shape(), (Shape{15, 4}));
    ASSERT_EQ(back.shape(), (Shape{15, 2}));
    EXPECT_TRUE(std::ranges::equal(in.values(), x.values()));
    for (std::size_t i = 0; i < 30; ++i)  // times sqrt(5), for five rows of an example
        EXPECT_NEAR(double{back.values()[i]}, std::sqrt(10.0) * double{noise.values()[i]}, 1e-5);
}
TEST(curvature_graph, leaves_out_what_is_no_layer_of_its_own) {
    const auto twice = layer_of("twice", 3, 3);
    const auto once = layer_of("once", 2, 3);
    System system("two", [=](const Inputs& in) { return once(twice(twice(in["x"]))); });
    const Example given{{{"x", drawn_tensor({3}, 1)}}, drawn_tensor({2}, 2)};
    ASSERT_OK_AND_ASSIGN(const TracedExample example, system.trace(given));
    ASSERT_OK_AND_ASSIGN(const TracedExample scored, scored_example(example, numeric_distance(), given.expected));
    const std::vector<std::string> groups{"twice", "once"};
    ASSERT_OK_AND_ASSIGN(const Graph gradient, gradient_graph(scored.graph, 2, groups));
    ASSERT_OK_AND_ASSIGN(const CurvatureGraph made, curvature_graph(gradient, scored.graph, 2, groups));
    ASSERT_EQ(made.layers.size(), 1U);
    EXPECT_EQ(made.layers[0].group, "once");
}

TEST_P(kfac_search, is_nearer_in_fewer_steps_than_adam) {
    Task task = on_device(uneven_task());
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome kfac,
                         task.system.optimize(task.examples, task.metric,
                                              by_kfac(40, {.learning_rate = 0.3F, .damping = 1e-3F, .decay = 0.8F})));
    for (const float rate : {1e-2F, 3e-2F, 1e-1F}) {
        Task other = on_device(uneven_task());
        ASSERT_OK_AND_ASSIGN(
            const OptimizeOutcome adam,
            other.system.optimize(other.examples, other.metric,
                                  {.generations = 40, .gradient = GradientOptions{.learning_rate = rate}}));
        EXPECT_EQ(adam.start_reward, kfac.start_reward);
        EXPECT_GT(kfac.best_reward, adam.best_reward) << rate;
    }
    EXPECT_GT(kfac.best_reward, 0.2 * kfac.start_reward);  // both are below 0
    EXPECT_THAT(kfac.notes, Contains(HasSubstr("'bias' is not a layer")));
}

TEST_P(kfac_search, classes_and_metrics_of_ones_own_are_learned) {
    for (const bool is_own : {false, true}) {
        const auto layer = layer_of("layer", 3, 4);
        System system("classes", [=](const Inputs& in) { return layer(in["x"]); });
        system.use(dispatcher());
        std::vector<Example> examples;
        for (std::uint32_t e = 0; e < 12; ++e) {
            std::vector<float> x = drawn(4, e);
            x[e % 3] += 2.0F;
            const Value wanted =
                is_own ? Value(Tensor::vector({static_cast<float>(e % 3)})) : Value(static_cast<int>(e % 3));
            examples.push_back({{{"x", is_own ? *Tensor::create({1, 4}, x) : Tensor::vector(x)}}, wanted});
        }
        const Metric metric = is_own ? sequence_cross_entropy() : cross_entropy();
        ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome,
                             system.optimize(examples, metric, by_kfac(15, {.damping = 1e-2F})));
        EXPECT_GT(outcome.best_reward, 0.5 * outcome.start_reward);
        const bool is_told = std::ranges::any_of(
            outcome.notes, [](const std::string& note) { return note.find("examples' own") != std::string::npos; });
        EXPECT_EQ(is_told, is_own);
    }
}

TEST_P(kfac_search, same_bits_on_every_device) {
    std::vector<std::vector<float>> results;
    for (const std::string& name : testing::devices()) {
        Task task = uneven_task();
        task.system.use(testing::shared_device(name).dispatcher);
        ASSERT_OK(task.system.optimize(task.examples, task.metric, by_kfac(4)));
        std::vector<float>& values = results.emplace_back();
        for (const ParameterGroup& group : task.system.parameters().groups())
            values.insert(values.end(), group.values.values().begin(), group.values.values().end());
    }
    for (const std::vector<float>& result : results) EXPECT_EQ(result, results.front());
}

TEST_P(kfac_search, refusals) {
    Task task = on_device(uneven_task());
    const auto refused = [&](const KfacOptions& kfac, const char* words) {
        return expect_error(task.system.optimize(task.examples, task.metric, by_kfac(1, kfac)), ErrorKind::BadInput,
                            words);
    };
    EXPECT_TRUE(refused({.learning_rate = 0.0F}, "learning rate is 0"));
    EXPECT_TRUE(refused({.damping = -1.0F}, "damping is -1"));
    EXPECT_TRUE(refused({.decay = 1.0F}, "averages is 1"));
    OptimizeOptions kept = by_kfac(1);
    kept.checkpoint = "somewhere";
    EXPECT_TRUE(expect_error(task.system.optimize(task.examples, task.metric, kept), ErrorKind::BadInput,
                             "keeps no checkpoint"));
    OptimizeOptions of_bias = by_kfac(1);
    of_bias.gradient->groups = {"bias"};
    EXPECT_TRUE(expect_error(task.system.optimize(task.examples, task.metric, of_bias), ErrorKind::BadInput,
                             "nothing to train"));
    const auto layer = layer_of("layer", 1, 2);
    System two("two", [=](const Inputs& in) {
        const Traced y = layer(in["x"]);
        return in["twice"].number() > 0.5 ? y * 2.0 : y;
    });
    two.use(dispatcher());
    std::vector<Example> examples;
    for (const int twice : {0, 1})
        examples.push_back({{{"x", Tensor::vector({1.0F, 2.0F})}, {"twice", twice}}, Tensor::vector({1.0F})});
    EXPECT_TRUE(expect_error(two.optimize(examples, numeric_distance(), by_kfac(1)), ErrorKind::BadInput,
                             "examples of one structure; these have 2"));
}

}  // namespace
}  // namespace yolk::hyper
