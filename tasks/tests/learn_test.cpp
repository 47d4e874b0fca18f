// SPDX-License-Identifier: Apache-2.0
// Runs over a small data set: points of a plane in three clouds that no line separates from one another.
#include "yolk/learn.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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

/// Images of 6 x 5 with two channels: the first has a line, of three lengths, in one of two directions, somewhere.
DataSet lines(std::size_t rows, std::vector<std::uint32_t> shape = {6, 5, 2}) {
    DataSet data{.name = "lines", .shape = std::move(shape), .columns = {}, .inputs = {}, .labels = {}, .lines = {}};
    for (std::size_t i = 0; i < rows; ++i) {
        std::vector<float> image(60, 0.0F);
        const bool is_down = i % 2 == 0;
        const std::size_t length = 3 + i / 2 % 2, y = i / 4 % 3, x = i / 12 % 2 + (is_down ? i / 24 % 3 : 0);
        for (std::size_t k = 0; k < length; ++k)
            image[(is_down ? (y + k) * 5 + x : (y * 2 * 5 + std::min<std::size_t>(x + k, 4))) * 2] = 1.0F;
        for (std::size_t k = 1; k < 60; k += 2) image[k] = static_cast<float>((i * 7 + k * 3) % 11) / 11.0F;
        data.inputs.insert(data.inputs.end(), image.begin(), image.end());
        data.labels.emplace_back(is_down ? "down" : "across");
    }
    return data;
}
LearnOptions image_options(const std::filesystem::path& out) {
    LearnOptions options = options_for(out);
    options.given = std::make_shared<const DataSet>(lines(240));
    options.network = {.image_layers = parse_image_layers("4x3p1,max2,3x2,mean2s1p1").value(),
                       .hidden = {},
                       .activation = Activation::Tanh};
    options.generations = 80;
    return options;
}

TEST_P(learning, images_by_convolutions) {
    const std::filesystem::path out = folder_.path() / "images";
    ASSERT_OK_AND_ASSIGN(const LearnOutcome outcome, learn(on(), image_options(out)));
    EXPECT_GE(outcome.judged.test->accuracy(), 0.9) << outcome.judged.test->loss;
    ASSERT_OK_AND_ASSIGN(const Model model, load_model(outcome.file));
    EXPECT_EQ(model.network.image_layers, outcome.model.network.image_layers);
    EXPECT_EQ(model.parameters, outcome.model.parameters);
    // 6 x 5 x 2 to 6 x 5 x 4, pooled to 3 x 2 x 4, to 2 x 1 x 3, pooled to 3 x 2 x 3.
    ASSERT_EQ(model.parameters.size(), 6U);
    EXPECT_EQ(model.parameters[0].size(), 4U * 3 * 3 * 2);
    EXPECT_EQ(model.parameters[2].size(), 3U * 2 * 2 * 4);
    EXPECT_EQ(model.parameters[4].size(), 2U * 3 * 2 * 3);
    EXPECT_EQ(judge(model, image_options(out))->test->right, outcome.judged.test->right);
    ASSERT_OK_AND_ASSIGN(const ReplayedModel replayed, replay_learning(on(), image_options(out), out / "log.yolk"));
    EXPECT_EQ(replayed.model.parameters.size(), 6U);
    LearnOptions other = image_options(out);
    other.network.image_layers.pop_back();
    other.resume = true;
    EXPECT_TRUE(expect_error(learn(on(), other), ErrorKind::BadInput, "checkpoint"));
}

TEST_P(learning, images_by_derivatives) {
    LearnOptions options = image_options({});
    options.gradient = hyper::GradientOptions{.learning_rate = 0.02F};
    ASSERT_OK_AND_ASSIGN(const LearnOutcome outcome, learn(on(), options));
    EXPECT_GE(outcome.judged.test->accuracy(), 0.9) << outcome.judged.test->loss;
}

