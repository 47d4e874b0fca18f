// SPDX-License-Identifier: Apache-2.0
// Fast populations: within a derived tolerance of exact ones, and never where the same bits were promised.
#include <gmock/gmock.h>

#include <cmath>

#include "pool_fixtures.hpp"
#include "population_fixtures.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/optimize.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper {
namespace {

constexpr std::uint32_t kIn = 67;
constexpr std::uint32_t kOut = 33;
constexpr std::uint32_t kFastExamples = 5;
constexpr std::uint32_t kFastMembers = 9;
constexpr NoiseContext kFastNoise{.seed = 3, .sigma = 0.125F};

class population_fast : public ::yolk::testing::DeviceTest {
   protected:
    Result<PopulationOutputs> layer(const ParameterSet& set, std::span<const TracedExample> examples,
                                    Determinism determinism) {
        YOLK_TRY(HostPool pool, HostPool::create());
        YOLK_TRY(const SearchSpace space, search_space(set));
        YOLK_TRY(PopulationEvaluator evaluator,
                 PopulationEvaluator::create({.devices = dispatcher(), .pool = &pool}, examples, set,
                                             {.determinism = determinism}));
        return evaluator.evaluate(
            {.table = space.table, .mean = space.mean, .when = kFastNoise, .first_member = 0, .members = kFastMembers});
    }
};
YOLK_FOR_EACH_DEVICE(population_fast);

/// Operands below 2^-40 count as zero in exact mode alone: how the two are told apart on devices without fused
/// multiply-adds, such as the test drivers.
constexpr float kFlushed = 0x1p-50F;

Tensor input_of(std::uint32_t example, float scale = 1.0F) {
    std::vector<float> x = drawn(kIn, 100 + example);
    for (float& element : x) element *= scale;
    return Tensor::vector(std::move(x));
}

/// The layers y = W x of both; the first of them is perturbed, the second is of values that the first computed.
std::vector<TracedExample> products(const ParameterSet& set, bool of_computed, float scale = 1.0F) {
    std::vector<TracedExample> examples;
    for (std::uint32_t e = 0; e < kFastExamples; ++e) {
        Sketch s(set);
        const Atom x = s.input("x", input_of(e, scale));
        const Atom y = s.one("linear", {s.parameter("w"), x});
        examples.push_back(s.finish(of_computed ? s.one("linear", {drawn_tensor({4, kOut}, 7), y}) : y));
    }
    return examples;
}

/// Twice what either may differ from the real sum by: depth times norm times 2^-24 (docs/kernels/perturbed_linear.md),
/// with the largest noise there is for the noise drawn.
double tolerance(const Tensor& weights, const Tensor& x, std::size_t row) {
    constexpr double kLargestNoise = 128.0 / 9.2195;  // an int8 over sqrt(85)
    double norm = 0.0;
    for (std::size_t k = 0; k < kIn; ++k) {
        norm += std::abs(double{x.values()[k]}) *
                (std::abs(double{weights.values()[row * kIn + k]}) + kFastNoise.sigma * kLargestNoise * kLargestNoise);
    }
    return 2.0 * (kIn + 1 + 4) * 0x1p-24 * norm;
}

TEST_P(population_fast, layers_are_within_the_tolerance_of_exact_ones) {
    ParameterSet set;
    ASSERT_OK(set.add(matrix_spec("w", kOut, kIn), drawn_tensor({kOut, kIn}, 1)));
    const std::vector<TracedExample> examples = products(set, false);
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs exact, layer(set, examples, Determinism::Exact));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs fast, layer(set, examples, Determinism::Fast));
    for (std::size_t i = 0; i < exact.values.size(); ++i) {
        const Tensor& x = *examples[i / kFastMembers].values[0].tensor();
        const auto a = exact.values[i].tensor()->values();
        const auto b = fast.values[i].tensor()->values();
        ASSERT_EQ(a.size(), kOut);
        ASSERT_EQ(b.size(), kOut);
        for (std::size_t row = 0; row < kOut; ++row) {
            EXPECT_NEAR(a[row], b[row], tolerance(set.find("w")->values, x, row)) << i << ", " << row;
        }
    }
}

TEST_P(population_fast, operands_are_not_flushed) {
    ParameterSet set;
    ASSERT_OK(set.add(matrix_spec("w", kOut, kIn), drawn_tensor({kOut, kIn}, 1)));
    const std::vector<TracedExample> examples = products(set, false, kFlushed);
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs exact, layer(set, examples, Determinism::Exact));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs fast, layer(set, examples, Determinism::Fast));
    for (std::size_t i = 0; i < exact.values.size(); ++i) {
        EXPECT_THAT(exact.values[i].tensor()->values(), ::testing::Each(0.0F)) << i;
        EXPECT_THAT(fast.values[i].tensor()->values(), ::testing::Each(::testing::Ne(0.0F))) << i;
    }
}

