// SPDX-License-Identifier: Apache-2.0
// Runs that go on by their log, where it is ahead of the checkpoint.
#include <gtest/gtest.h>

#include "checkpoint.hpp"
#include "temporary_folder.hpp"
#include "yolk/internal/core/seal.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/json.hpp"
#include "yolk/run_log.hpp"
#include "yolk/train.hpp"

namespace yolk::train {
namespace {

using ::yolk::testing::expect_error;

TrainOptions run_by_log(const std::filesystem::path& out) {
    return {.task = "cartpole",
            .evolution =
                {.population = 32, .sigma_decay = 0.9F, .noise_reuse = 3, .optimizer = OptimizerRule::Adam, .seed = 3},
            .network = {.widths = {4, 8, 2}},
            .generations = 6,
            .stop_when_solved = false,
            .max_steps = 30,
            .out = out,
            .evaluation_episodes = 2,
            .rollout_config = RolloutConfig{.unrolled = false}};  // quick to compile
}

class resuming_by_log : public ::yolk::testing::DeviceTest {
   protected:
    [[nodiscard]] std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }
    /// A whole run, and the folder that a kill after generation 5 leaves, with a checkpoint of `saved` (0: none).
    void make_killed(std::uint32_t saved, const TrainOptions& options) {
        TrainOptions whole = options;
        whole.out = file("whole");
        ASSERT_OK_AND_ASSIGN(whole_, train(device(), whole));
        TrainOptions parts = options;
        parts.checkpoint_every = saved;
        std::string checkpoint;
        ASSERT_OK(train(device(), parts, [&](const GenerationReport& report) {
            if (report.generation + 1 == saved) checkpoint = text_of(options.out / "checkpoint.yolk");
            return report.generation < 4;
        }));
        std::filesystem::remove(options.out / "policy.safetensors");
        std::filesystem::remove(options.out / "checkpoint.yolk");
        if (saved != 0) write_text(options.out / "checkpoint.yolk", checkpoint);
    }
    void expect_whole(const TrainOptions& options, std::uint32_t resumed_from) {
        TrainOptions again = options;
        again.resume = true;
        ASSERT_OK_AND_ASSIGN(const TrainOutcome outcome, train(device(), again));
        EXPECT_EQ(outcome.resumed_from, resumed_from);
        EXPECT_EQ(outcome.state_hash, whole_.state_hash);
        EXPECT_EQ(outcome.eval_mean_return, whole_.eval_mean_return);
        for (const char* const name : {"policy.safetensors", "checkpoint.yolk", "log.yolk"})
            EXPECT_EQ(text_of(options.out / name), text_of(file("whole") / name)) << name;
    }
    TrainOutcome whole_;
    TemporaryFolder folder_;
};
YOLK_FOR_EACH_DEVICE(resuming_by_log);

OnGeneration no_training() {
    return [](const GenerationReport&) {
        ADD_FAILURE() << "training began";
        return false;
    };
}

TEST_P(resuming_by_log, goes_on_after_its_last_generation) {
    const TrainOptions options = run_by_log(file("parts"));
    make_killed(2, options);
    expect_whole(options, 5);
}
TEST_P(resuming_by_log, a_torn_tail_loses_one_generation) {
    const TrainOptions options = run_by_log(file("parts"));
    make_killed(2, options);
    std::filesystem::resize_file(options.out / "log.yolk", std::filesystem::file_size(options.out / "log.yolk") - 3);
    expect_whole(options, 4);
}
TEST_P(resuming_by_log, needs_no_checkpoint) {
    const TrainOptions options = run_by_log(file("parts"));
    make_killed(0, options);
    expect_whole(options, 5);
}
TEST_P(resuming_by_log, passes_over_a_damaged_checkpoint_and_says_so) {
    const TrainOptions options = run_by_log(file("parts"));
    make_killed(2, options);
    const std::string checkpoint = text_of(options.out / "checkpoint.yolk");
    write_text(options.out / "checkpoint.yolk", checkpoint.substr(0, checkpoint.size() / 2));
    ::testing::internal::CaptureStderr();
    expect_whole(options, 5);
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("The log alone is used: "), std::string::npos) << said;
    // One that a later version wrote may be further than the log.
    std::string later = checkpoint;
    later.replace(later.find("yolk-checkpoint-2"), 17, "yolk-checkpoint-3");
    ASSERT_TRUE(seal(std::as_writable_bytes(std::span(later))));
    write_text(options.out / "checkpoint.yolk", later);
    TrainOptions again = options;
    again.resume = true;
    EXPECT_TRUE(expect_error(train(device(), again, no_training()), ErrorKind::BadInput,
                             "which a later version of Yolk wrote"));
}
TEST_P(resuming_by_log, passes_over_a_checkpoint_in_an_earlier_format_and_says_so) {
    const TrainOptions options = run_by_log(file("parts"));
    make_killed(2, options);
    write_text(options.out / "checkpoint.yolk", std::string("YOLKRUN\n\1\0\0\0", 12));
    ::testing::internal::CaptureStderr();
    expect_whole(options, 5);
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("which an earlier version of Yolk wrote"), std::string::npos) << said;
}
// After a power failure the metrics may lack what the log has.
TEST_P(resuming_by_log, goes_no_further_than_the_metrics_lead) {
    const TrainOptions options = run_by_log(file("parts"));
    make_killed(2, options);
    std::string metrics = text_of(options.out / "metrics.jsonl");
    metrics.resize(metrics.rfind('\n', metrics.size() - 2) + 1);  // generation 4's line
    write_text(options.out / "metrics.jsonl", metrics + "{\"gener");
    expect_whole(options, 4);
}
// Runs by turns with and without a log: where the log lacks generations, a new one begins at the checkpoint.
TEST_P(resuming_by_log, a_gap_begins_a_new_log) {
    TrainOptions options = run_by_log(file("parts"));
    make_killed(2, options);
    options.resume = true;
    options.log = false;
    options.generations = 3;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome without, train(device(), options));
    EXPECT_EQ(without.resumed_from, 2U);  // the log is not read
    std::filesystem::resize_file(options.out / "log.yolk", std::filesystem::file_size(options.out / "log.yolk") - 400);
    options.log = true;
    options.generations = 6;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome outcome, train(device(), options));
    EXPECT_EQ(outcome.resumed_from, 3U);
    EXPECT_EQ(outcome.state_hash, whole_.state_hash);
    ASSERT_OK_AND_ASSIGN(const evolve::RunLogReader log, evolve::RunLogReader::open(options.out / "log.yolk"));
    EXPECT_EQ(log.header().first_generation, 3U);
    EXPECT_EQ(log.generations(), 6U);
}
TEST_P(resuming_by_log, a_run_without_a_log_removes_an_old_one) {
    TrainOptions options = run_by_log(file("parts"));
    options.generations = 2;
    ASSERT_OK(train(device(), options));
    options.evolution.seed = 4;
    options.log = false;
    ASSERT_OK(train(device(), options, [&](const GenerationReport&) {
        EXPECT_FALSE(std::filesystem::exists(options.out / "log.yolk"));
        return true;
    }));
    options.resume = true;
    EXPECT_OK(train(device(), options, no_training()));
}
TEST_P(resuming_by_log, a_log_of_another_run_or_a_damaged_one_is_refused) {
    TrainOptions options = run_by_log(file("parts"));
    make_killed(0, options);
    options.resume = true;
    const std::string log = text_of(options.out / "log.yolk");
    const std::string metrics = text_of(options.out / "metrics.jsonl");
    TrainOptions other = options;
    other.evolution.sigma = 0.3F;
    EXPECT_TRUE(expect_error(train(device(), other, no_training()), ErrorKind::BadInput,
                             "log.yolk' is of a run with sigma '0.2', but '0.3' was given"));
    other = options;
    other.generations = 4;
    EXPECT_TRUE(expect_error(train(device(), other, no_training()), ErrorKind::BadInput,
                             "has 5 generations already, but at most 4 were asked for"));
    std::string damaged = log;
    damaged[damaged.size() - 200] ^= 1;
    write_text(options.out / "log.yolk", damaged);
    EXPECT_TRUE(expect_error(train(device(), options, no_training()), ErrorKind::BadInput, "damaged at generation 2"));
    damaged = log;
    damaged[8] = 3;
    write_text(options.out / "log.yolk", damaged);
    EXPECT_TRUE(expect_error(train(device(), options, no_training()), ErrorKind::BadInput, "log version 3"));
    write_text(options.out / "log.yolk", "mine");
    EXPECT_TRUE(expect_error(train(device(), options, no_training()), ErrorKind::BadInput, "is not the log of a run"));
    EXPECT_EQ(text_of(options.out / "metrics.jsonl"), metrics);
    EXPECT_EQ(text_of(options.out / "log.yolk"), "mine");
}
// The checksums are right, and yet the weights are not those of the run.
TEST_P(resuming_by_log, a_generation_that_leads_elsewhere_is_named) {
    TrainOptions options = run_by_log(file("parts"));
    make_killed(2, options);
    const std::filesystem::path path = options.out / "log.yolk";
    {
        ASSERT_OK_AND_ASSIGN(const evolve::RunLogReader log, evolve::RunLogReader::open(path));
        evolve::RunLogWriter changed = evolve::RunLogWriter::replace(file("changed"), log.header());
        for (std::uint32_t g = 0; g < log.generations(); ++g) {
            ASSERT_OK_AND_ASSIGN(evolve::LoggedGeneration logged, log.read(g));
            if (g == 3)
                logged.shaped.integer_weights[0] = static_cast<std::int8_t>(-logged.shaped.integer_weights[0] - 1);
            ASSERT_OK(changed.append(logged));
        }
    }
    std::filesystem::rename(file("changed"), path);
    options.resume = true;
    EXPECT_TRUE(expect_error(train(device(), options, no_training()), ErrorKind::Failed, "Replaying generation 3 of"));
}
TEST_P(resuming_by_log, divergence_without_hashes_saves_the_last_good_state) {
    TrainOptions options = run_by_log(file("out"));
    options.evolution = {
        .population = 32, .learning_rate = 1e38F, .optimizer = OptimizerRule::Momentum, .beta1 = 0.999F, .seed = 3};
    options.generations = 30;
    std::string last;
    std::uint32_t good = 0;
    ASSERT_FALSE(train(device(), options, [&](const GenerationReport& report) {
        last = report.state_hash;
        good = report.generation + 1;
        return true;
    }));
    ASSERT_GE(good, 2U);
    for (const std::uint32_t every : {0U, good - 1}) {
        options.hash_every = every;
        EXPECT_TRUE(expect_error(train(device(), options), ErrorKind::Failed,
                                 "The last good state, after " + std::to_string(good) + " generation"));
        ASSERT_OK_AND_ASSIGN(const Checkpoint saved, load_checkpoint(options.out / "checkpoint.yolk"));
        EXPECT_EQ(saved.generation, good);
        EXPECT_EQ(saved.state_hash, last);
    }
}

}  // namespace
}  // namespace yolk::train
