// SPDX-License-Identifier: Apache-2.0
// Searches that meet a bad example now and then: the step that draws it changes nothing, is counted, and nothing of it
// is left in parameters, moments and covariances.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "fixtures.hpp"
#include "population_fixtures.hpp"
#include "yolk/internal/evolve/generation.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/optimize.hpp"

namespace yolk::hyper {
namespace {

using ::testing::HasSubstr;
using ::yolk::testing::expect_error;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A matrix that maps 4 to 2, and examples of a hidden one; the one in the middle has an input that is not finite.
struct Lessons {
    System system;
    std::vector<Example> good, all;
};
Lessons lessons() {
    const auto net = hyperfunction("net", MatrixWeight{.out = 2, .in = 4, .values = Tensor::filled({2, 4}, 0.0F)},
                                   [](const Traced& w, const Traced& x) { return linear(w, x); }, {.optimize = true});
    const auto made = [=] { return System("student", [=](const Inputs& in) { return net(in["x"]); }); };
    Lessons result{made(), {}, {}};
    System teacher = made();
    for (std::uint32_t i = 0; i < 12; ++i) {
        const Tensor x = drawn_tensor({1, 4}, 100 + i);
        if (i == 0) static_cast<void>(teacher.call({{"x", x}}).has_value());
        EXPECT_OK(teacher.parameters().set("net", drawn_tensor({2, 4}, 9)));
        result.good.push_back({{{"x", x}}, *teacher.call({{"x", x}})});
    }
    result.all = result.good;
    result.all[5].inputs["x"] = Tensor::filled({1, 4}, kInfinity);
    return result;
}

bool is_finite(const System& system) {
    for (const ParameterGroup& group : system.parameters().groups()) {
        for (const float value : group.values.values()) {
            if (!std::isfinite(value)) return false;
        }
    }
    return true;
}

class not_finite_search : public ::yolk::testing::DeviceTest {
   protected:
    /// 40 steps of three examples: each third or fourth step draws the bad one.
    void expect_learns(OptimizeOptions options, const std::string& what) {
        Lessons given = lessons();
        given.system.use(dispatcher());
        options.generations = 40;
        options.examples_per_generation = 3;
        std::vector<GenerationReport> steps;
        options.on_generation = [&](const GenerationReport& step) {
            steps.push_back(step);
            return true;
        };
        ASSERT_OK(given.system.trace(given.good[0]));
        ASSERT_OK_AND_ASSIGN(const Evaluation before, given.system.evaluate(given.good, numeric_distance()));
        ::testing::internal::CaptureStderr();
        const Result<OptimizeOutcome> outcome = given.system.optimize(given.all, numeric_distance(), options);
        const std::string log = ::testing::internal::GetCapturedStderr();
        ASSERT_OK(outcome);
        EXPECT_EQ(outcome->skipped_generations, 10U)
            << what << ": four steps are a pass, of which one has the bad example";
        EXPECT_THAT(log, HasSubstr("Later ones are counted without a notice.")) << what;
        EXPECT_TRUE(std::isfinite(outcome->best_reward)) << what;
        EXPECT_TRUE(is_finite(given.system)) << what;
        for (const GenerationReport& step : steps)
            EXPECT_FALSE(std::isinf(step.best)) << what << ", step " << step.generation;
        ASSERT_OK_AND_ASSIGN(const Evaluation after, given.system.evaluate(given.good, numeric_distance()));
        EXPECT_GT(after.reward, before.reward / 2) << what << ": a distance, negative";
    }
};
YOLK_FOR_EACH_DEVICE(not_finite_search);

TEST_P(not_finite_search, eggroll_by_every_optimizer_goes_on) {
    for (const OptimizerRule rule : {OptimizerRule::Sgd, OptimizerRule::Momentum, OptimizerRule::Adam}) {
        expect_learns({.evolution = {.population = 32,
                                     .sigma = 0.1F,
                                     .learning_rate = rule == OptimizerRule::Momentum ? 0.02F : 0.1F,
                                     .optimizer = rule,
                                     .seed = 5}},
                      std::string(to_string(rule)));
    }
}

TEST_P(not_finite_search, derivatives_by_every_optimizer_go_on) {
    for (const OptimizerRule rule : {OptimizerRule::Sgd, OptimizerRule::Momentum, OptimizerRule::Adam}) {
        expect_learns({.gradient = GradientOptions{.rule = rule,
                                                   .learning_rate = rule == OptimizerRule::Momentum ? 0.02F : 0.1F}},
                      std::string(to_string(rule)));
    }
}

TEST_P(not_finite_search, kfac_goes_on) {
    expect_learns({.gradient = GradientOptions{.kfac = KfacOptions{.learning_rate = 0.2F, .damping = 1e-2F}}}, "kfac");
}

// The reward is finite and one of its derivatives is not: that parameter stays, the other one moves.
TEST_P(not_finite_search, derivatives_that_are_not_finite_are_left_out) {
    for (const OptimizerRule rule : {OptimizerRule::Sgd, OptimizerRule::Momentum, OptimizerRule::Adam}) {
        const auto root =
            hyperfunction("root", VectorWeight{.size = 2, .values = Tensor::vector({0.0F, 0.25F})},
                          [](const Traced& v, const Traced& x) { return sqrt(v * x); }, {.optimize = true});
        System system("roots", [=](const Inputs& in) { return root(in["x"]); });
        system.use(dispatcher());
        const std::vector<Example> examples{{{{"x", Tensor::vector({1.0F, 1.0F})}}, Tensor::vector({1.0F, 1.0F})}};
        const OptimizeOptions options{.generations = 20,
                                      .gradient = GradientOptions{.rule = rule, .learning_rate = 0.01F}};
        ::testing::internal::CaptureStderr();
        const Result<OptimizeOutcome> outcome = system.optimize(examples, numeric_distance(), options);
        const std::string log = ::testing::internal::GetCapturedStderr();
        ASSERT_OK(outcome);
        EXPECT_EQ(outcome->skipped_elements, 20U) << to_string(rule);
        EXPECT_EQ(to_json(*outcome)["skipped_elements"], 20U);
        EXPECT_THAT(log, HasSubstr("1 parameters were left as they were"));
        const std::span<const float> values = system.parameters().find("root")->values.values();
        EXPECT_EQ(values[0], 0.0F) << to_string(rule);
        EXPECT_GT(values[1], 0.3F) << to_string(rule);
    }
}

TEST_P(not_finite_search, many_in_a_row_end_it) {
    Lessons given = lessons();
    given.system.use(dispatcher());
    std::vector<Example> bad(12, given.all[5]);
    for (const bool by_derivatives : {false, true}) {
        OptimizeOptions options{.evolution = {.population = 8, .sigma = 0.2F, .learning_rate = 0.2F},
                                .generations = 40,
                                .examples_per_generation = 3};
        if (by_derivatives) options.gradient = GradientOptions{};
        EXPECT_TRUE(
            expect_error(given.system.optimize(bad, numeric_distance(), options), ErrorKind::Failed, "9 before it"));
    }
}

}  // namespace
}  // namespace yolk::hyper