TEST_P(population_fast, products_of_computed_values_are_too) {
    ParameterSet set;
    ASSERT_OK(set.add(matrix_spec("w", kOut, kIn), drawn_tensor({kOut, kIn}, 1)));
    const std::vector<TracedExample> examples = products(set, true);
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs exact, layer(set, examples, Determinism::Exact));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs fast, layer(set, examples, Determinism::Fast));
    for (std::size_t i = 0; i < exact.values.size(); ++i) {
        const Tensor& x = *examples[i / kFastMembers].values[0].tensor();
        double carried =
            0.0;  // each of the second layer's operands may be off by the first one's tolerance, times |w| < 1
        double norm = 0.0;
        for (std::size_t row = 0; row < kOut; ++row) {
            carried += tolerance(set.find("w")->values, x, row);
            norm += carried / (2.0 * (kIn + 5) * 0x1p-24);
        }
        for (std::size_t n = 0; n < 4; ++n) {
            EXPECT_NEAR(exact.values[i].tensor()->values()[n], fast.values[i].tensor()->values()[n],
                        carried + 2.0 * (kOut + 4) * 0x1p-24 * norm);
        }
    }
}

/// y = W x.
System a_system() {
    const auto hidden =
        hyperfunction("hidden", MatrixWeight{.out = kOut, .in = kIn},
                      [](const Traced& w, const Traced& x) { return linear(w, x); }, {.optimize = true});
    return System("fast", [=](const Inputs& in) { return hidden(in["x"]); });
}

std::vector<Example> numbered_examples(float scale = 1.0F) {
    std::vector<Example> examples;
    for (std::uint32_t e = 0; e < kFastExamples; ++e)
        examples.push_back({.inputs = {{"x", input_of(e, scale)}}, .expected = Tensor::filled({kOut}, 0.0F)});
    return examples;
}

TEST_P(population_fast, plans_that_are_kept_for_it_are_not_taken_for_exact_ones) {
    System system = a_system();
    system.use(dispatcher());
    const std::vector<Example> examples = numbered_examples(kFlushed);
    const std::vector<Candidate> one{{.values = {{"hidden", drawn_tensor({kOut, kIn}, 5)}}}};
    const auto rewards = [&](Determinism determinism) -> Result<std::vector<double>> {
        YOLK_TRY(PopulationEvaluation evaluated,
                 system.evaluate_population(one, examples, numeric_distance(), {.determinism = determinism}));
        return evaluated.rewards;
    };
    ASSERT_OK_AND_ASSIGN(const std::vector<double> exact, rewards(Determinism::Exact));
    ASSERT_OK_AND_ASSIGN(const std::vector<double> fast, rewards(Determinism::Fast));
    EXPECT_NE(exact, fast);
    ASSERT_OK_AND_ASSIGN(const std::vector<double> again, rewards(Determinism::Exact));
    EXPECT_EQ(exact, again);
}

TEST(population_fast_pool, that_promises_the_same_bits_refuses_it) {
    std::string notices;
    ASSERT_OK_AND_ASSIGN(evolve::DevicePool devices, pool_of({one_device(), another_device()}, notices));
    System system = a_system();
    system.use(devices);
    const std::vector<Example> examples = numbered_examples();
    const std::vector<Candidate> one{{.values = {{"hidden", drawn_tensor({kOut, kIn}, 5)}}}};
    EXPECT_TRUE(yolk::testing::expect_error(
        system.evaluate_population(one, examples, numeric_distance(), {.determinism = Determinism::Fast}),
        ErrorKind::BadInput, "DevicePoolOptions::determinism Fast"));
    EXPECT_OK(system.evaluate_population(one, examples, numeric_distance()));
}

TEST_P(population_fast, a_fast_search_evaluates_fast) {
    const auto start = [&](Determinism determinism) -> Result<double> {
        System system = a_system();
        system.use(dispatcher());
        OptimizeOptions options{.evolution = {.population = 8, .sigma = 0.1F, .learning_rate = 0.05F},
                                .generations = 2};
        options.evolution.determinism = determinism;
        const std::vector<Example> examples = numbered_examples(kFlushed);
        YOLK_TRY(const OptimizeOutcome outcome, system.optimize(examples, numeric_distance(), options));
        return outcome.history.at(0).mean;
    };
    ASSERT_OK_AND_ASSIGN(const double exact, start(Determinism::Exact));
    ASSERT_OK_AND_ASSIGN(const double fast, start(Determinism::Fast));
    EXPECT_NE(exact, fast);
    EXPECT_NEAR(exact, fast, 1e-20);
}

}  // namespace
}  // namespace yolk::hyper
