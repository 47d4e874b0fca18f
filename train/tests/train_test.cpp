// SPDX-License-Identifier: Apache-2.0
#include "yolk/train.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "process_clock.hpp"
#include "task_setup.hpp"
#include "temporary_folder.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/json.hpp"

namespace yolk::train {
namespace {

using ::yolk::testing::expect_error;

TrainOptions short_run(const std::filesystem::path& out) {
    return {.task = "cartpole",
            .evolution = {.population = 64, .seed = 3},
            .network = {.widths = {4, 8, 2}},
            .generations = 3,
            .max_steps = 30,
            .out = out,
            .evaluation_episodes = 20};
}
std::vector<Json> lines_of(const std::filesystem::path& path) {
    std::vector<Json> lines;
    std::istringstream text(text_of(path));
    for (std::string line; std::getline(text, line);) {
        const Result<Json> json = parse_json(line, "a line of metrics.jsonl");
        EXPECT_OK(json);
        if (json) lines.push_back(*json);
    }
    return lines;
}
std::size_t entries(const std::filesystem::path& folder) {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

class training : public ::yolk::testing::DeviceTest {
   protected:
    TemporaryFolder folder_;
};
YOLK_FOR_EACH_DEVICE(training);

TEST_P(training, whole_run_writes_equals_its_twin_and_evaluates) {
    const std::filesystem::path out = folder_.path() / "a" / "b";
    const TrainOptions options = short_run(out);
    std::vector<GenerationReport> reports;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome outcome, train(device(), options, [&](const GenerationReport& report) {
                             reports.push_back(report);
                             return true;
                         }));
    EXPECT_EQ(outcome.generations, 3U);
    EXPECT_FALSE(outcome.solved);
    ASSERT_EQ(reports.size(), 3U);

    std::vector<GenerationReport> twin_reports;
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> hashes,
                         train_twin(options, [&](const GenerationReport& report) {
                             twin_reports.push_back(report);
                             return true;
                         }));
    ASSERT_EQ(hashes.size(), 3U);
    ASSERT_EQ(twin_reports.size(), 3U);
    for (std::size_t g = 0; g < 3; ++g) {
        EXPECT_EQ(reports[g].generation, g);
        EXPECT_EQ(reports[g].state_hash, hashes[g]);
        EXPECT_EQ(reports[g].mean_return, twin_reports[g].mean_return);
        EXPECT_EQ(reports[g].best_return, twin_reports[g].best_return);
        EXPECT_EQ(reports[g].policy_return, twin_reports[g].policy_return);
        EXPECT_EQ(reports[g].evaluations, twin_reports[g].evaluations);
        EXPECT_GT(reports[g].evaluations_per_second, 0.0);
        EXPECT_GE(reports[g].evaluations, 64U);
        EXPECT_LE(reports[g].evaluations, 64U * 30U);
    }
    EXPECT_EQ(outcome.state_hash, hashes.back());
    EXPECT_GT(outcome.first_generation_seconds, reports[0].seconds);
    EXPECT_GE(outcome.seconds, reports[2].seconds);
    EXPECT_GT(outcome.counts.dispatches, 0U);
    EXPECT_GE(outcome.eval_mean_return, 1.0);
    EXPECT_LE(outcome.eval_mean_return, 30.0);

    EXPECT_EQ(entries(out), 4U);
    const std::vector<Json> lines = lines_of(out / "metrics.jsonl");
    ASSERT_EQ(lines.size(), 4U);
    EXPECT_EQ(lines[0]["settings"]["population"], 64);
    EXPECT_EQ(lines[0]["settings"]["sigma"], 0.2);
    for (std::size_t g = 0; g < 3; ++g) EXPECT_EQ(lines[g + 1]["state_hash"], hashes[g]);

