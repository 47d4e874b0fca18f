// SPDX-License-Identifier: Apache-2.0
// Runs over a small data set: points of a plane in three clouds that no line separates from one another.
#include "yolk/learn.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "data_files.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::tasks {
namespace {

using ::yolk::testing::expect_error;

/// Three rings around the origin, in turn.
DataSet rings(std::size_t rows) {
    DataSet data{.name = "rings", .shape = {2}, .columns = {"x", "y"}, .inputs = {}, .labels = {}, .lines = {}};
    const char* const names[] = {"inner", "middle", "outer"};
    for (std::size_t i = 0; i < rows; ++i) {
        const double angle = 2.399963 * static_cast<double>(i);  // the golden angle: evenly spread
        const double radius = 1.0 + static_cast<double>(i % 3) * 2.0 + 0.5 * std::sin(static_cast<double>(i * i));
        data.inputs.push_back(static_cast<float>(100.0 + radius * std::cos(angle)));
        data.inputs.push_back(static_cast<float>(radius * std::sin(angle)));
        data.labels.emplace_back(names[i % 3]);
    }
    return data;
}

LearnOptions options_for(const std::filesystem::path& out) {
    LearnOptions options;
    options.given = std::make_shared<const DataSet>(rings(300));
    options.network = {.hidden = {16}, .activation = Activation::Tanh};
    options.batch = 64;
    options.generations = 120;
    options.evolution.population = 64;
    options.evolution.learning_rate = 0.1F;
    options.out = out;
    return options;
}

class learning : public ::yolk::testing::DeviceTest {
   protected:
    [[nodiscard]] evolve::Devices on() const { return evolve::Devices(dispatcher()); }
    DataFolder folder_;
};
YOLK_FOR_EACH_DEVICE(learning);

TEST_P(learning, what_no_line_separates) {
    const std::filesystem::path out = folder_.path() / "run";
    ASSERT_OK_AND_ASSIGN(const LearnOutcome outcome, learn(on(), options_for(out)));
    ASSERT_TRUE(outcome.judged.test);
    EXPECT_EQ(outcome.judged.test->rows, 60U);
    EXPECT_EQ(outcome.training_rows, 210U);
    EXPECT_GE(outcome.judged.test->accuracy(), 0.9) << outcome.judged.test->loss;

    ASSERT_OK_AND_ASSIGN(const Model model, load_model(outcome.file));
    EXPECT_EQ(model.parameters, outcome.model.parameters);
    EXPECT_EQ(model.classes, (std::vector<std::string>{"inner", "middle", "outer"}));
    EXPECT_EQ(judge(model, options_for(out))->test->right, outcome.judged.test->right);
    ASSERT_OK_AND_ASSIGN(const Score all, score(model, rings(300)));
    EXPECT_GE(all.accuracy(), 0.9);
    ASSERT_OK_AND_ASSIGN(const std::vector<float> probabilities, predict(model, rings(3)));
    ASSERT_EQ(probabilities.size(), 9U);
    for (std::size_t row = 0; row < 3; ++row)
        EXPECT_NEAR(probabilities[3 * row] + probabilities[3 * row + 1] + probabilities[3 * row + 2], 1.0, 1e-5);

    ASSERT_OK_AND_ASSIGN(const ReplayedModel replayed, replay_learning(on(), options_for(out), out / "log.yolk"));
    EXPECT_EQ(replayed.replay.generation, 120U);
    ASSERT_OK_AND_ASSIGN(const LearnOutcome other, learn(on(), options_for(out)));
    EXPECT_EQ(other.previous, out / "previous-1");
    EXPECT_TRUE(std::filesystem::exists(out / "previous-1" / "model.safetensors"));
    EXPECT_EQ(other.search.state_hash, outcome.search.state_hash);
}

TEST_P(learning, resumes_to_the_same_bits) {
    const auto whole_options = [&](const char* name) {
        LearnOptions options = options_for(folder_.path() / name);
        options.generations = 20;
        options.held_out = 0.0;
        return options;
    };
    ASSERT_OK_AND_ASSIGN(const LearnOutcome whole, learn(on(), whole_options("whole")));
    LearnOptions cut = whole_options("cut");
    ASSERT_OK(learn(on(), cut, [](const hyper::GenerationReport& report) { return report.generation < 7; }));
    cut.resume = true;
    ASSERT_OK_AND_ASSIGN(const LearnOutcome resumed, learn(on(), cut));
    EXPECT_GT(resumed.search.resumed_from, 0U);
    EXPECT_EQ(resumed.search.state_hash, whole.search.state_hash);
    EXPECT_EQ(resumed.model.parameters, whole.model.parameters);
    cut.network.hidden = {17};
    EXPECT_TRUE(expect_error(learn(on(), cut), ErrorKind::BadInput, "checkpoint"));
}

TEST_P(learning, by_derivatives) {
    LearnOptions options = options_for({});
    options.gradient = hyper::GradientOptions{.learning_rate = 0.05F};
    ASSERT_OK_AND_ASSIGN(const LearnOutcome outcome, learn(on(), options));
    EXPECT_GE(outcome.judged.test->accuracy(), 0.9) << outcome.judged.test->loss;
    EXPECT_TRUE(outcome.file.empty());
}

TEST(learning_on_devices, same_bits_on_each) {
    LearnOptions options = options_for({});
    options.generations = 5;
    ASSERT_OK_AND_ASSIGN(const LearnOutcome first, learn(evolve::Devices(testing::first_device().dispatcher), options));
    ASSERT_OK_AND_ASSIGN(const LearnOutcome other, learn(evolve::Devices(testing::other_device().dispatcher), options));
    EXPECT_EQ(first.search.state_hash, other.search.state_hash);
    EXPECT_EQ(first.model.parameters, other.model.parameters);
}

TEST(learning_options, bad_ones) {
    const auto refused = [](const LearnOptions& options, const char* part) {
        EXPECT_TRUE(expect_error(learn(evolve::Devices::none(), options), ErrorKind::BadInput, part)) << part;
    };
    LearnOptions options = options_for({});
    options.network.hidden = {0};
    refused(options, "width of 0");
    options = options_for({});
    options.resume = true;
    refused(options, "no output folder");
    options = options_for({});
    options.held_out = 1.0;
    refused(options, "together below 1");
    options = options_for({});
    DataFolder folder;
    options.test_source = folder.write("t.csv", "x,y,kind\n1,2,inner\n1,2,strange\n");
    refused(options, "t.csv', line 3: the label 'strange' was not among those of the training: inner, middle, outer");
}

TEST(model_rows, of_another_shape_or_order) {
    Model model{.data = "d", .shape = {2}, .columns = {"x", "y"}, .classes = {"a", "b"}, .network = {.hidden = {}}};
    model.standardization = {.mean = {0, 0}, .scale = {1, 1}};
    model.parameters = {{1, 0, 0, 1}, {0, 0}};
    DataSet data{.name = "t", .shape = {2}, .columns = {"y", "x"}, .inputs = {3, 1}, .labels = {}, .lines = {}};
    EXPECT_TRUE(
        expect_error(predict(model, data), ErrorKind::BadInput, "column 0 is 'y', and the model has learned 'x'"));
    data.columns = {};
    ASSERT_OK_AND_ASSIGN(const std::vector<float> probabilities, predict(model, data));
    EXPECT_NEAR(probabilities[0], 1.0 / (1.0 + std::exp(-2.0)), 1e-6);
    data.shape = {1};
    EXPECT_TRUE(expect_error(predict(model, data), ErrorKind::BadInput, "rows of [1] inputs"));
}

}  // namespace
}  // namespace yolk::tasks
