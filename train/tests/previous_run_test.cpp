// SPDX-License-Identifier: Apache-2.0
// A new run in the folder of an old one: at every moment each of the two is whole, or has not begun.
#include "previous_run.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "checkpoint.hpp"
#include "file_faults.hpp"
#include "run_files.hpp"
#include "temporary_folder.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/train.hpp"

namespace yolk::train {
namespace {

using ::yolk::testing::expect_error;

TrainOptions small_run(const std::filesystem::path& out, std::uint64_t seed, bool log = true) {
    return {.evolution = {.population = 8, .optimizer = OptimizerRule::Momentum, .seed = seed},
            .network = {.widths = {4, 2}},
            .generations = 4,
            .stop_when_solved = false,
            .max_steps = 5,
            .out = out,
            .log = log,
            .checkpoint_every = 1,
            .evaluation_episodes = 1};
}
constexpr std::uint64_t kOldSeed = 3, kNewSeed = 4;
constexpr const char* kFiles[] = {"policy.safetensors", "checkpoint.yolk", "log.yolk"};

/// On one device: files do not depend on which.
class previous_run : public ::testing::Test {
   protected:
    [[nodiscard]] static const Device& device() { return ::yolk::testing::first_device().device; }
    [[nodiscard]] std::filesystem::path at(const std::string& name) const { return folder_.path() / name; }
    /// An old run, cut off after two generations; and what each of the two comes to where nothing disturbs it.
    void prepare(bool log) {
        for (const std::uint64_t seed : {kOldSeed, kNewSeed})
            ASSERT_OK(train(device(), small_run(at("whole" + std::to_string(seed)), seed, log)));
        ASSERT_OK(train(device(), small_run(at("old"), kOldSeed, log),
                        [](const GenerationReport& report) { return report.generation < 1; }));
    }
    /// Resumed in `out`, the run ends as if nothing had happened, after at least so many generations of before.
    void expect_resumes(const std::filesystem::path& out, std::uint64_t seed, std::uint32_t done, bool log) {
        TrainOptions options = small_run(out, seed, log);
        options.resume = true;
        const Result<TrainOutcome> outcome = train(device(), options);
        ASSERT_OK(outcome);
        EXPECT_GE(outcome->resumed_from, done);
        const std::filesystem::path whole = at("whole" + std::to_string(seed));
        EXPECT_EQ(timeless(out / "metrics.jsonl"), timeless(whole / "metrics.jsonl"));
        for (const char* const name : kFiles) EXPECT_EQ(text_of(out / name), text_of(whole / name)) << name;
    }
    /// A new run over a copy of the old one, to which this happens; how it was. Empty where nothing happened.
    std::string disturb(FileFault kind, std::uint64_t nth, bool log) {
        const std::filesystem::path out = at("out");
        std::filesystem::remove_all(out);
        std::filesystem::copy(at("old"), out);
        std::uint32_t reported = 0;
        std::string where;
        {
            const FileFaults faults(out, kind, nth);
            const Result<TrainOutcome> ended = train(device(), small_run(out, kNewSeed, log), [&](const auto&) {
                ++reported;
                return true;
            });
            where = faults.injected_into();
            const bool at_its_end = where.empty() || where == "unlink " + (out / ".yolk-lock").string();
            if (kind != FileFault::Once) {
                EXPECT_EQ(ended.has_value(), at_its_end) << where;
            }
        }
        SCOPED_TRACE(where);
        const bool is_aside = std::filesystem::exists(out / "previous-1");
        EXPECT_TRUE(is_aside || reported == 0);
        expect_resumes(is_aside ? out / "previous-1" : out, kOldSeed, 2, log);
        if (reported != 0) expect_resumes(out, kNewSeed, reported, log);
        EXPECT_FALSE(std::filesystem::exists(out / ".previous.part"));
        return where;
    }
    void sweep(FileFault kind, bool log) {
        ASSERT_NO_FATAL_FAILURE(prepare(log));
        std::uint64_t nth = 1;
        while (!disturb(kind, nth, log).empty() && !HasFailure()) ++nth;
        // Three renames and their flushes, and each generation's line, record and checkpoint.
        EXPECT_GT(nth, log ? 60U : 50U) << "operations were not seen";
    }
    TemporaryFolder folder_;
};

TEST_F(previous_run, and_new_one_are_whole_after_a_kill_at_any_file_operation) { sweep(FileFault::Killed, true); }
TEST_F(previous_run, and_new_one_are_whole_after_an_io_error_at_any_file_operation) { sweep(FileFault::Once, true); }
TEST_F(previous_run, and_new_one_are_whole_when_the_disk_is_full_from_any_operation_on) {
    sweep(FileFault::DiskFull, true);
}
TEST_F(previous_run, and_new_one_are_whole_after_a_kill_without_logs) { sweep(FileFault::Killed, false); }

TEST_F(previous_run, is_set_aside_whole_and_so_are_those_before) {
    std::vector<std::string> checkpoints;
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        ::testing::internal::CaptureStderr();
        ASSERT_OK_AND_ASSIGN(const TrainOutcome outcome, train(device(), small_run(at("out"), seed)));
        const std::string notice = ::testing::internal::GetCapturedStderr();
        const std::filesystem::path named = at("out") / ("previous-" + std::to_string(seed - 1));
        EXPECT_EQ(outcome.previous, seed == 1 ? std::filesystem::path() : named);
        EXPECT_EQ(notice.find("had a run that ended after generation 4. It is now in '" + named.string()) ==
                      std::string::npos,
                  seed == 1)
            << notice;
        checkpoints.push_back(text_of(at("out") / "checkpoint.yolk"));
        write_text(at("out") / "notes", "mine");
    }
    for (const int number : {1, 2}) {
        const std::filesystem::path named = at("out") / ("previous-" + std::to_string(number));
        EXPECT_EQ(text_of(named / "checkpoint.yolk"), checkpoints[static_cast<std::size_t>(number - 1)]);
        EXPECT_FALSE(std::filesystem::exists(named / "notes")) << "not of the run";
    }
    EXPECT_EQ(text_of(at("out") / "notes"), "mine");
}

TEST_F(previous_run, stays_where_the_new_one_comes_to_nothing) {
    ASSERT_OK(train(device(), small_run(at("out"), 1)));
    const std::string old = text_of(at("out") / "checkpoint.yolk");
    TrainOptions options = small_run(at("out"), 2);
    options.pairs_per_slice = 0;  // refused by the kernel's plan
    EXPECT_FALSE(train(device(), options));
    EXPECT_EQ(text_of(at("out") / "checkpoint.yolk"), old);
    EXPECT_FALSE(std::filesystem::exists(at("out") / "previous-1"));
}

TEST_F(previous_run, metrics_alone_are_set_aside_where_they_are_of_more_than_one_generation) {
    std::filesystem::create_directory(at("out"));
    for (const auto& [lines, is_run] : {std::pair("{}\n{}\n", false), {"{}\n{}\n{}\n", true}}) {
        write_text(at("out") / "metrics.jsonl", lines);
        ASSERT_OK_AND_ASSIGN(const std::filesystem::path aside, set_aside(at("out")));
        EXPECT_EQ(aside.empty(), !is_run);
        EXPECT_EQ(std::filesystem::exists(at("out") / "metrics.jsonl"), !is_run);
    }
}

TEST_F(previous_run, is_named_where_somebody_resumes_in_vain) {
    ASSERT_OK(train(device(), small_run(at("out"), 1)));
    ASSERT_OK_AND_ASSIGN(const std::filesystem::path aside, set_aside(at("out")));
    TrainOptions options = small_run(at("out"), 1);
    options.resume = true;
    EXPECT_TRUE(expect_error(train(device(), options), ErrorKind::Io, aside.string().c_str()));
}

// Settings are compared with the log's as well, so that the checkpoint is the one that does not belong there.
TEST_F(previous_run, checkpoint_of_another_run_is_passed_over_where_the_log_has_everything) {
    ASSERT_NO_FATAL_FAILURE(prepare(true));
    for (const char* const other : {"whole4", "old"}) {
        std::filesystem::remove_all(at("out"));
        std::filesystem::copy(at(std::string(other) == "old" ? "whole4" : "old"), at("out"));
        std::filesystem::copy_file(at(other) / "checkpoint.yolk", at("out") / "checkpoint.yolk",
                                   std::filesystem::copy_options::overwrite_existing);
        expect_resumes(at("out"), std::string(other) == "old" ? kNewSeed : kOldSeed, 2, true);
    }
    // Without the log there is only the wrong one.
    std::filesystem::remove_all(at("out"));
    std::filesystem::copy(at("old"), at("out"));
    std::filesystem::copy_file(at("whole4") / "checkpoint.yolk", at("out") / "checkpoint.yolk",
                               std::filesystem::copy_options::overwrite_existing);
    TrainOptions options = small_run(at("out"), kOldSeed, false);
    options.resume = true;
    EXPECT_TRUE(expect_error(train(device(), options), ErrorKind::BadInput, "seed '4', but '3' was given"));
}

// Something that knows nothing of this (an older Yolk) wrote to the folder after a kill: both are kept.
TEST_F(previous_run, half_set_aside_is_kept_beside_what_came_later) {
    ASSERT_OK(train(device(), small_run(at("out"), 1)));
    std::filesystem::create_directory(at("out") / ".previous.part");
    write_text(at("out") / ".previous.part" / "metrics.jsonl", "earlier");
    ASSERT_OK(put_back(at("out")));
    EXPECT_EQ(text_of(at("out") / "previous-1" / "metrics.jsonl"), "earlier");
    EXPECT_NE(text_of(at("out") / "metrics.jsonl"), "earlier");
}

class disturbed_folder : public previous_run {
   protected:
    /// What `disturb` does after the second of four generations.
    [[nodiscard]] Result<TrainOutcome> run(const std::function<void()>& disturb) {
        return train(device(), small_run(at("out"), kOldSeed), [&](const GenerationReport& report) {
            if (report.generation == 1) disturb();
            EXPECT_LT(report.generation, 2U) << "went on";
            return true;
        });
    }
    void expect_state_of_two(const std::filesystem::path& out) {
        const Result<Checkpoint> checkpoint = load_checkpoint(out / "checkpoint.yolk");
        ASSERT_OK(checkpoint);
        EXPECT_EQ(checkpoint->generation, 2U);
    }
};

TEST_F(disturbed_folder, removed_is_an_error_and_the_state_is_saved_in_a_new_one) {
    EXPECT_TRUE(expect_error(run([&] { std::filesystem::remove_all(at("out")); }), ErrorKind::Io,
                             "was removed or replaced while the run was writing there. The last good state, after 2 "
                             "generations, was saved in"));
    expect_state_of_two(at("out"));
    TrainOptions options = small_run(at("out"), kOldSeed);
    options.resume = true;
    EXPECT_OK(train(device(), options));
}
TEST_F(disturbed_folder, replaced_is_an_error_and_the_other_stays_as_it_is) {
    EXPECT_TRUE(expect_error(run([&] {
                                 std::filesystem::rename(at("out"), at("moved"));
                                 std::filesystem::create_directory(at("out"));
                                 write_text(at("out") / "checkpoint.yolk", "another run's");
                             }),
                             ErrorKind::Io, "was removed or replaced"));
    EXPECT_EQ(text_of(at("out") / "checkpoint.yolk"), "another run's");
    EXPECT_FALSE(std::filesystem::exists(at("out") / "policy.safetensors"));
    expect_state_of_two(at("moved"));
}
TEST_F(disturbed_folder, removed_files_are_an_error_and_the_state_is_saved) {
    for (const char* const name : {"metrics.jsonl", "log.yolk", ".yolk-lock"}) {
        std::filesystem::remove_all(at("out"));
        EXPECT_TRUE(
            expect_error(run([&] { std::filesystem::remove(at("out") / name); }), ErrorKind::Io, "removed or replaced"))
            << name;
        expect_state_of_two(at("out"));
    }
}

}  // namespace
}  // namespace yolk::train
