// SPDX-License-Identifier: Apache-2.0
// Outputs as kernels made them, and their scores: the bits of those that come as values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "fixtures.hpp"
#include "population_fixtures.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper {
namespace {

using plain_outputs = yolk::testing::DeviceTest;
YOLK_FOR_EACH_DEVICE(plain_outputs);

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint32_t kMembers = 21;

/// The same population, by values and plain.
struct Both {
    PopulationOutputs values, plain;
};

Result<Both> evaluated(Dispatcher& dispatcher, std::span<const TracedExample> examples, const ParameterSet& set) {
    constexpr std::uint32_t kChunk = 8;
    YOLK_TRY(const SearchSpace space, search_space(set));
    Both both;
    for (PopulationOutputs* outputs : {&both.values, &both.plain}) {
        YOLK_TRY(HostPool pool, HostPool::create());
        YOLK_TRY(PopulationEvaluator evaluator,
                 PopulationEvaluator::create({.devices = dispatcher, .pool = &pool}, examples, set,
                                             {.max_batch_size = kChunk * static_cast<std::uint32_t>(examples.size()),
                                              .plain_outputs = outputs == &both.plain}));
        YOLK_TRY(*outputs, evaluator.evaluate({.table = space.table,
                                               .mean = space.mean,
                                               .when = {.seed = 9, .sigma = 0.25F},
                                               .first_member = -1,
                                               .members = kMembers}));
    }
    return both;
}

void expect_same_elements(const Both& both) {
    const PlainOutputs& plain = both.plain.plain;
    EXPECT_THAT(both.plain.values, IsEmpty());
    EXPECT_TRUE(both.values.plain.empty());
    ASSERT_EQ(plain.elements.size(), plain.each * kMembers);
    for (std::uint32_t e = 0; e < both.values.examples; ++e) {
        for (std::uint32_t c = 0; c < kMembers; ++c) {
            const Tensor& wanted = *both.values.values[std::size_t{e} * kMembers + c].tensor();
            ASSERT_EQ(plain.shapes[e], wanted.shape());
            const auto given = plain.of(c).subspan(plain.first[e], wanted.values().size());
            ASSERT_TRUE(std::ranges::equal(given, wanted.values())) << "example " << e << ", candidate " << c;
        }
    }
}

TEST_P(plain_outputs, have_the_elements_of_values) {
    const ParameterSet set = two_layers();
    ASSERT_OK_AND_ASSIGN(const Both both, evaluated(dispatcher(), two_layer_examples(set, 5), set));
    expect_same_elements(both);
    EXPECT_EQ(both.plain.counts.chunks, 3U);
}

TEST_P(plain_outputs, keep_the_places_of_examples_of_several_structures) {
    const ParameterSet set = two_layers();
    std::vector<TracedExample> examples = two_layer_examples(set, 2);
    examples.push_back(two_layer_examples(set, 1, 6).front());  // [6, 3]
    examples.push_back(two_layer_examples(set, 4).back());
    ASSERT_OK_AND_ASSIGN(const Both both, evaluated(dispatcher(), examples, set));
    EXPECT_EQ(both.plain.plain.each, 3U * 3U + 18U);
    expect_same_elements(both);
}

TEST_P(plain_outputs, are_numbers_where_kernels_make_words) {
    const ParameterSet set = two_layers();
    std::vector<TracedExample> examples;
    for (std::uint32_t i = 0; i < 3; ++i) {
        Sketch s(set);
        const Atom scores = s.one("linear", {s.parameter("w1"), s.input("x", drawn_tensor({2, 4}, 50 + i))});
        examples.push_back(s.finish(s.one("argmax", {scores})));
    }
    ASSERT_OK_AND_ASSIGN(const Both both, evaluated(dispatcher(), examples, set));
    expect_same_elements(both);
}

TEST_P(plain_outputs, repeat_what_all_examples_share) {
    const ParameterSet set = two_layers();
    std::vector<TracedExample> examples;
    for (std::uint32_t i = 0; i < 3; ++i) {
        Sketch s(set);
        s.input("x", drawn_tensor({4}, 50 + i));
        examples.push_back(s.finish(s.one("tanh", {s.parameter("b1")})));
    }
    ASSERT_OK_AND_ASSIGN(const Both both, evaluated(dispatcher(), examples, set));
    expect_same_elements(both);
}

TEST_P(plain_outputs, are_values_where_the_host_makes_one) {
    const ParameterSet set = two_layers();
    const TracedExample first = two_layer_examples(set, 1).front();
    Sketch s(set);
    s.input("x", drawn_tensor({4}, 50));
    const std::vector<TracedExample> examples{first, s.finish(s.parameter("b1"))};  // a parameter as it is
    ASSERT_OK_AND_ASSIGN(const Both both, evaluated(dispatcher(), examples, set));
    EXPECT_TRUE(both.plain.plain.empty());
    EXPECT_EQ(both.plain.values, both.values.values);
}

std::vector<Value> expected_of(std::uint32_t examples, const std::function<Value(std::uint32_t)>& one) {
    std::vector<Value> expected;
    for (std::uint32_t e = 0; e < examples; ++e) expected.push_back(one(e));
    return expected;
}

void expect_same_scores(const Both& both, std::span<const Value> expected, const Metric& metric) {
    ASSERT_OK_AND_ASSIGN(const auto values, score_population(both.values, expected, metric));
    ASSERT_OK_AND_ASSIGN(const auto plain, score_population(both.plain, expected, metric));
    for (std::uint32_t c = 0; c < kMembers; ++c) {
        ASSERT_EQ(values.errors[c].has_value(), plain.errors[c].has_value()) << metric.name;
        if (values.errors[c]) {
            EXPECT_EQ(values.errors[c]->message, plain.errors[c]->message);
            EXPECT_TRUE(std::isnan(plain.rewards[c])) << metric.name;
        } else {
            EXPECT_EQ(values.rewards[c], plain.rewards[c]) << metric.name << ", candidate " << c;
        }
    }
}

TEST_P(plain_outputs, have_the_scores_of_values) {
    const ParameterSet set = two_layers();
    ASSERT_OK_AND_ASSIGN(const Both both, evaluated(dispatcher(), two_layer_examples(set, 5), set));
    const std::vector<Value> tensors = expected_of(5, [](std::uint32_t e) { return drawn_tensor({3}, 70 + e); });
    for (const Metric& metric : {numeric_distance(), classification(0.1), exact_match()})
        expect_same_scores(both, tensors, metric);
    const std::vector<Value> classes = expected_of(5, [](std::uint32_t e) -> Value {
        if (e % 2 == 0) return {static_cast<double>(e % 3)};
        return Tensor::vector({0.0F, 1.0F, 0.0F});
    });
    expect_same_scores(both, classes, cross_entropy());
    const Metric whole([](std::span<const Value> given, std::span<const Value> wanted) {
        return double{given.back().tensor()->values()[1]} + static_cast<double>(wanted.size());
    });
    expect_same_scores(both, tensors, whole);
    const Metric own([](const Value& given, const Value&) { return std::abs(double{given.tensor()->values()[2]}); });
    expect_same_scores(both, tensors, own);
}

// A user's function in a copy of a ready metric is the one that counts.
TEST_P(plain_outputs, are_scored_by_a_function_that_was_put_in_its_place) {
    const ParameterSet set = two_layers();
    ASSERT_OK_AND_ASSIGN(const Both both, evaluated(dispatcher(), two_layer_examples(set, 2), set));
    Metric metric = numeric_distance();
    metric.per_example = [](const Value&, const Value&) { return 4.0; };
    const std::vector<Value> expected(2, Value(0.0));
    ASSERT_OK_AND_ASSIGN(const auto scored, score_population(both.plain, expected, metric));
    EXPECT_EQ(scored.rewards, std::vector<double>(kMembers, 4.0));
}

TEST_P(plain_outputs, have_the_errors_of_values) {
    const ParameterSet set = two_layers();
    ASSERT_OK_AND_ASSIGN(const Both both, evaluated(dispatcher(), two_layer_examples(set, 3), set));
    const auto except = [](const Value& last) {
        return expected_of(3, [&](std::uint32_t e) { return e == 2 ? last : Value(Tensor::vector({0, 1, 0})); });
    };
    expect_same_scores(both, except(Tensor::vector({1, 2})), numeric_distance());  // another number
    expect_same_scores(both, except("text"), numeric_distance());
    expect_same_scores(both, except(Tensor::vector({1, 1, 0})), cross_entropy());
    expect_same_scores(both, except(3.0), cross_entropy());
    const float infinity = std::numeric_limits<float>::infinity();
    expect_same_scores(both, except(Tensor::vector({0, infinity, 0})), numeric_distance());
    expect_same_scores(both, except(0.0), output_as_reward());
    ASSERT_OK_AND_ASSIGN(const auto scored, score_population(both.plain, except(3.0), cross_entropy()));
    EXPECT_THAT(scored.errors[7]->message, HasSubstr("beside 3 classes"));
    EXPECT_THAT(refusal(score_population(both.plain, std::vector<Value>(2), numeric_distance())),
                HasSubstr("2 expected values"));
}

TEST_P(plain_outputs, of_one_element_are_rewards) {
    const ParameterSet set = two_layers();
    std::vector<TracedExample> examples;
    for (std::uint32_t i = 0; i < 4; ++i) {
        Sketch s(set);
        const Atom y = s.one("linear", {s.parameter("w1"), s.input("x", drawn_tensor({4}, 50 + i))});
        examples.push_back(s.finish(s.one("sum", {y})));
    }
    ASSERT_OK_AND_ASSIGN(const Both both, evaluated(dispatcher(), examples, set));
    expect_same_scores(both, std::vector<Value>(4, Value(0.0)), output_as_reward());
}

}  // namespace
}  // namespace yolk::hyper
