// SPDX-License-Identifier: Apache-2.0
// Training over a family of devices made by formula, one of which is unlike the others.
#include "yolk/autotune/train_prior.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "surfaces.hpp"
#include "yolk/autotune/replay.hpp"
#include "yolk/testing/device_test.hpp"

namespace yolk::autotune {
namespace {

using ::testing::HasSubstr;

RecordedSurface named(const RecordedSurface& surface, std::string device) {
    return RecordedSurface::of(surface.candidates(), {surface.costs().begin(), surface.costs().end()},
                               std::move(device), "product")
        .value();
}

/// `count` devices along a line, and one that likes the opposite.
std::vector<RecordedSurface> family(int count) {
    std::vector<RecordedSurface> devices;
    for (int d = 0; d < count; ++d)
        devices.push_back(named(tiled_product(-1.0 + 0.6 * d), "device " + std::to_string(d)));
    const RecordedSurface like = tiled_product(0.3);
    std::vector<double> costs(like.costs().begin(), like.costs().end());
    for (double& cost : costs) cost = std::isfinite(cost) ? 1.0 / cost : cost;
    devices.push_back(RecordedSurface::of(like.candidates(), std::move(costs), "outlier", "product").value());
    return devices;
}

class train_prior_on : public testing::DeviceTest {
   protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("yolk-prior-" + std::to_string(::getpid()));
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] Result<TrainPriorOutcome> train(const TrainPriorOptions& options,
                                                  std::span<const RecordedSurface> held_out = {}) const {
        return train_prior(device(), dispatcher(), devices_, held_out, options);
    }
    [[nodiscard]] static TrainPriorOptions small() {
        return {.seed = 7, .generations = 3, .population = 4, .budget = 12, .candidate_limit = 150, .final_repeats = 1};
    }
    std::vector<RecordedSurface> devices_ = family(4);
    std::filesystem::path folder_;
};
YOLK_FOR_EACH_DEVICE(train_prior_on);

// The seed decides, whatever the threads; another seed trains otherwise.
TEST_P(train_prior_on, is_deterministic_and_goes_on_where_it_was_stopped) {
    TrainPriorOptions options = small();
    options.threads = 1;
    ASSERT_OK_AND_ASSIGN(const TrainPriorOutcome one, train(options));
    options.threads = 3;
    options.checkpoint = folder_ / "checkpoint";
    options.progress = [&](const TrainPriorProgress& progress) {
        TrainPriorOptions second = options;
        second.progress = {};
        EXPECT_TRUE(testing::expect_error(train(second), ErrorKind::Io, "checkpoint' is being written by process"));
        return progress.generation < 2;
    };
    ASSERT_OK_AND_ASSIGN(const TrainPriorOutcome stopped, train(options));
    EXPECT_TRUE(stopped.interrupted);
    EXPECT_TRUE(std::filesystem::exists(options.checkpoint));
    options.progress = {};
    ASSERT_OK_AND_ASSIGN(const TrainPriorOutcome resumed, train(options));
    EXPECT_EQ(resumed.resumed_at, 2U);
    EXPECT_FALSE(std::filesystem::exists(options.checkpoint));
    EXPECT_EQ(resumed.trained_score, one.trained_score);
    EXPECT_EQ(prior_text(resumed.file), prior_text(one.file));
    options.seed = 8;
    ASSERT_OK_AND_ASSIGN(const TrainPriorOutcome other, train(options));
    EXPECT_NE(other.trained_score, one.trained_score);
}

TEST_P(train_prior_on, a_checkpoint_of_something_else_is_left_out) {
    TrainPriorOptions options = small();
    options.generations = 1;
    options.checkpoint = folder_ / "checkpoint";
    for (const char* text : {"", "{", R"({"yolk_prior_checkpoint": 1, "fingerprint": "x", "generation": 1})"}) {
        std::ofstream(options.checkpoint) << text;
        ASSERT_OK_AND_ASSIGN(const TrainPriorOutcome outcome, train(options));
        EXPECT_EQ(outcome.resumed_at, 0U);
    }
}

TEST_P(train_prior_on, another_file_in_the_checkpoints_place_is_refused) {
    TrainPriorOptions options = small();
    options.generations = 1;
    options.checkpoint = folder_ / "checkpoint";
    std::ofstream(options.checkpoint) << "a letter";
    const auto refused = train(options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::BadInput);
    EXPECT_EQ(std::filesystem::file_size(options.checkpoint), 8U);
}

// What is written is never worse than the untrained prior beyond the noise: on devices that nobody trained on, too.
TEST_P(train_prior_on, is_not_worse_on_held_out_devices) {
    std::vector<RecordedSurface> held_out;
    held_out.push_back(named(tiled_product(0.1), "new 1"));
    held_out.push_back(named(tiled_product(1.1), "new 2"));
    TrainPriorOptions options = small();
    options.final_repeats = 3;
    ASSERT_OK_AND_ASSIGN(const TrainPriorOutcome trained, train(options, held_out));
    EXPECT_EQ(trained.compared, 12U);  // two devices, three searches, with a prior and without
    EXPECT_EQ(trained.trained, trained.trained_score > trained.untrained_score + 2.0 * trained.standard_error);
    options.generations = 0;
    ASSERT_OK_AND_ASSIGN(const TrainPriorOutcome untrained, train(options, held_out));
    const RecordedSurface fresh = tiled_product(0.7);
    const auto reached = [&](const PriorFile& file) {
        ReplayOptions replays{.tuner = {.budget = 24}, .repeats = 2};
        replays.tuner.prior =
            std::make_shared<const DevicePrior>(prior_for(file, fresh.candidates(), "product").value());
        replays.tuner.settings.natural = file.settings;
        return replay(fresh, replays).value().mean(24);
    };
    EXPECT_GT(reached(trained.file), reached(untrained.file) - 0.02);
    EXPECT_GT(reached(untrained.file), 0.9);  // the outlier among the recordings does not spoil it
}

TEST_P(train_prior_on, bad_input_is_refused) {
    TrainPriorOptions options = small();
    EXPECT_FALSE(train_prior(device(), dispatcher(), {}, {}, options));
    options.population = 3;
    const Result<TrainPriorOutcome> odd = train(options);
    ASSERT_FALSE(odd);
    EXPECT_THAT(odd.error().message, HasSubstr("even"));
    options = small();
    options.budget = 0;
    EXPECT_FALSE(train(options));
}

}  // namespace
}  // namespace yolk::autotune