    EXPECT_EQ(outcome.policy, out / "policy.safetensors");
    ASSERT_OK_AND_ASSIGN(const EvalOutcome first,
                         evaluate_policy(device(), outcome.policy, {.episodes = 10, .seed = 3}));
    EXPECT_EQ(first.task, "cartpole");
    EXPECT_EQ(first.episodes, 10U);
    EXPECT_LE(first.worst_return, first.mean_return);
    EXPECT_LE(first.mean_return, first.best_return);
    EXPECT_GE(first.worst_return, 1.0);
    ASSERT_OK_AND_ASSIGN(const EvalOutcome again,
                         evaluate_policy(device(), outcome.policy, {.episodes = 10, .seed = 3}));
    EXPECT_EQ(again.mean_return, first.mean_return);
    EXPECT_EQ(again.deviation, first.deviation);
}
TEST_P(training, tile_configurations_change_nothing) {
    TrainOptions options = short_run({});
    options.generations = 2;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome defaults, train(device(), options));
    options.rollout_config = RolloutConfig{.workgroup_size = 8};
    options.pairs_per_slice = 5;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome other, train(device(), options));
    EXPECT_EQ(defaults.state_hash, other.state_hash);
    EXPECT_EQ(defaults.eval_mean_return, other.eval_mean_return);
    EXPECT_TRUE(defaults.policy.empty());
}
TEST_P(training, callback_ends_it_and_what_was_learned_is_kept) {
    TrainOptions options = short_run(folder_.path());
    ASSERT_OK_AND_ASSIGN(const TrainOutcome outcome,
                         train(device(), options, [](const GenerationReport& r) { return r.generation < 1; }));
    EXPECT_EQ(outcome.generations, 2U);
    EXPECT_TRUE(std::filesystem::exists(outcome.policy));
    options.stop_when_solved = false;
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> hashes, train_twin(options));
    EXPECT_EQ(outcome.state_hash, hashes[1]);
}
TEST_P(training, later_run_replaces_the_files) {
    write_text(folder_.path() / "metrics.jsonl", "old\nold\nold\nold\nold\nold\n");
    write_text(folder_.path() / "policy.safetensors", "old");
    TrainOptions options = short_run(folder_.path());
    options.generations = 1;
    ASSERT_OK(train(device(), options));
    EXPECT_EQ(lines_of(folder_.path() / "metrics.jsonl").size(), 2U);
    EXPECT_EQ(entries(folder_.path()), 5U);  // the old ones are in a folder
    EXPECT_EQ(text_of(folder_.path() / "previous-1" / "policy.safetensors"), "old");
    EXPECT_OK(evaluate_policy(device(), folder_.path() / "policy.safetensors", {.episodes = 1}));
}
TEST_P(training, folder_that_cannot_be_written_is_told_before_training) {
    const std::filesystem::path file = folder_.path() / "file";
    write_text(file, "mine");
    const auto never = [](const GenerationReport&) {
        ADD_FAILURE() << "training began";
        return false;
    };
    EXPECT_TRUE(expect_error(train(device(), short_run(file / "out"), never), ErrorKind::Io, "nothing was begun"));
    EXPECT_TRUE(expect_error(train(device(), short_run(file), never), ErrorKind::Io, "nothing was begun"));
    EXPECT_TRUE(expect_error(train(device(), short_run("/proc/yolk-out"), never), ErrorKind::Io, "/proc/yolk-out"));
    std::filesystem::create_directories(folder_.path() / "policy.safetensors");
    EXPECT_TRUE(expect_error(train(device(), short_run(folder_.path()), never), ErrorKind::Io, "in the way"));
    EXPECT_EQ(text_of(file), "mine");
    EXPECT_EQ(entries(folder_.path()), 2U);
}
TEST_P(training, errors_leave_the_files_untouched) {
    write_text(folder_.path() / "metrics.jsonl", "old metrics");
    write_text(folder_.path() / "policy.safetensors", "old policy");
    TrainOptions options = short_run(folder_.path());
    options.pairs_per_slice = 0;  // refused by the kernel's plan, after all that needs no device
    EXPECT_EQ(train(device(), options).error().kind, ErrorKind::BadInput);
    options = short_run(folder_.path());
    options.task = "chess";
    EXPECT_TRUE(expect_error(train(device(), options), ErrorKind::BadInput, "chess"));
    EXPECT_EQ(text_of(folder_.path() / "metrics.jsonl"), "old metrics");
    EXPECT_EQ(text_of(folder_.path() / "policy.safetensors"), "old policy");
    EXPECT_EQ(entries(folder_.path()), 2U);
}
TEST_P(training, divergence_is_an_error_that_says_what_to_do) {
    TrainOptions options = short_run({});
    options.evolution.learning_rate = 3e38F;
    options.evolution.optimizer = OptimizerRule::Momentum;
    options.evolution.beta1 = 0.999F;  // keeps going when scores do not differ any more, until fp32 overflows
    options.generations = 30;
    EXPECT_TRUE(expect_error(train(device(), options), ErrorKind::Failed, "Lower the learning rate"));
}
TEST_P(training, divergence_keeps_the_last_finite_state) {
    TrainOptions options = short_run(folder_.path());
    options.evolution.learning_rate = 3e38F;
    options.evolution.optimizer = OptimizerRule::Momentum;
    options.evolution.beta1 = 0.999F;
    options.generations = 30;
    std::vector<std::string> hashes;
    const auto diverged = train(device(), options, [&](const GenerationReport& report) {
        hashes.push_back(report.state_hash);
        return true;
    });
    ASSERT_FALSE(hashes.empty());
    ASSERT_LT(hashes.size(), 30U);
    EXPECT_TRUE(expect_error(diverged, ErrorKind::Failed,
                             "The last good state, after " + std::to_string(hashes.size()) + " generation"));
    EXPECT_EQ(entries(folder_.path()), 4U);
    EXPECT_OK(evaluate_policy(device(), folder_.path() / "policy.safetensors", {.episodes = 2}));
    // That state can be gone on from, and diverges again.
    options.resume = true;
    options.generations = static_cast<std::uint32_t>(hashes.size());
    ASSERT_OK_AND_ASSIGN(const TrainOutcome kept, train(device(), options));
    EXPECT_EQ(kept.resumed_from, hashes.size());
    EXPECT_EQ(kept.state_hash, hashes.back());
    options.generations = 30;
    EXPECT_TRUE(expect_error(train(device(), options), ErrorKind::Failed,
                             "The last good state, after " + std::to_string(hashes.size() + 9) + " generation"));
    EXPECT_EQ(entries(folder_.path()), 4U);
}
TEST_P(training, divergence_without_hashes_or_a_log_keeps_the_last_hashed_state) {
    TrainOptions options = short_run(folder_.path());
    options.evolution.learning_rate = 1e38F;  // overflows after a few generations
    options.evolution.optimizer = OptimizerRule::Momentum;
    options.evolution.beta1 = 0.999F;
    options.generations = 30;
    options.hash_every = 0;
    options.log = false;
    EXPECT_TRUE(expect_error(train(device(), options), ErrorKind::Failed, "No state of this run had been hashed"));
    EXPECT_EQ(entries(folder_.path()), 1U);  // the metrics
    options.hash_every = 1;
    std::uint32_t good = 0;
    const auto count = [&good](const GenerationReport& report) {
        good = report.generation + 1;
        return true;
    };
    EXPECT_FALSE(train(device(), options, count));
    options.hash_every = good - 1;
    ASSERT_GE(good, 3U);
    EXPECT_TRUE(expect_error(train(device(), options), ErrorKind::Failed,
                             "The last hashed state, after " + std::to_string(good - 1) + " generation"));
}
TEST_P(training, second_run_in_a_folder_is_refused_while_the_first_runs) {
    TrainOptions options = short_run(folder_.path() / "out");
    bool tried = false;
    ASSERT_OK(train(device(), options, [&](const GenerationReport& report) {
        if (report.generation != 1) return true;
        tried = true;
        const std::string metrics = text_of(options.out / "metrics.jsonl");
        EXPECT_TRUE(expect_error(train(device(), options), ErrorKind::Io, "is being written by process"));
        EXPECT_EQ(text_of(options.out / "metrics.jsonl"), metrics);
        return true;
    }));
    EXPECT_TRUE(tried);
    EXPECT_EQ(lines_of(options.out / "metrics.jsonl").size(), 4U);
    EXPECT_EQ(entries(options.out), 4U);
    EXPECT_OK(train(device(), options));
}
TEST_P(training, temporary_files_of_killed_runs_are_removed) {
    for (const char* const name : {"policy.safetensors.7-1.part", "metrics.jsonl.7.part", "checkpoint.yolk.7-12.part",
                                   "log.yolk.7-2.part", ".yolk-trial.7-1.part"})
        write_text(folder_.path() / name, "torn");
    write_text(folder_.path() / ".yolk-lock", "7\n");  // of a killed process, too: nobody holds it
    write_text(folder_.path() / "mine.part", "kept");
    ASSERT_OK(train(device(), short_run(folder_.path())));
    EXPECT_EQ(entries(folder_.path()), 5U);
    EXPECT_EQ(text_of(folder_.path() / "mine.part"), "kept");
}
// The real thing, small: whole episodes until the task is solved, on the faster of the two drivers.
TEST(learning, cartpole_is_solved_and_fresh_episodes_agree) {
    TrainOptions options;
    options.evolution.population = 1024;
    options.evolution.seed = 1;
    options.generations = 25;
    options.out.clear();
    ASSERT_OK_AND_ASSIGN(const TrainOutcome outcome, train(::yolk::testing::first_device().device, options));
    EXPECT_TRUE(outcome.solved);
    EXPECT_LT(outcome.generations, 25U);
    EXPECT_GE(outcome.eval_mean_return, 475.0);
}
TEST_P(training, evaluation_of_no_episodes_is_refused) {
    EXPECT_TRUE(
        expect_error(evaluate_policy(device(), "none", {.episodes = 0}), ErrorKind::BadInput, "evaluation episodes"));
}

