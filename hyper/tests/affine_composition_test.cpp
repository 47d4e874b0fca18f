// SPDX-License-Identifier: Apache-2.0
// Two matrices in a row: what they learn is their product. One matrix can say the same, and learns it, too.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "learning_systems.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper {
namespace {

constexpr double kSummedError = 0.1;  // over all points

/// Of two [2, 2].
std::array<double, 4> product(const Tensor& left, const Tensor& right) {
    std::array<double, 4> result{};
    for (std::size_t row = 0; row < 2; ++row) {
        for (std::size_t column = 0; column < 2; ++column) {
            for (std::size_t k = 0; k < 2; ++k)
                result[2 * row + column] += double{left.values()[2 * row + k]} * double{right.values()[2 * k + column]};
        }
    }
    return result;
}

class affine_composition : public ::testing::Test {
   protected:
    /// Optimizes with the published settings, and holds what the matrix of all layers came to be against what was
    /// wanted: 45 degrees and twice the length. An error of .1 over 50 points in [-1, 1)^2, each a third in the mean
    /// square per coordinate, is .006 of squared difference per column: .05 leaves room for their chance.
    static void expect_learned(Task& task, std::array<double, 4> (*matrix)(const System&)) {
        task.system.use(testing::shared_device(testing::devices().front()).dispatcher);
        ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome,
                             task.system.optimize(task.examples, task.metric, rotation_options(1)));
        EXPECT_GT(outcome.best_reward * static_cast<double>(task.examples.size()), -kSummedError);
        EXPECT_GT(outcome.best_reward, outcome.start_reward);
        const std::array<double, 4> learned = matrix(task.system);
        const std::array<double, 4> wanted{std::sqrt(2.0), -std::sqrt(2.0), std::sqrt(2.0), std::sqrt(2.0)};
        for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(learned[i], wanted[i], 0.05) << "element " << i;
    }
};

TEST_F(affine_composition, the_product_is_recovered) {
    Task task = rotation_task(1);
    expect_learned(task, [](const System& system) {
        return product(system.parameters().find("b")->values, system.parameters().find("a")->values);
    });
}

TEST_F(affine_composition, one_matrix_learns_it_too) {
    const auto only = hyperfunction(
        "only", MatrixWeight{.out = 2, .in = 2, .noise_rank = 2, .values = *Tensor::create({2, 2}, {1, 0, 0, 1})},
        [](const Traced& weight, const Traced& x) { return linear(weight, x); }, {.optimize = true});
    Task task = rotation_task(1);
    task.system = System("one matrix", [=](const Inputs& in) { return only(in["x"]); });
    expect_learned(task, [](const System& system) {
        return product(system.parameters().find("only")->values, *Tensor::create({2, 2}, {1, 0, 0, 1}));
    });
}

}  // namespace
}  // namespace yolk::hyper
