// SPDX-License-Identifier: Apache-2.0
// Searches whose traces have no values of what candidates change, and figures about the means that they score.
#include <gmock/gmock.h>

#include <cmath>

#include "fixtures.hpp"
#include "population_fixtures.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/json.hpp"
#include "yolk/optimize.hpp"

namespace yolk::hyper {
namespace {

class left_out_values : public ::yolk::testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(left_out_values);

/// tanh(x W0^T) W1^T + b, of which W1 is searched. `reads` looks at a value in between.
System layered_system(bool reads = false) {
    const auto matrix = [](const char* name, std::uint32_t out, std::uint32_t in, std::uint32_t seed, bool searched) {
        return hyperfunction(name, MatrixWeight{.out = out, .in = in, .values = drawn_tensor({out, in}, seed)},
                             [](const Traced& w, const Traced& x) { return linear(w, x); }, {.optimize = searched});
    };
    const auto first = matrix("first", 5, 4, 1, false), second = matrix("second", 2, 5, 2, true);
    const auto bias = hyperfunction("bias", VectorWeight{.size = 2, .values = drawn_tensor({2}, 3)},
                                    [](const Traced& b, const Traced& x) { return x + b; });
    System system("two layers", [=](const Inputs& in) {
        const Traced made = second(tanh(first(in["x"])));
        if (reads) return made * made.read().tensor()->values()[0];
        return bias(made);
    });
    for (const AnyHyperfunction& function : std::vector<AnyHyperfunction>{first, second, bias})
        EXPECT_OK(system.add(function));
    return system;
}
std::vector<Example> rows_for_two_layers(std::uint32_t count, std::uint32_t seed) {
    std::vector<Example> examples;
    for (std::uint32_t i = 0; i < count; ++i)
        examples.push_back({{{"x", drawn_tensor({3, 4}, seed + i)}}, drawn_tensor({3, 2}, seed + 50 + i)});
    return examples;
}
OptimizeOptions steps_of_two_layers(std::uint32_t drawn) {
    return {.evolution = {.population = 8, .sigma = .1F, .learning_rate = .1F, .seed = 5},
            .generations = 4,
            .examples_per_generation = drawn};
}

TEST_P(left_out_values, searches_are_the_same) {
    const std::vector<Example> examples = rows_for_two_layers(6, 100), held_out = rows_for_two_layers(3, 300);
    for (const std::uint32_t drawn : {0U, 2U}) {
        std::vector<std::string> hashes;
        for (const bool leaves : {false, true}) {
            System system = layered_system();
            system.use(dispatcher());
            system.leave_values_out(leaves);
            OptimizeOptions options = steps_of_two_layers(drawn);
            options.held_out = held_out;
            ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, system.optimize(examples, numeric_distance(), options));
            hashes.push_back(outcome.state_hash);
            ASSERT_OK_AND_ASSIGN(const Evaluation now, system.evaluate(held_out, numeric_distance()));
            EXPECT_EQ(now.reward, *outcome.held_out_best) << "evaluate() has the values";
        }
        EXPECT_EQ(hashes[0], hashes[1]);
    }
}

TEST_P(left_out_values, populations_are_the_same) {
    const std::vector<Example> examples = rows_for_two_layers(2, 100);
    const std::vector<Candidate> candidates{{.values = {{"second", drawn_tensor({2, 5}, 8)}}},
                                            {.values = {{"second", drawn_tensor({2, 5}, 9)}}}};
    std::vector<std::vector<double>> rewards;
    for (const bool leaves : {false, true}) {
        System system = layered_system();
        system.use(dispatcher());
        system.leave_values_out(leaves);
        ASSERT_OK_AND_ASSIGN(const PopulationEvaluation found,
                             system.evaluate_population(candidates, examples, numeric_distance()));
        rewards.push_back(found.rewards);
    }
    EXPECT_EQ(rewards[0], rewards[1]);
    EXPECT_NE(rewards[0][0], rewards[0][1]);
}

TEST_P(left_out_values, a_function_that_reads_one_is_told) {
    System system = layered_system(true);
    system.use(dispatcher());
    system.leave_values_out(true);
    EXPECT_TRUE(::yolk::testing::expect_error(
        system.optimize(rows_for_two_layers(2, 100), numeric_distance(), steps_of_two_layers(0)), ErrorKind::BadInput,
        "was read"));
}

/// How far the mean has moved, before each generation.
TEST_P(left_out_values, a_look_sees_the_mean_that_was_scored) {
    const std::vector<Example> examples = rows_for_two_layers(6, 100), held_out = rows_for_two_layers(3, 300);
    for (const std::uint32_t drawn : {0U, 2U}) {
        System system = layered_system();
        system.use(dispatcher());
        ASSERT_OK_AND_ASSIGN(const SearchSpace start, search_space(system.parameters()));
        OptimizeOptions options = steps_of_two_layers(drawn);
        options.held_out = held_out;
        options.held_out_every = 2;
        options.look = [&](std::span<const float> mean) -> Result<std::map<std::string, double>> {
            double moved = 0.0;
            for (std::size_t i = 0; i < mean.size(); ++i) moved += std::abs(double{mean[i]} - start.mean[i]);
            return std::map<std::string, double>{{"moved", moved}};
        };
        ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, system.optimize(examples, numeric_distance(), options));
        ASSERT_EQ(outcome.history.size(), 4U);
        EXPECT_EQ(outcome.history[0].looked.at("moved"), 0.0) << "nothing has moved before the first update";
        EXPECT_TRUE(outcome.history[1].looked.empty()) << "only where held-out examples are scored";
        EXPECT_GT(outcome.history[2].looked.at("moved"), 0.0);
        EXPECT_THAT(to_json(outcome.history[2]).dump(), ::testing::HasSubstr("\"moved\""));
        options.look = [](std::span<const float>) -> Result<std::map<std::string, double>> {
            return bad_input("Nothing is seen.");
        };
        EXPECT_TRUE(::yolk::testing::expect_error(system.optimize(examples, numeric_distance(), options),
                                                  ErrorKind::BadInput, "Nothing is seen"));
    }
}

}  // namespace
}  // namespace yolk::hyper