template <class Change>
Result<TaskSetup> setup_with(Change change) {
    TrainOptions options = short_run({});
    change(options);
    return set_up_task(options);
}
#define EXPECT_OPTIONS_REFUSED(part, ...) \
    EXPECT_TRUE(                          \
        ::yolk::testing::expect_error(setup_with([](TrainOptions& o) { __VA_ARGS__; }), ErrorKind::BadInput, part))

TEST(train_options, bad_ones_are_refused) {
    EXPECT_OK(setup_with([](TrainOptions&) {}));
    EXPECT_OPTIONS_REFUSED("generations", o.generations = 0);
    EXPECT_OPTIONS_REFUSED("evaluation episodes", o.evaluation_episodes = 0);
    EXPECT_OPTIONS_REFUSED("evaluation episodes", o.evaluation_episodes = (1U << 20U) + 1);
    EXPECT_OPTIONS_REFUSED("steps of an episode", o.max_steps = 1000000);
    EXPECT_OPTIONS_REFUSED("does not fit", o.network.widths = (std::vector<std::uint32_t>{5, 2}));
    EXPECT_OPTIONS_REFUSED("does not fit", o.network.widths = (std::vector<std::uint32_t>{4, 64, 3}));
    EXPECT_OPTIONS_REFUSED("widths", o.network.widths = {});
    EXPECT_OPTIONS_REFUSED("width of 0", o.network.widths = (std::vector<std::uint32_t>{4, 0, 2}));
    EXPECT_OPTIONS_REFUSED("width of 257", o.network.widths = (std::vector<std::uint32_t>{4, 257, 2}));
    EXPECT_OPTIONS_REFUSED("population", o.evolution.population = 7);
    EXPECT_OPTIONS_REFUSED("'bias'", o.evolution.freeze = {"bias"});
}
TEST(train_options, ranges_of_episodes_never_meet) {
    const std::uint64_t starts[] = {kTrainingEpisodes, kCheckEpisodes, kFinalEpisodes, kEvaluationEpisodes,
                                    std::uint64_t{1} << 32U};
    for (int i = 0; i < 4; ++i) EXPECT_GE(starts[i + 1] - starts[i], kMaxEvaluationEpisodes);
    EXPECT_FALSE(evolve::validate({.population = 2, .episodes = kMaxEvaluationEpisodes + 1}));
}
TEST(train_options, solved_lies_halfway_to_the_best) {
    ASSERT_OK_AND_ASSIGN(const TaskSetup setup, set_up_task(short_run({})));
    EXPECT_EQ(setup.solved_at, 487.5F);  // CartPole-v1: solved at 475, at most 500
}
TEST(train_options, fast_determinism_reaches_the_members) {
    TrainOptions options = short_run({});
    ASSERT_OK_AND_ASSIGN(const TaskSetup exact, set_up_task(options));
    EXPECT_EQ(exact.population.determinism, Determinism::Exact);
    options.evolution.determinism = Determinism::Fast;
    ASSERT_OK_AND_ASSIGN(const TaskSetup fast, set_up_task(options));
    EXPECT_EQ(fast.population.determinism, Determinism::Fast);
    EXPECT_EQ(fast.checks.determinism, Determinism::Exact);  // as eval will score it
}
TEST(train_options, twin_refuses_fast_determinism) {
    TrainOptions options = short_run({});
    options.evolution.determinism = Determinism::Fast;
    EXPECT_TRUE(expect_error(train_twin(options), ErrorKind::BadInput, "exact"));
}

TEST(report, reads_well_as_json) {
    const Json json =
        to_json({.generation = 2, .mean_return = 20.1F, .sigma = 0.2F, .learning_rate = 0.1F, .state_hash = "ab"});
    EXPECT_EQ(to_line(json).find("{\"generation\":2,\"mean_return\":20.1,"), 0U) << to_line(json);
    EXPECT_EQ(json["sigma"], 0.2);
    EXPECT_EQ(json["state_hash"], "ab");
}
TEST(process_clock, counts_from_before_main) {
    const double first = process_seconds();
    const double second = process_seconds();
    EXPECT_GT(first, 0.0);
    EXPECT_LT(first, 3600.0);
    EXPECT_GE(second, first);
}

}  // namespace
}  // namespace yolk::train
