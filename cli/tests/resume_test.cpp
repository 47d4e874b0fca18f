// SPDX-License-Identifier: Apache-2.0
// Runs that are ended by a signal and go on.
#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::HasSubstr;

class resume : public InFolder {
   protected:
    [[nodiscard]] std::vector<std::string> command(const std::string& out, const std::vector<std::string>& more) const {
        std::vector<std::string> arguments{"train",
                                           "cartpole",
                                           "--out",
                                           (folder_ / out).string(),
                                           "--json",
                                           "--population",
                                           "64",
                                           "--max-steps",
                                           "40",
                                           "--keep-going",
                                           "--optimizer",
                                           "momentum",
                                           "--sigma-decay",
                                           "0.99"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    }
    /// More than any test waits for: a busy machine may look at a run long after it has begun.
    [[nodiscard]] std::vector<std::string> endless(std::vector<std::string> more = {}) const {
        more.insert(more.end(), {"--generations", "1000000"});
        return command("parts", more);
    }
    /// Five generations beyond what the interrupted run has come to.
    [[nodiscard]] std::string five_more() const { return std::to_string(states("parts").size() - 1 + 5); }
    /// Of the run that nothing interrupts.
    [[nodiscard]] Json whole(const std::string& generations) const {
        const Ran ran = run_command(command("whole", {"--generations", generations}), only(kLavapipe));
        EXPECT_EQ(ran.code, 0) << ran.err;
        return ran.last();
    }
    /// Metrics of a generation in the folder, and their hash.
    [[nodiscard]] std::vector<std::string> states(const std::string& out) const {
        const Ran metrics{.code = 0, .out = read_text(folder_ / out / "metrics.jsonl"), .err = {}};
        std::vector<std::string> hashes;
        for (const Json& line : metrics.lines())
            hashes.push_back(line.is_object() ? line.value("state_hash", "settings") : "torn");
        return hashes;
    }
};

TEST_F(resume, a_terminated_run_goes_on_to_the_same_state) {
    const Ran ended = run_and_interrupt(endless(), only(kLavapipe), {.number = SIGTERM, .lines = 3});
    ASSERT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(ended.last()["interrupted"], true);
    EXPECT_TRUE(std::filesystem::exists(folder_ / "parts" / "checkpoint.yolk"));

    const std::string generations = five_more();
    const Json wanted = whole(generations);
    const Ran ran = run_command(command("parts", {"--resume", "--generations", generations}), only(kLavapipe));
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("going on from"));
    EXPECT_EQ(ran.last()["resumed_from"], ended.last()["generations"]);
    EXPECT_EQ(ran.last()["generations"].dump(), generations);
    EXPECT_EQ(ran.last()["interrupted"], false);
    EXPECT_EQ(ran.last()["state_hash"], wanted["state_hash"]);
    EXPECT_EQ(ran.last()["eval_mean_return"], wanted["eval_mean_return"]);
    EXPECT_EQ(states("parts"), states("whole"));
}

// Nothing can be tidied up after SIGKILL: what is on disk at any moment must do.
TEST_F(resume, a_killed_run_goes_on_to_the_same_state) {
    std::vector<std::string> more{"--checkpoint-every", "1"};
    for (const std::size_t lines : {1U, 2U, 5U, 11U}) {
        const Ran killed = run_and_interrupt(endless(more), only(kLavapipe), {.number = SIGKILL, .lines = lines});
        ASSERT_EQ(killed.code, 128 + SIGKILL) << killed.err;
        if (more.size() == 2) more.emplace_back("--resume");
    }
    const std::string generations = five_more();
    const Json wanted = whole(generations);
    more.insert(more.end(), {"--generations", generations});
    const Ran ran = run_command(command("parts", more), only(kLavapipe));
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_GE(ran.last()["resumed_from"], 1 + 2 + 5 + 11);
    EXPECT_EQ(ran.last()["state_hash"], wanted["state_hash"]);
    EXPECT_EQ(states("parts"), states("whole"));
}

TEST_F(resume, what_cannot_go_on_is_told_and_kept) {
    const Ran none = run_command(command("parts", {"--resume"}), only(kLavapipe));
    EXPECT_EQ(none.code, 1);
    EXPECT_THAT(none.err, HasSubstr("There is no checkpoint"));
    EXPECT_EQ(none.out, "");
    EXPECT_FALSE(std::filesystem::exists(folder_ / "parts"));

    ASSERT_EQ(run_and_interrupt(endless(), only(kLavapipe), {.number = SIGTERM, .lines = 1}).code, 0);
    const std::string checkpoint = read_text(folder_ / "parts" / "checkpoint.yolk");
    const std::string metrics = read_text(folder_ / "parts" / "metrics.jsonl");
    const Ran other = run_command(command("parts", {"--resume", "--seed", "2"}), only(kLavapipe));
    EXPECT_EQ(other.code, 2);
    EXPECT_THAT(other.err, HasSubstr("seed '1', but '2' was given"));
    EXPECT_EQ(other.out, "");
    const Ran nowhere = run_command({"train", "cartpole", "--out", "", "--resume"}, only(kLavapipe));
    EXPECT_EQ(nowhere.code, 2);
    EXPECT_THAT(nowhere.err, HasSubstr("output folder"));
    EXPECT_EQ(read_text(folder_ / "parts" / "checkpoint.yolk"), checkpoint);
    EXPECT_EQ(read_text(folder_ / "parts" / "metrics.jsonl"), metrics);
}

// No file may grow past 2 KiB, so writing a checkpoint fails in the middle, as on a full disk.
TEST_F(resume, a_checkpoint_that_cannot_be_written_leaves_the_last_one) {
    ASSERT_EQ(run_and_interrupt(endless(), only(kLavapipe), {.number = SIGTERM, .lines = 2}).code, 0);
    const std::string generations = five_more();
    const Json wanted = whole(generations);
    const std::vector<std::string> arguments =
        command("parts", {"--checkpoint-every", "1", "--resume", "--generations", generations});
    const std::string checkpoint = read_text(folder_ / "parts" / "checkpoint.yolk");
    ASSERT_GT(checkpoint.size(), 2048U);

    std::string shell =
        "trap '' XFSZ; ulimit -f 4; VK_ICD_FILENAMES=" + std::string(kLavapipe) + " '" + YOLK_BINARY + "'";
    for (const std::string& argument : arguments) shell += " '" + argument + "'";
    shell += " >/dev/null 2>'" + (folder_ / "err").string() + "'";
    EXPECT_NE(std::system(shell.c_str()),
              0);  // NOLINT(concurrency-mt-unsafe,cert-env33-c): the shell's limit is wanted
    EXPECT_THAT(read_text(folder_ / "err"), HasSubstr("File too large"));
    EXPECT_EQ(read_text(folder_ / "parts" / "checkpoint.yolk"), checkpoint);
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "parts"))
        EXPECT_THAT(entry.path().filename().string(), ::testing::Not(HasSubstr(".part"))) << "left behind";

    const Ran ran = run_command(arguments, only(kLavapipe));
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.last()["state_hash"], wanted["state_hash"]);
    EXPECT_EQ(states("parts"), states("whole"));
}

}  // namespace
}  // namespace yolk::cli
