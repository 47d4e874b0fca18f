// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/hyper/metric.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

double scored(const Metric& metric, const Value& prediction, const Value& expected) {
    const auto scores = score(metric, std::span(&prediction, 1), std::span(&expected, 1));
    EXPECT_OK(scores);
    return scores ? scores->reward : NAN;
}
std::string metric_refusal(const Metric& metric, const Value& prediction, const Value& expected) {
    const auto scores = score(metric, std::span(&prediction, 1), std::span(&expected, 1));
    return scores ? "it was scored" : scores.error().message;
}

TEST(metric, ready_ones_score) {
    EXPECT_EQ(scored(exact_match(), "a", "a"), 1.0);
    EXPECT_EQ(scored(exact_match(), 1.0, "1"), 0.0);
    const Tensor half = Tensor::vector({0.5F});
    EXPECT_EQ(scored(classification(), half, 1.0), 0.0) << "exactly the threshold is not above it";
    EXPECT_EQ(scored(classification(), half, 0.0), 1.0);
    EXPECT_EQ(scored(numeric_distance(), Tensor::vector({1, 2}), Tensor::vector({2, 4})), -5.0);
    EXPECT_EQ(scored(numeric_distance(), true, 3.0), -4.0);
    const Tensor logits = Tensor::vector({0.0F, 0.0F, 1000.0F});
    EXPECT_EQ(scored(cross_entropy(), logits, 2.0), 0.0);
    EXPECT_EQ(scored(cross_entropy(), logits, Tensor::vector({0, 1, 0})), -1000.0);
    EXPECT_NEAR(scored(cross_entropy(), Tensor::vector({1, 1}), 0.0), -std::log(2.0), 1e-12);
    EXPECT_EQ(scored(parse_success(), "{\"a\": [1]}", 0.0), 1.0);
    EXPECT_EQ(scored(parse_success(), "{a: 1}", 0.0), 0.0);
    EXPECT_EQ(scored(parse_success("number"), "-1.5e3", 0.0), 1.0);
    EXPECT_EQ(scored(parse_success("number"), "1.5 m", 0.0), 0.0);
    EXPECT_EQ(scored(parse_success(), 3.0, 0.0), 0.0);
}

TEST(metric, bad_input_is_told) {
    EXPECT_THAT(metric_refusal(numeric_distance(), "text", 1.0), HasSubstr("text was given"));
    EXPECT_THAT(metric_refusal(numeric_distance(), Tensor::vector({1, 2}), 1.0),
                HasSubstr("has 2 numbers, the expected value has 1"));
    EXPECT_THAT(metric_refusal(cross_entropy(), Tensor::vector({1, 2}), 2.0), HasSubstr("from 0 to 1"));
    EXPECT_THAT(metric_refusal(cross_entropy(), Tensor::vector({1, 2}), Tensor::vector({1, 1})),
                HasSubstr("one 1 among"));
    EXPECT_THAT(metric_refusal(parse_success("yaml"), "a", ""), HasSubstr("\"json\" and \"number\""));
    EXPECT_THAT(metric_refusal(Metric(), 1.0, 1.0), HasSubstr("exactly one"));
    EXPECT_THAT(metric_refusal(Metric([](const Value&, const Value&) { return INFINITY; }, "far"), 1.0, 1.0),
                AllOf(HasSubstr("'far' at example 0"), HasSubstr("finite")));
    EXPECT_THAT(
        metric_refusal(Metric([](const Value&, const Value&) -> double { throw std::runtime_error("no"); }), 1.0, 1.0),
        HasSubstr("'metric' at example 0 threw: no"));
    EXPECT_THAT(
        metric_refusal(Metric([](std::span<const Value>, std::span<const Value>) -> double { throw 1; }), 1.0, 1.0),
        HasSubstr("not a std::exception"));
    EXPECT_THAT(score(exact_match(), {}, {}).error().message, HasSubstr("no example"));
}

TEST(metric, sees_all_or_each) {
    const std::vector<Value> predictions{1.0, 2.0, 3.0}, expected{1.0, 0.0, 3.0};
    ASSERT_OK_AND_ASSIGN(const Scores each, score(exact_match(), predictions, expected));
    EXPECT_THAT(each.per_example, ElementsAre(1.0, 0.0, 1.0));
    EXPECT_DOUBLE_EQ(each.reward, 2.0 / 3.0);
    const Metric all([](std::span<const Value> p, std::span<const Value>) -> Result<double> {
        return static_cast<double>(p.size());
    });
    ASSERT_OK_AND_ASSIGN(const Scores whole, score(all, predictions, expected));
    EXPECT_EQ(whole.reward, 3.0);
    EXPECT_TRUE(whole.per_example.empty());
}

}  // namespace
}  // namespace yolk::hyper