TEST(learning_on_devices, same_bits_of_images_on_each) {
    LearnOptions options = image_options({});
    options.generations = 5;
    ASSERT_OK_AND_ASSIGN(const LearnOutcome first, learn(evolve::Devices(testing::first_device().dispatcher), options));
    ASSERT_OK_AND_ASSIGN(const LearnOutcome other, learn(evolve::Devices(testing::other_device().dispatcher), options));
    EXPECT_EQ(first.search.state_hash, other.search.state_hash);
    EXPECT_EQ(first.model.parameters, other.model.parameters);
}

TEST(image_layers, as_texts) {
    for (const char* const text : {"8x3", "16x3s2p1", "1x1", "max2", "max3s2p1", "mean2s1", "8x3p1,max2,16x3s2"}) {
        ASSERT_OK_AND_ASSIGN(const std::vector<ImageLayer> layers, parse_image_layers(text));
        std::string again;
        for (const ImageLayer& layer : layers) again += (again.empty() ? "" : ",") + to_string(layer);
        EXPECT_EQ(again, text);
    }
    EXPECT_EQ(parse_image_layers("8x3s1p0")->front(), (ImageLayer{.channels = 8}));
    EXPECT_EQ(parse_image_layers("mean3").value().front().stride, 3U) << "a pooling's stride is its size";
    EXPECT_TRUE(parse_image_layers("")->empty());
    for (const char* const text : {"8", "x3", "8x", "8x3p1s2", "max", "maxx2", "8x3,", ",8x3", "8 x3", "-1x3", "8x3s",
                                   "8x3p", "99999999999x3", "min2"}) {
        EXPECT_TRUE(expect_error(parse_image_layers(text), ErrorKind::BadInput,
                                 "is no layer over images. '8x3' is a convolution"))
            << text;
    }
}

TEST(image_layers, that_do_not_fit) {
    const auto refused = [](const DataSet& data, const char* layers, const char* part) {
        LearnOptions options = image_options({});
        options.given = std::make_shared<const DataSet>(data);
        options.network.image_layers = parse_image_layers(layers).value();
        EXPECT_TRUE(expect_error(learn(evolve::Devices::none(), options), ErrorKind::BadInput, part)) << layers;
    };
    refused(lines(24), "8x7",
            "'8x7' needs an image of at least 7 x 7, and the one that comes to it is 6 x 5 with a padding");
    refused(lines(24), "4x3,max2,4x3", "'4x3' needs an image of at least 3 x 3, and the one that comes to it is 2 x 1");
    refused(lines(24), "0x3", "'0x3' over images has a number of channels of 0; it must be from 1 to 8192");
    refused(lines(24), "4x0", "size of 0");
    refused(lines(24), "4x3s0", "stride of 0; it must be from 1 to 1024");
    refused(lines(24), "4x3p3", "padding of 3; it must be from 0 to 2");
    refused(lines(24), "max2p2", "padding of 2; it must be from 0 to 1");
    refused(lines(24, {60}), "4x3",
            "rows of lines have [60] inputs. Images come from IDX files, folders, and .npy files");
    refused(lines(24, {3, 5, 2, 2}), "4x3", "rows of lines have [3, 5, 2, 2] inputs");
    refused(rings(24), "4x1", "rows of rings have [2] inputs");
    refused(lines(24), "1x1,1x1,1x1,1x1,1x1,1x1,1x1,1x1,1x1,1x1,1x1,1x1,1x1,1x1,1x1,1x1,1x1", "17 layers over images");
    refused(lines(24), "8192x1,4x5p4", "takes too much memory");
    Model model{.data = "d", .shape = {6, 5, 2}, .columns = {}, .classes = {"a", "b"}, .network = {}};
    model.network = image_options({}).network;
    DataSet grey = lines(3, {6, 10});
    EXPECT_TRUE(expect_error(predict(model, grey), ErrorKind::BadInput,
                             "'lines' has rows of [6, 10] inputs; the model, which learned d, takes [6, 5, 2]"));
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
