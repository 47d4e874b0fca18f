// SPDX-License-Identifier: Apache-2.0
#include "yolk/ablate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "learning_systems.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper {
namespace {

using ::yolk::testing::expect_error;

class ablation : public ::yolk::testing::DeviceTest {
   protected:
    /// y = B (A x) with A = 2, B = 3 on one number, wanted 6 x: zeroing one gives minus the mean of (6 x)^2.
    [[nodiscard]] Task product() const {
        const auto matrix = [](const Traced& weight, const Traced& x) { return linear(weight, x); };
        const auto a = hyperfunction("a", MatrixWeight{.out = 1, .in = 1, .values = *Tensor::create({1, 1}, {1})},
                                     matrix, {.optimize = true});
        const auto b = hyperfunction("b", MatrixWeight{.out = 1, .in = 1, .values = *Tensor::create({1, 1}, {3})},
                                     matrix, {.optimize = true});
        Task task{System("product", [=](const Inputs& in) { return b(a(in["x"])); }), {}, numeric_distance()};
        for (const float x : {1.0F, 2.0F, 3.0F, 4.0F})
            task.examples.push_back({{{"x", Tensor::vector({x})}}, Tensor::vector({6.0F * x})});
        task.system.use(dispatcher());
        EXPECT_OK(task.system.trace_all(task.examples));
        EXPECT_OK(task.system.parameters().set("a", *Tensor::create({1, 1}, {2})));
        return task;
    }
};
YOLK_FOR_EACH_DEVICE(ablation);

TEST_P(ablation, zero_and_reset_report_the_change_with_its_spread) {
    Task task = product();
    ASSERT_OK_AND_ASSIGN(const auto zeroed, ablate(task.system, task.examples, task.metric, {}));
    ASSERT_EQ(zeroed.size(), 2U);
    for (const AblationRow& row : zeroed) {
        EXPECT_EQ(row.base, 0.0);
        EXPECT_EQ(row.reward, -36.0 * 7.5);  // the mean of 1, 4, 9, 16
        EXPECT_EQ(row.change, row.reward);
        // Of a mean of four drawn from {36, 144, 324, 576} with replacement: 204 / 2.
        EXPECT_NEAR(row.spread, 102.0, 60.0);
    }
    ASSERT_OK_AND_ASSIGN(const auto reset,
                         ablate(task.system, task.examples, task.metric, {.how = Ablation::Reset, .groups = {"a"}}));
    ASSERT_EQ(reset.size(), 1U);
    EXPECT_EQ(reset[0].reward, -9.0 * 7.5);  // a is 1 again: 3 x where 6 x is right
    EXPECT_EQ(task.system.parameters().find("a")->values.values()[0], 2.0F);
}
TEST_P(ablation, perturbing_moves_one_group_alone) {
    Task task = product();
    ASSERT_OK_AND_ASSIGN(const auto rows, ablate(task.system, task.examples, task.metric,
                                                 {.how = Ablation::Perturb, .draws = 512, .sigma = 0.1F}));
    // b moves by .1 n: minus the mean of (2 x .1 n)^2 = .04 * 7.5 n^2, n of unit variance; a by 9 where b has 4.
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].base, 0.0);
    EXPECT_NEAR(rows[0].change, -0.09 * 7.5, 0.2);
    EXPECT_NEAR(rows[1].change, -0.04 * 7.5, 0.1);
    for (const AblationRow& row : rows) EXPECT_GT(row.spread, 0.3 * -row.change);
}
TEST_P(ablation, freezing_optimizes_with_and_without) {
    Task task = product();
    ASSERT_OK(task.system.parameters().set("a", *Tensor::create({1, 1}, {0})));
    AblateOptions options{.how = Ablation::Freeze, .seeds = 2};
    options.optimize = {.evolution = {.population = 8, .sigma = 0.1F, .learning_rate = 0.1F}, .generations = 10};
    ASSERT_OK_AND_ASSIGN(const auto rows, ablate(task.system, task.examples, task.metric, options));
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].reward, -36.0 * 7.5);  // with a frozen at 0 nothing helps
    EXPECT_GT(rows[0].base, rows[0].reward);
    EXPECT_LT(rows[0].change, 0.0);
    EXPECT_EQ(task.system.parameters().find("a")->values.values()[0], 0.0F);
}
TEST_P(ablation, zero_stays_within_bounds) {
    Task task = temperature_task();
    task.system.use(dispatcher());
    ASSERT_OK(task.system.trace_all(task.examples));
    ASSERT_OK(task.system.parameters().set("warm", Tensor::vector({0.5F, 1, 0, 0, .25F})));
    ASSERT_OK_AND_ASSIGN(const auto rows, ablate(task.system, task.examples, task.metric, {}));
    EXPECT_EQ(rows[0].base, 0.0);
    EXPECT_EQ(rows[0].reward, -0.5);
    EXPECT_EQ(rows[0].spread, 0.0);  // the same for every example
}
TEST_P(ablation, refuses_what_is_not_there) {
    Task task = product();
    EXPECT_TRUE(expect_error(ablate(task.system, task.examples, task.metric, {.groups = {"c"}}), ErrorKind::BadInput,
                             "no group 'c' to zero; there are a, b"));
    EXPECT_TRUE(expect_error(ablate(task.system, task.examples, task.metric, {.draws = 3}), ErrorKind::BadInput,
                             "draws are 3"));
    EXPECT_TRUE(expect_error(parse_ablation("remove"), ErrorKind::BadInput, "zero, reset, freeze, perturb"));
}

}  // namespace
}  // namespace yolk::hyper
