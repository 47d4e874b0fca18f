// SPDX-License-Identifier: Apache-2.0
// Runs that are cut off and go on.
#include <gtest/gtest.h>

#include <set>

#include "checkpoint.hpp"
#include "run_files.hpp"
#include "temporary_folder.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/json.hpp"
#include "yolk/train.hpp"

namespace yolk::train {
namespace {

using ::yolk::testing::expect_error;

TrainOptions resumable_run(const std::filesystem::path& out, OptimizerRule optimizer = OptimizerRule::Sgd) {
    return {.task = "cartpole",
            .evolution = {.population = 64,
                          .sigma_decay = 0.9F,
                          .learning_rate_decay = 0.95F,
                          .noise_reuse = 3,
                          .optimizer = optimizer,
                          .seed = 3},
            .network = {.widths = {4, 8, 2}},
            .generations = 6,
            .max_steps = 30,
            .out = out,
            .evaluation_episodes = 20};
}
OnGeneration until(std::uint32_t generations) {
    return [generations](const GenerationReport& report) { return report.generation + 1 < generations; };
}
OnGeneration never() {
    return [](const GenerationReport&) {
        ADD_FAILURE() << "training began";
        return false;
    };
}

class resuming : public ::yolk::testing::DeviceTest {
   protected:
    [[nodiscard]] std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }
    void expect_whole(OptimizerRule optimizer);
    TemporaryFolder folder_;
};
YOLK_FOR_EACH_DEVICE(resuming);

/// Cut off after 1 and again after 4 of 6 generations (so within a reused noise, and at its boundary), a run ends as
/// one that was not.
void resuming::expect_whole(OptimizerRule optimizer) {
    ASSERT_OK_AND_ASSIGN(const TrainOutcome whole, train(device(), resumable_run(file("whole"), optimizer)));
    TrainOptions options = resumable_run(file("parts"), optimizer);
    ASSERT_OK(train(device(), options, until(1)));
    options.resume = true;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome second, train(device(), options, until(4)));
    EXPECT_EQ(second.resumed_from, 1U);
    EXPECT_EQ(second.generations, 4U);
    std::vector<std::uint32_t> seen;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome third, train(device(), options, [&](const GenerationReport& report) {
                             seen.push_back(report.generation);
                             return true;
                         }));
    EXPECT_EQ(seen, (std::vector<std::uint32_t>{4, 5}));
    EXPECT_EQ(third.resumed_from, 4U);
    EXPECT_EQ(third.generations, 6U);
    EXPECT_GT(third.first_generation_seconds, 0.0);
    EXPECT_EQ(third.state_hash, whole.state_hash);
    EXPECT_EQ(third.eval_mean_return, whole.eval_mean_return);
    EXPECT_EQ(timeless(file("parts") / "metrics.jsonl"), timeless(file("whole") / "metrics.jsonl"));
    for (const char* const name : {"policy.safetensors", "checkpoint.yolk", "log.yolk"})
        EXPECT_EQ(text_of(file("parts") / name), text_of(file("whole") / name)) << name;
}
TEST_P(resuming, sgd_ends_as_if_never_interrupted) { expect_whole(OptimizerRule::Sgd); }
TEST_P(resuming, momentum_ends_as_if_never_interrupted) { expect_whole(OptimizerRule::Momentum); }
TEST_P(resuming, adam_ends_as_if_never_interrupted) { expect_whole(OptimizerRule::Adam); }

