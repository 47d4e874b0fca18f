// SPDX-License-Identifier: Apache-2.0
// Embeddings on the device beside those of PyPI's transformers in double precision (models/make.py), and populations of
// the network beside the exact twins.
#include "yolk/encoder.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "models.hpp"

namespace yolk::transformer {
namespace {

class encoder : public ::yolk::testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(encoder);

std::vector<std::string> stored_texts() {
    std::vector<std::string> texts;
    for (const Json& one : stored_json(models_folder() / "texts.json")) texts.push_back(one.at("text"));
    return texts;
}
double largest_difference(std::span<const float> found, const Json& expected) {
    double largest = 0.0;
    std::size_t at = 0;
    for (const Json& row : expected) {
        for (const Json& value : row) largest = std::max(largest, std::abs(found[at++] - value.get<double>()));
    }
    EXPECT_EQ(at, found.size());
    return largest;
}

// fp32 against double: each of the two layers has sums of at most 48 products and norms, whose rounding errors are some
// 2^-24 times the root of their length; with the error function's 1.5e-7 that stays below 1e-5 of vectors of length 1.
constexpr double kTolerance = 1e-5;

TEST_P(encoder, embeddings_are_those_of_transformers) {
    const Json expected = stored_json(models_folder() / "embeddings.json");
    const std::vector<std::string> texts = stored_texts();
    for (const char* const model : {"bert", "bert-bf16"}) {
        for (const Determinism determinism : {Determinism::Exact, Determinism::Fast}) {
            ASSERT_OK_AND_ASSIGN(Encoder opened,
                                 Encoder::open(models_folder() / model, dispatcher(), {.determinism = determinism}));
            ASSERT_OK_AND_ASSIGN(const std::vector<float> found, opened.embed(texts));
            EXPECT_LT(largest_difference(found, expected.at(model)), kTolerance) << model;
        }
    }
}

TEST_P(encoder, batches_do_not_change_a_text) {
    const std::vector<std::string> texts = stored_texts();
    ASSERT_OK_AND_ASSIGN(Encoder all,
                         Encoder::open(models_folder() / "bert", dispatcher(), {.determinism = Determinism::Exact}));
    ASSERT_OK_AND_ASSIGN(const std::vector<float> together, all.embed(texts));
    ASSERT_OK_AND_ASSIGN(Encoder some, Encoder::open(models_folder() / "bert", dispatcher(),
                                                     {.determinism = Determinism::Exact, .batch = 3}));
    ASSERT_OK_AND_ASSIGN(const std::vector<float> in_threes, some.embed(texts));
    double largest = 0.0;  // padding to another length may round the sums another way
    for (std::size_t i = 0; i < together.size(); ++i)
        largest = std::max(largest, std::abs(double{together[i]} - in_threes[i]));
    EXPECT_LT(largest, kTolerance);
    ASSERT_OK_AND_ASSIGN(const std::vector<float> again, all.embed(texts));
    EXPECT_EQ(again, together);
    ASSERT_OK_AND_ASSIGN(const std::vector<float> nothing, all.embed({}));
    EXPECT_TRUE(nothing.empty());
}

TEST_P(encoder, a_text_that_is_no_text_is_named) {
    ASSERT_OK_AND_ASSIGN(Encoder opened, Encoder::open(models_folder() / "bert", dispatcher()));
    const std::vector<std::string> texts{"the cat", "\xFF"};
    EXPECT_TRUE(::yolk::testing::expect_error(opened.embed(texts), ErrorKind::BadInput, "reading text 1"));
}

// The system's call is evaluated by the kernels' twins, so in exact mode it has the device's bits.
TEST_P(encoder, the_system_is_the_same_network) {
    ASSERT_OK_AND_ASSIGN(Encoder opened,
                         Encoder::open(models_folder() / "bert", dispatcher(), {.determinism = Determinism::Exact}));
    ASSERT_OK_AND_ASSIGN(hyper::System system, opened.system());
    const std::vector<std::string> texts{"the cat sat"};
    ASSERT_OK_AND_ASSIGN(const std::vector<float> embedded, opened.embed(texts));
    ASSERT_OK_AND_ASSIGN(const hyper::Example example, opened.example(texts[0], 16));
    ASSERT_OK_AND_ASSIGN(const hyper::Value called, system.call(example.inputs));
    EXPECT_THAT(called.tensor()->values(), ::testing::ElementsAreArray(embedded));
    EXPECT_TRUE(::yolk::testing::expect_error(opened.example(texts[0], 4), ErrorKind::BadInput, "from 5 to 40"));
    EXPECT_TRUE(::yolk::testing::expect_error(opened.example(texts[0], 41), ErrorKind::BadInput, "from 5 to 40"));
}

// Of a population the query matrices alone are perturbed, as a search for adapters does it; all members share the
// weights.
TEST_P(encoder, populations_have_the_twins_bits) {
    constexpr std::uint32_t kMembers = 5;  // the mean and two pairs
    ASSERT_OK_AND_ASSIGN(const Encoder opened, Encoder::open(models_folder() / "bert", dispatcher()));
    ASSERT_OK_AND_ASSIGN(hyper::System system, opened.system());
    for (const hyper::ParameterGroup& group :
         std::vector(system.parameters().groups().begin(), system.parameters().groups().end())) {
        ASSERT_OK(system.parameters().set_optimized(group.spec.name, group.spec.name.ends_with("query.weight")));
    }
    std::vector<hyper::Example> examples;
    for (const char* const text : {"the cat sat on the mat", "evolution strategies"}) {
        ASSERT_OK_AND_ASSIGN(hyper::Example example, opened.example(text, 12));
        examples.push_back(std::move(example));
    }
    ASSERT_OK_AND_ASSIGN(const std::vector<hyper::TracedExample> traced, system.trace_all(examples));
    ASSERT_OK_AND_ASSIGN(const hyper::SearchSpace space, hyper::search_space(system.parameters()));
    EXPECT_EQ(space.mean.size(), 2U * 24 * 24);
    const hyper::Perturbations around{.table = space.table,
                                      .mean = space.mean,
                                      .when = {.seed = 42, .generation = 2, .time = 2, .sigma = 0.05F},
                                      .first_member = -1,
                                      .members = kMembers};
    ASSERT_OK_AND_ASSIGN(
        auto evaluator, hyper::PopulationEvaluator::create({.devices = dispatcher()}, traced, system.parameters(), {}));
    EXPECT_EQ(evaluator.fallbacks(), std::vector<std::string>{}) << "all of it runs on the device";
    ASSERT_OK_AND_ASSIGN(const hyper::PopulationOutputs given, evaluator.evaluate(around));
    ASSERT_OK(evaluator.begin(around));
    ASSERT_OK_AND_ASSIGN(const hyper::PopulationOutputs twin,
                         evaluator.evaluate_part(hyper::PopulationEvaluator::kTwin, {.count = kMembers}));
    EXPECT_EQ(given.values, twin.values);
    std::set<float> firsts;
    for (std::uint32_t m = 0; m < kMembers; ++m) firsts.insert(given.values[m].tensor()->values()[0]);
    EXPECT_EQ(firsts.size(), kMembers) << "each member has an embedding of its own";
}

}  // namespace
}  // namespace yolk::transformer
