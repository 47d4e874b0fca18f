// SPDX-License-Identifier: Apache-2.0
// Equations that take the whole of a perturbed matrix: it is formed on the device, with the bits of the host.
#include <gmock/gmock.h>

#include <cmath>

#include "exact_twin.hpp"
#include "fixtures.hpp"
#include "population_fixtures.hpp"
#include "yolk/internal/reference/member_weights.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/perturbed_linear.hpp"
#include "yolk/twin.hpp"

namespace yolk::hyper {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr NoiseContext kFormedNoise{.seed = 7, .generation = 3, .time = 3, .sigma = 0.1F};

ParameterSet two_matrices(std::uint64_t rows = 5) {
    ParameterSet set;
    EXPECT_OK(set.add(matrix_spec("w", rows, 4), drawn_tensor({rows, 4}, 1)));
    EXPECT_OK(set.add(matrix_spec("u", 4, 4), drawn_tensor({4, 4}, 2)));
    return set;
}

class population_formed : public ::yolk::testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(population_formed);

TEST_P(population_formed, has_the_bits_of_the_twins) {
    const ParameterSet set = two_matrices();
    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(set));
    std::vector<TracedExample> examples;
    for (std::uint32_t e = 0; e < 2; ++e) {
        Sketch s(set);
        const Atom x = s.input("x", drawn_tensor({3, 4}, 10 + e));
        const Atom w = s.parameter("w");
        const Atom turned = s.one("permute", {w}, {{"order", std::vector<std::int64_t>{1, 0}}});  // [4, 5]
        const Atom square = s.one("multiply", {s.parameter("u"), s.parameter("u")});
        const Atom both = s.one("matmul", {s.parameter("u"), turned});  // a is formed
        const Atom drawn = s.one("matmul", {w, s.parameter("u")});      // b is drawn, a formed
        const Atom all = s.one("add", {s.one("matmul", {square, both}),
                                       s.one("permute", {drawn}, {{"order", std::vector<std::int64_t>{1, 0}}})});
        examples.push_back(s.finish(s.one("add", {s.one("matmul", {x, all}), s.one("linear", {w, x})})));
    }
    ASSERT_OK_AND_ASSIGN(PopulationEvaluator evaluator,
                         PopulationEvaluator::create({.devices = dispatcher()}, examples, set, {.max_batch_size = 6}));
    EXPECT_THAT(evaluator.fallbacks(),
                ElementsAre("Matrix 'u' is formed for each candidate: matmul takes the whole of it.",
                            "Matrix 'u' is formed for each candidate: multiply takes the whole of it.",
                            "Matrix 'w' is formed for each candidate: matmul takes the whole of it.",
                            "Matrix 'w' is formed for each candidate: permute takes the whole of it."));
    ASSERT_OK_AND_ASSIGN(const population::ExampleSet known, population::ExampleSet::create(examples, set));
    const population::PopulationTwin twin(nullptr, known);
    for (const auto& [rank, antithetic] : {std::pair(1U, true), std::pair(3U, false)}) {
        const Perturbations members{.table = space.table,
                                    .mean = space.mean,
                                    .when = kFormedNoise,
                                    .rank = rank,
                                    .first_member = -1,
                                    .members = 8,
                                    .antithetic = antithetic};
        ASSERT_OK_AND_ASSIGN(const PopulationOutputs given, evaluator.evaluate(members));
        ASSERT_OK_AND_ASSIGN(const population::Question question, known.ask(members));
        ASSERT_OK_AND_ASSIGN(const PopulationOutputs wanted, twin.evaluate(question, {.count = 8}, nullptr));
        EXPECT_EQ(given.counts.host_equations, 0U);
        EXPECT_TRUE(given.values == wanted.values) << rank << antithetic;
        for (std::uint32_t e = 0; e < 2; ++e) EXPECT_EQ(given.values[e * 8], answer(examples[e], {}));
    }
}

TEST_P(population_formed, too_large_a_matrix_stays_on_the_host) {
    const ParameterSet set = two_matrices(1100);
    Sketch s(set);
    const Atom x = s.input("x", drawn_tensor({1, 4}, 10));
    const std::vector<TracedExample> examples{s.finish(s.one("add", {s.parameter("w"), x}))};
    ASSERT_OK_AND_ASSIGN(PopulationEvaluator evaluator,
                         PopulationEvaluator::create({.devices = dispatcher()}, examples, set, {}));
    EXPECT_THAT(evaluator.fallbacks(), ElementsAre(HasSubstr("matrices are formed up to 1024 rows")));
}

TEST(perturbed_matrix, is_the_product_of_the_identity_and_close_to_the_sum) {
    for (const std::uint32_t rank : {1U, 4U}) {
        for (const std::int32_t member : {-1, 0, 1, 6}) {
            const PerturbedLinearDesc desc{.members = 1,
                                           .rows = 7,
                                           .in = 5,
                                           .out = 7,
                                           .rank = rank,
                                           .parameter = ParameterId(3),
                                           .transposed = true};
            std::vector<float> weights = drawn(35, 4);
            weights[3] = 1e-41F;
            weights[4] = -0.0F;
            std::vector<float> identity(49, 0.0F);
            for (std::size_t i = 0; i < 7; ++i) identity[8 * i] = 1.0F;
            const std::vector<float> formed = reference::perturbed_matrix(desc, weights, kFormedNoise, member);
            EXPECT_EQ(formed, reference::twin_result<float>(desc, {weights, identity}, kFormedNoise, member));
            const std::vector<double> wanted = reference::perturbed_weights(desc, weights, kFormedNoise, member);
            for (std::size_t i = 0; i < formed.size(); ++i) EXPECT_NEAR(formed[i], wanted[i], 1e-6) << i;
        }
    }
}

}  // namespace
}  // namespace yolk::hyper
