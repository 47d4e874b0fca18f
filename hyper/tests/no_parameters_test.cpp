// SPDX-License-Identifier: Apache-2.0
// Hyperfunctions without parameters: graphs show nothing of them but their calls, and derivatives go past them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "learning_systems.hpp"
#include "yolk/graph.hpp"
#include "yolk/internal/hyper/control.hpp"
#include "yolk/internal/hyper/executor.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// (x, x^2), on the host; of two numbers, their difference as well.
Hyperfunction<NoParameters> features() {
    return hyperfunction("features", NoParameters{}, [](double x, double y) {
        return Tensor::vector({static_cast<float>(x), static_cast<float>(x * x), static_cast<float>(x - y)});
    });
}

/// Host features, a layer, and a function over traced values that has no parameters either; learns 2 x + x^2 - y.
Task featured_task() {
    const auto feature = features();
    const auto shift = hyperfunction("shift", NoParameters{}, [](const Traced& x) { return x * 1.0F; });
    const auto layer = hyperfunction("layer", MatrixWeight{.out = 1, .in = 3, .values = Tensor::filled({1, 3}, 0.0F)},
                                     [](const Traced& w, const Traced& x) { return linear(w, x); }, {.optimize = true});
    Task task{System("featured", [=](const Inputs& in) { return layer(shift(feature(in["x"], in["y"]))); }),
              {},
              numeric_distance()};
    for (const double x : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
        for (const double y : {-1.0, 1.0}) {
            const auto target = static_cast<float>(x + x * x + (x - y));
            task.examples.push_back({{{"x", x}, {"y", y}}, Tensor::vector({target})});
        }
    }
    return task;
}

class no_parameters : public ::yolk::testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(no_parameters);

TEST_P(no_parameters, derivatives_reach_the_layer_behind_a_host_function) {
    for (const bool with_kfac : {false, true}) {
        Task task = featured_task();
        task.system.use(dispatcher());
        OptimizeOptions options{.generations = 60, .gradient = GradientOptions{.learning_rate = 0.3F}};
        if (with_kfac) options.gradient->kfac = KfacOptions{};
        ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, task.system.optimize(task.examples, task.metric, options));
        EXPECT_GT(outcome.best_reward, 0.1 * outcome.start_reward) << with_kfac;
        ASSERT_OK_AND_ASSIGN(const Evaluation after, task.system.evaluate(task.examples, task.metric));
        EXPECT_NEAR(after.reward, outcome.best_reward, 1e-4) << with_kfac;
    }
}

/// Parameters that no derivative is asked of stand before a layer as well as none do.
TEST_P(no_parameters, nor_do_parameters_that_are_not_trained_stand_in_the_way) {
    const auto words = hyperfunction("words", TextParameter{"abc"}, [](const TextParameter& text, double x) {
        return Tensor::vector({static_cast<float>(x), static_cast<float>(text.text.size())});
    });
    const auto warm = hyperfunction("warm", LmParam{.temperature = 0.5}, [](const LmParam& p, const Tensor& x) {
        return Tensor::vector({x.values()[0] * static_cast<float>(p.temperature), x.values()[1]});
    });
    const auto layer = hyperfunction("layer", MatrixWeight{.out = 1, .in = 2, .values = Tensor::filled({1, 2}, 0.0F)},
                                     [](const Traced& w, const Traced& x) { return linear(w, x); }, {.optimize = true});
    System system("words", [=](const Inputs& in) { return layer(warm(words(in["x"]))); });
    system.use(dispatcher());
    std::vector<Example> examples;
    for (const float x : {-1.0F, 0.0F, 1.0F}) examples.push_back({{{"x", double{x}}}, Tensor::vector({x + 3.0F})});
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome,
                         system.optimize(examples, numeric_distance(),
                                         {.generations = 60, .gradient = GradientOptions{.learning_rate = 0.1F}}));
    EXPECT_GT(outcome.best_reward, 0.1 * outcome.start_reward);
}

TEST(no_parameters_graph, has_neither_a_parameter_nor_an_output_for_them) {
    Task task = featured_task();
    ASSERT_OK_AND_ASSIGN(const TracedExample trace, task.system.trace(task.examples[0]));
    EXPECT_OK(validate(trace.graph));
    ASSERT_EQ(trace.graph.parameters.size(), 1U);
    EXPECT_EQ(trace.graph.parameters[0].group, "layer");
    EXPECT_THAT(to_text(trace.graph).value(), Not(HasSubstr("[0]")));
    EXPECT_THAT(to_text(trace.graph).value(), HasSubstr("host_call \"features\" %0 %1 "));
    ASSERT_OK_AND_ASSIGN(const auto results,
                         call(trace.graph, {.inputs = {3.0, 1.0},
                                            .parameters = {Tensor::create({1, 3}, {1.0F, 10.0F, 100.0F}).value()}}));
    EXPECT_EQ(results, (std::vector<Value>{Tensor::vector({293.0F})}));
    ASSERT_NE(task.system.parameters().find("features"), nullptr) << "it is registered all the same";
}

TEST(no_parameters_graph, is_the_same_inside_bodies_and_alone) {
    const auto twice = hyperfunction("twice", NoParameters{}, [](double x) { return 2.0 * x; });
    const auto next = hyperfunction("next", NoParameters{}, [](const Traced& x) { return x + 1.0F; });
    ASSERT_OK_AND_ASSIGN(const Graph graph,
                         trace("loop", std::vector<std::pair<std::string, ValueType>>{{"x", {ValueKind::Number, {}}}},
                               [&](std::span<const Traced> in) {
                                   return TracedValues{while_loop(
                                       in[0], [](const Traced& x) { return less(x, 100.0); },
                                       [&](const Traced& x) { return next(twice(x)); }, 20)};
                               }));
    EXPECT_OK(validate(graph));
    EXPECT_TRUE(graph.parameters.empty());
    ASSERT_EQ(graph.equations.size(), 1U);
    EXPECT_EQ(graph.equations[0].operands.size(), 1U) << "the carry alone";
    ASSERT_OK_AND_ASSIGN(const auto results, call(graph, {.inputs = {1.0}}));
    EXPECT_EQ(results, (std::vector<Value>{127.0}));
    EXPECT_EQ(*next.call({}, {2.0}), Value(3.0));
    EXPECT_EQ(*twice.call({}, {2.0}), Value(4.0));
}

}  // namespace
}  // namespace yolk::hyper