// As after a kill: metrics go beyond the checkpoint, and their last line is torn.
TEST_P(resuming, metrics_beyond_the_checkpoint_are_dropped) {
    ASSERT_OK(train(device(), resumable_run(file("whole"))));
    TrainOptions options = resumable_run(file("parts"));
    options.checkpoint_every = 2;
    options.log = false;  // which would bring the generations beyond, too
    std::string checkpoint;
    ASSERT_OK(train(device(), options, [&](const GenerationReport& report) {
        if (report.generation == 4) checkpoint = text_of(file("parts") / "checkpoint.yolk");
        return report.generation < 4;
    }));
    write_text(file("parts") / "checkpoint.yolk", checkpoint);
    write_text(file("parts") / "metrics.jsonl", text_of(file("parts") / "metrics.jsonl") + "{\"generation\":5,\"me");
    options.resume = true;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome outcome, train(device(), options));
    EXPECT_EQ(outcome.resumed_from, 4U);
    EXPECT_EQ(timeless(file("parts") / "metrics.jsonl"), timeless(file("whole") / "metrics.jsonl"));
}
/// `name` of each generation's line; empty where a line has none.
std::vector<std::string> named(const std::filesystem::path& path, const char* name) {
    std::vector<std::string> values;
    for (const std::string& line : timeless(path)) {
        const Json json = Json::parse(line);
        if (json.contains("generation")) values.push_back(json.value(name, std::string()));
    }
    return values;
}
// The state comes to the host where its hash is due, and where training ends; digests, bits and files are the same.
TEST_P(resuming, hashes_are_made_as_often_as_asked_and_runs_go_on_without) {
    ASSERT_OK_AND_ASSIGN(const TrainOutcome whole, train(device(), resumable_run(file("whole"), OptimizerRule::Adam)));
    const std::vector<std::string> hashes = named(file("whole") / "metrics.jsonl", "state_hash");
    const std::vector<std::string> digests = named(file("whole") / "metrics.jsonl", "state_digest");
    ASSERT_EQ(hashes.size(), 6U);
    EXPECT_EQ(std::set<std::string>(digests.begin(), digests.end()).size(), 6U);
    for (const std::uint32_t every : {0U, 2U, 4U}) {
        SCOPED_TRACE(every);
        TrainOptions options = resumable_run(file("rarely" + std::to_string(every)), OptimizerRule::Adam);
        options.hash_every = every;
        ASSERT_OK_AND_ASSIGN(const TrainOutcome half, train(device(), options, until(3)));  // its line has no hash
        EXPECT_EQ(half.state_hash, hashes[2]);
        options.resume = true;
        ASSERT_OK_AND_ASSIGN(const TrainOutcome rest, train(device(), options));
        EXPECT_EQ(rest.resumed_from, 3U);
        EXPECT_EQ(rest.state_hash, whole.state_hash);
        EXPECT_EQ(rest.eval_mean_return, whole.eval_mean_return);
        EXPECT_EQ(named(options.out / "metrics.jsonl", "state_digest"), digests);
        const std::vector<std::string> some = named(options.out / "metrics.jsonl", "state_hash");
        ASSERT_EQ(some.size(), 6U);
        for (std::uint32_t g = 0; g < 6; ++g) {
            const bool due = g == 5 || (every != 0 && (g + 1) % every == 0);
            EXPECT_EQ(some[g], due ? hashes[g] : "") << g;
        }
        for (const char* const name : {"policy.safetensors", "checkpoint.yolk", "log.yolk"})
            EXPECT_EQ(text_of(options.out / name), text_of(file("whole") / name)) << name;
    }
}
TEST_P(resuming, line_of_another_digest_does_not_lead_up_to_the_checkpoint) {
    TrainOptions options = resumable_run(file("out"));
    options.hash_every = 0;
    ASSERT_OK(train(device(), options, until(2)));
    options.resume = true;
    std::string metrics = text_of(file("out") / "metrics.jsonl");
    const std::size_t at = metrics.rfind("state_digest") + std::string("state_digest\":\"").size();
    metrics[at] = metrics[at] == '0' ? '1' : '0';
    write_text(file("out") / "metrics.jsonl", metrics);
    EXPECT_TRUE(expect_error(train(device(), options, never()), ErrorKind::BadInput, "does not lead up"));
}
TEST_P(resuming, checkpoints_have_their_hash_whatever_is_asked_for) {
    TrainOptions options = resumable_run(file("out"));
    options.hash_every = 0;
    options.checkpoint_every = 2;
    ASSERT_OK(train(device(), options, [&](const GenerationReport& report) {
        const bool due = report.generation % 2 == 1;
        EXPECT_EQ(report.state_hash.empty(), !due) << report.generation;
        EXPECT_EQ(report.state_digest.size(), 32U);
        if (!due) return true;
        EXPECT_EQ(load_checkpoint(file("out") / "checkpoint.yolk")->state_hash, report.state_hash);
        return true;
    }));
}
TEST_P(resuming, finished_run_stays_and_can_be_extended) {
    ASSERT_OK_AND_ASSIGN(const TrainOutcome whole, train(device(), resumable_run(file("whole"))));
    TrainOptions options = resumable_run(file("parts"));
    options.generations = 3;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome half, train(device(), options));
    options.resume = true;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome again, train(device(), options, never()));
    EXPECT_EQ(again.state_hash, half.state_hash);
    EXPECT_EQ(again.eval_mean_return, half.eval_mean_return);
    options.generations = 6;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome extended, train(device(), options));
    EXPECT_EQ(extended.state_hash, whole.state_hash);
    EXPECT_EQ(timeless(file("parts") / "metrics.jsonl"), timeless(file("whole") / "metrics.jsonl"));
}
TEST_P(resuming, refusals_change_nothing) {
    TrainOptions options = resumable_run(file("out"));
    options.resume = true;
    EXPECT_TRUE(expect_error(train(device(), options, never()), ErrorKind::Io, "There is no checkpoint"));
    EXPECT_FALSE(std::filesystem::exists(file("out")));
    options.resume = false;
    ASSERT_OK(train(device(), options, until(2)));
    options.resume = true;
    const std::string metrics = text_of(file("out") / "metrics.jsonl");
    const std::string checkpoint = text_of(file("out") / "checkpoint.yolk");

    options.evolution.sigma = 0.3F;
    EXPECT_TRUE(
        expect_error(train(device(), options, never()), ErrorKind::BadInput, "sigma '0.2', but '0.3' was given"));
    options.evolution.sigma = 0.2F;
    write_text(file("out") / "checkpoint.yolk", checkpoint.substr(0, checkpoint.size() / 2));
    options.log = false;  // which would do in its place
    EXPECT_TRUE(expect_error(train(device(), options, never()), ErrorKind::BadInput, "checkpoint.yolk"));
    options.log = true;
    EXPECT_EQ(text_of(file("out") / "checkpoint.yolk").size(), checkpoint.size() / 2);
    EXPECT_EQ(text_of(file("out") / "metrics.jsonl"), metrics);

    write_text(file("out") / "checkpoint.yolk", checkpoint);
    for (const std::string& other : {metrics.substr(0, metrics.size() - 1), std::string("mine"), std::string()}) {
        write_text(file("out") / "metrics.jsonl", other);
        EXPECT_TRUE(expect_error(train(device(), options, never()), ErrorKind::BadInput, "does not lead up"));
        EXPECT_EQ(text_of(file("out") / "metrics.jsonl"), other);
    }
    std::filesystem::remove(file("out") / "metrics.jsonl");
    EXPECT_OK(train(device(), options));
    EXPECT_EQ(timeless(file("out") / "metrics.jsonl").size(), 5U);  // settings, generations 2 to 5
    options.generations = 7;
    EXPECT_OK(train(device(), options));
    EXPECT_EQ(timeless(file("out") / "metrics.jsonl").size(), 6U);
}
TEST_P(resuming, checkpoints_need_a_folder) {
    TrainOptions options = resumable_run({});
    options.resume = true;
    EXPECT_TRUE(expect_error(train(device(), options, never()), ErrorKind::BadInput, "output folder"));
    options.resume = false;
    options.checkpoint_every = 1;
    EXPECT_TRUE(expect_error(train(device(), options, never()), ErrorKind::BadInput, "output folder"));
}

}  // namespace
}  // namespace yolk::train
