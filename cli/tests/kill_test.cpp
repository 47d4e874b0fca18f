// SPDX-License-Identifier: Apache-2.0
// kill -9 at moments that nobody chose. resume_test.cpp kills after lines of output, which is between two generations
// more often than not; here it is anywhere: while drivers load, inside a kernel, between the two files of a checkpoint.
#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "command.hpp"

namespace yolk::cli {
namespace {

using std::chrono::milliseconds;

class kill : public InFolder {
   protected:
    [[nodiscard]] std::vector<std::string> command(const std::string& out) const {
        std::vector<std::string> arguments{"train",
                                           "cartpole",
                                           "--json",
                                           "--keep-going",
                                           "--out",
                                           (folder_ / out).string(),
                                           "--population",
                                           "64",
                                           "--max-steps",
                                           "40",
                                           "--generations",
                                           "100",
                                           "--optimizer",
                                           "momentum",
                                           "--sigma-decay",
                                           "0.99",
                                           "--checkpoint-every",
                                           checkpoint_every_};
        for (const char* const name : {"checkpoint.yolk", "log.yolk"}) {
            if (!std::filesystem::exists(folder_ / out / name)) continue;
            arguments.emplace_back("--resume");
            break;
        }
        return arguments;
    }
    void kill_and_go_on(int kills);
    std::string checkpoint_every_ = "1";
    /// Hash after each generation, by the metrics; other text where a line is not JSON.
    [[nodiscard]] std::vector<std::string> states(const std::string& out) const {
        const Ran metrics{.code = 0, .out = read_text(folder_ / out / "metrics.jsonl"), .err = {}};
        std::vector<std::string> hashes;
        for (const Json& line : metrics.lines())
            hashes.push_back(line.is_object() ? line.value("state_hash", "settings") : "torn");
        return hashes;
    }
    void expect_like_whole(const std::string& out, const Ran& ran, const Json& whole) const {
        EXPECT_EQ(ran.code, 0) << ran.err;
        EXPECT_EQ(ran.last()["state_hash"], whole["state_hash"]);
        EXPECT_EQ(ran.last()["eval_mean_return"], whole["eval_mean_return"]);
        EXPECT_EQ(states(out), states("whole"));
        EXPECT_EQ(read_text(folder_ / out / "policy.safetensors"), read_text(folder_ / "whole" / "policy.safetensors"));
        EXPECT_EQ(read_text(folder_ / out / "log.yolk"), read_text(folder_ / "whole" / "log.yolk"));
        EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / out), {}), 4) << "something is left over";
    }
};

/// A run goes on after each kill until it gets to its end, then the next begins. Moments reach a little past the time
/// of a whole run, so that some do.
void kill::kill_and_go_on(int kills) {
    const int seed = setting("YOLK_TEST_SEED", 1);
    const Ran undisturbed = run_command(command("whole"), only(kLavapipe));
    ASSERT_EQ(undisturbed.code, 0) << undisturbed.err;
    const auto before = std::chrono::steady_clock::now();  // of a second one: the first may have compiled its kernels
    ASSERT_EQ(run_command(command("timed"), only(kLavapipe)).code, 0);
    const auto whole_time = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - before);
    const Json whole = undisturbed.last();
    ASSERT_EQ(whole["generations"], 100);

    std::mt19937 random(static_cast<std::uint32_t>(seed));
    std::uniform_int_distribution<int> moment(0, static_cast<int>(whole_time.count() * 5 / 4));
    std::string history = "seed " + std::to_string(seed) + ", killed after";
    int killed = 0;
    for (int run = 0; killed < kills && !HasFailure(); ++run) {
        const std::string out = "parts" + std::to_string(run);
        bool ended = false;
        while (killed < kills && !ended) {
            const milliseconds after(moment(random));
            history += " " + std::to_string(after.count());
            SCOPED_TRACE(history + " ms");
            const Ran ran = run_and_kill(command(out), only(kLavapipe), after);
            ended = ran.code != 128 + SIGKILL;
            if (ended) expect_like_whole(out, ran, whole);
            killed += ended ? 0 : 1;
        }
        history += ended ? " (ended)" : "";
        if (ended) continue;
        SCOPED_TRACE(history + " ms");
        expect_like_whole(out, run_command(command(out), only(kLavapipe)), whole);
    }
    std::printf("%s ms of %d; %d kills\n", history.c_str(), static_cast<int>(whole_time.count()), killed);
}

// $YOLK_TEST_KILLS kills; $YOLK_TEST_SEED draws other moments.
TEST_F(kill, at_random_moments_never_changes_the_result) { kill_and_go_on(setting("YOLK_TEST_KILLS", 3)); }

// Without checkpoints the log alone is what a killed run leaves.
TEST_F(kill, without_checkpoints_the_log_is_what_goes_on) {
    checkpoint_every_ = "0";
    kill_and_go_on(setting("YOLK_TEST_KILLS", 2));
}

}  // namespace
}  // namespace yolk::cli
